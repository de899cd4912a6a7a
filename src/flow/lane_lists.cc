// SPDX-License-Identifier: Apache-2.0
// The orders of lanes: linked lists, and a heap.
#include "flow/lane_lists.h"

#include <tuple>

namespace penstock::flow {

void LaneList::move(Lane& lane, LaneList* list) {
  if (lane.in_list.list == list) return;
  if (lane.in_list.list) lane.in_list.list->remove(lane);
  if (list) list->push_back(lane);
}

void LaneList::put_first(Lane& lane) {
  remove(lane);
  lane.in_list = {.list = this, .previous = nullptr, .next = first_};
  (first_ ? first_->in_list.previous : last_) = &lane;
  first_ = &lane;
  ++size_;
}

void LaneList::push_back(Lane& lane) {
  lane.in_list = {.list = this, .previous = last_, .next = nullptr};
  (last_ ? last_->in_list.next : first_) = &lane;
  last_ = &lane;
  ++size_;
}

void LaneList::remove(Lane& lane) {
  const auto [list, previous, next] = lane.in_list;
  (previous ? previous->in_list.next : first_) = next;
  (next ? next->in_list.previous : last_) = previous;
  lane.in_list.list = nullptr;
  --size_;
}

void LaneLengths::place(Lane& lane) {
  const std::size_t length = lane.queue.places();
  if (length == lane.in_lengths.length) return;
  if (lane.in_lengths.length > 0) unlink(lane);
  if (length > 0) link(lane, length);
  lane.in_lengths.length = length;
  while (!of_length_.empty() && !of_length_.back()) of_length_.pop_back();
}

void LaneLengths::link(Lane& lane, std::size_t length) {
  if (of_length_.size() <= length) of_length_.resize(length + 1);
  Lane*& first = of_length_[length];
  lane.in_lengths.before = nullptr;
  lane.in_lengths.behind = first;
  if (first) first->in_lengths.before = &lane;
  first = &lane;
}

void LaneLengths::unlink(Lane& lane) {
  const auto [length, before, behind] = lane.in_lengths;
  (before ? before->in_lengths.behind : of_length_[length]) = behind;
  if (behind) behind->in_lengths.before = before;
}

bool DueLanes::before(const Lane& a, const Lane& b) {
  return std::tie(a.in_due.due, a.in_due.served) < std::tie(b.in_due.due, b.in_due.served);
}

std::optional<Time> DueLanes::first_time() const {
  return heap_.empty() ? std::nullopt : std::optional(heap_.front()->in_due.due);
}

void DueLanes::place(Lane& lane) {
  const std::optional<Time> moment = lane.next_moment();
  const bool listed = lane.in_due.place != Lane::InDue::kNowhere;
  if (listed && moment == lane.in_due.due && lane.in_due.served == lane.last_served) return;
  if (listed) remove(lane);
  if (!moment) return;
  lane.in_due.due = *moment;
  lane.in_due.served = lane.last_served;
  heap_.push_back(&lane);
  rise(&lane, heap_.size() - 1);
}

void DueLanes::remove(Lane& lane) {
  const std::size_t gap = lane.in_due.place;
  Lane* last = heap_.back();
  heap_.pop_back();
  lane.in_due.place = Lane::InDue::kNowhere;
  if (last == &lane) return;
  sink(last, gap);
  rise(last, last->in_due.place);
}

void DueLanes::rise(Lane* lane, std::size_t place) {
  while (place > 0 && before(*lane, *heap_[(place - 1) / 2])) {
    put(place, heap_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  put(place, lane);
}

void DueLanes::sink(Lane* lane, std::size_t place) {
  for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
    if (child + 1 < heap_.size() && before(*heap_[child + 1], *heap_[child])) ++child;
    if (!before(*heap_[child], *lane)) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, lane);
}

}  // namespace penstock::flow
