// SPDX-License-Identifier: Apache-2.0
// A lane's queue and bookings, and the orders in which an upstream keeps its lanes.
#include "flow/lane.h"

#include <tuple>

namespace penstock::flow {

void Lane::join(Requests& requests, std::uint32_t index) {
  RequestList& list = requests[index].stage == Stage::returned ? returned_ : waiting_;
  list.push_back(requests, index);
}

void Lane::remove(Requests& requests, std::uint32_t index) {
  RequestList& list = requests[index].stage == Stage::returned ? returned_ : waiting_;
  list.remove(requests, index);
}

std::optional<Time> Lane::nobody_leaves_before() const {
  if (asking()) return std::nullopt;
  if (!departures_.empty()) return departures_.front();
  if (ask_again_) return not_before_;
  return std::nullopt;
}

std::optional<Time> Lane::next_moment() const {
  if (wants() == 0 || !ask_again_) return departures_.empty() ? std::nullopt : std::optional(departures_.front());
  return departures_.empty() ? *ask_again_ : std::min(*ask_again_, departures_.front());
}

void LaneList::move(Lane& lane, LaneList* list) {
  if (lane.list_ == list) return;
  if (lane.list_) lane.list_->remove(lane);
  if (list) list->push_back(lane);
}

void LaneList::push_back(Lane& lane) {
  lane.list_ = this;
  lane.previous_ = last_;
  lane.next_ = nullptr;
  (last_ ? last_->next_ : first_) = &lane;
  last_ = &lane;
  ++size_;
}

void LaneList::remove(Lane& lane) {
  (lane.previous_ ? lane.previous_->next_ : first_) = lane.next_;
  (lane.next_ ? lane.next_->previous_ : last_) = lane.previous_;
  lane.list_ = nullptr;
  --size_;
}

bool DueLanes::before(const Lane& a, const Lane& b) {
  return std::tie(a.due_, a.due_turn_) < std::tie(b.due_, b.due_turn_);
}

std::optional<Time> DueLanes::first_time() const {
  return heap_.empty() ? std::nullopt : std::optional(heap_.front()->due_);
}

void DueLanes::place(Lane& lane) {
  const std::optional<Time> moment = lane.next_moment();
  const bool listed = lane.place_ != Lane::kNowhere;
  if (listed && moment == lane.due_ && lane.due_turn_ == lane.last_served) return;
  if (listed) remove(lane);
  if (!moment) return;
  lane.due_ = *moment;
  lane.due_turn_ = lane.last_served;
  heap_.push_back(&lane);
  rise(&lane, heap_.size() - 1);
}

void DueLanes::remove(Lane& lane) {
  const std::size_t gap = lane.place_;
  Lane* last = heap_.back();
  heap_.pop_back();
  lane.place_ = Lane::kNowhere;
  if (last == &lane) return;
  sink(last, gap);
  rise(last, last->place_);
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
