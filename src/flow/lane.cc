// SPDX-License-Identifier: Apache-2.0
// A lane's queue and booked departures, and the orders in which the scheduler keeps its lanes.
#include "flow/lane.h"

#include <tuple>

namespace penstock::flow {

void Lane::join(Requests& requests, std::uint32_t index) {
  const Request& request = requests[index];
  beyond_queue_ += request.stage == Stage::waiting && request.beyond_queue ? 1 : 0;
  if (request.apart == Apart::now) return apart_.push_back(requests, index);
  anonymous_ += request.stage == Stage::waiting && request.anonymous ? 1 : 0;
  (request.stage == Stage::returned ? returned_ : waiting_).push_back(requests, index);
  units_ += request.weight;
  heavier_ += request.weight > 1 ? 1 : 0;
}

void Lane::remove(Requests& requests, std::uint32_t index) {
  const Request& request = requests[index];
  beyond_queue_ -= request.stage == Stage::waiting && request.beyond_queue ? 1 : 0;
  if (request.apart == Apart::now) return apart_.remove(requests, index);
  anonymous_ -= request.stage == Stage::waiting && request.anonymous ? 1 : 0;
  (request.stage == Stage::returned ? returned_ : waiting_).remove(requests, index);
  units_ -= request.weight;
  heavier_ -= request.weight > 1 ? 1 : 0;
}

void Lane::set_apart(Requests& requests) {
  std::uint32_t index = waiting_.front();
  for (std::size_t left = waiting_.size(); left > 0; --left) {
    const std::uint32_t next = requests[index].next;
    if (requests[index].anonymous) {
      remove(requests, index);
      requests[index].apart = Apart::now;
      join(requests, index);
    }
    index = next;
  }
}

void Lane::rejoin(Requests& requests, Time slots_so_far) {
  const auto move = [&](std::uint32_t index) {
    remove(requests, index);
    if (requests[index].apart == Apart::now) {
      requests[index].apart = Apart::before;
      requests[index].slots_before = slots_so_far;  // while apart it did not wait for a slot
    }
    join(requests, index);
  };
  // A tunnel that waited outside joined the lane behind requests that had arrived meanwhile.
  const auto goes_first = [&] {
    if (apart_.empty()) return true;
    const Request &waiting = requests[waiting_.front()], &apart = requests[apart_.front()];
    const Time since = apart.arrived + (waiting.tunnel ? 0 : Time{apart.ms_outside} * 1'000);
    return waiting.arrived <= since;
  };
  for (std::size_t left = waiting_.size(); left > 0 || !apart_.empty();) {
    const bool has_waited = left > 0 && goes_first();
    left -= has_waited ? 1 : 0;
    move(has_waited ? waiting_.front() : apart_.front());
  }
}

std::uint32_t Lane::first_wanting(const Requests& requests) const {
  std::size_t before = expected();
  const bool returned = before < returned_.size();
  std::uint32_t index = returned ? returned_.front() : waiting_.front();
  for (before -= returned ? 0 : returned_.size(); before > 0; --before) index = requests[index].next;
  return index;
}

Lane::Run Lane::next_run(const Requests& requests) const {
  const std::size_t most = wants_no_slot() > 0 ? wants_no_slot() : wants();
  if (heavier_ == 0) return {most, 1};
  std::uint32_t index = first_wanting(requests);
  Run run{0, requests[index].weight};
  while (run.count < most && requests[index].weight == run.weight) ++run.count, index = requests[index].next;
  return run;
}

void Lane::book(const Departure& departure) {
  departures_.add(departure);
  booked_units_ += departure.weight;
}

Departure Lane::pop_departure() {
  const Departure first = departures_.pop_front();
  booked_units_ -= first.weight;
  return first;
}

Departure Lane::drop_latest_departure() {
  const Departure last = departures_.pop_back();
  booked_units_ -= last.weight;
  return last;
}

void Lane::renumber(std::span<const LimitIndex> moved) {
  limited.by = renumbered(limited.by, moved);
  forbidden = {};
  departures_.each([&](Departure& departure) { departure.limited_by = renumbered(departure.limited_by, moved); });
}

void Lane::disown_departures() {
  departures_.each([](Departure& departure) { departure.epoch = kNoEpoch; });
}

std::optional<Time> Lane::nobody_leaves_before() const {
  if (asked_ > 0) return std::nullopt;
  if (!departures_.empty()) return departures_.front().at;
  if (ask_again_) return not_before_;
  return std::nullopt;
}

std::optional<Time> Lane::next_moment() const {
  std::optional<Time> next;
  const auto at = [&next](Time moment) { next = next ? std::min(*next, moment) : moment; };
  if (!departures_.empty()) at(departures_.front().at);
  if (wants() > 0 && ask_again_) at(*ask_again_);
  if (!apart_.empty()) at(apart_until);
  return next;
}

void LaneList::move(Lane& lane, LaneList* list) {
  if (lane.list_ == list) return;
  if (lane.list_) lane.list_->remove(lane);
  if (list) list->push_back(lane);
}

void LaneList::put_first(Lane& lane) {
  remove(lane);
  lane.list_ = this;
  lane.previous_ = nullptr;
  lane.next_ = first_;
  (first_ ? first_->previous_ : last_) = &lane;
  first_ = &lane;
  ++size_;
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

std::uint32_t Lane::newest(const Requests& requests) const {
  if (apart_.empty()) return waiting_.back();
  if (waiting_.empty()) return apart_.back();
  return requests[apart_.back()].arrived > requests[waiting_.back()].arrived ? apart_.back() : waiting_.back();
}

std::uint32_t Lane::newest_beyond_queue(const Requests& requests) const {
  for (const RequestList* list : {&waiting_, &apart_}) {
    std::uint32_t index = list->back();
    for (std::size_t left = list->size(); left > 0; --left, index = requests[index].previous) {
      if (requests[index].beyond_queue) return index;
    }
  }
  std::unreachable();
}

void Lane::admit_all(Requests& requests) {
  for (; beyond_queue_ > 0; --beyond_queue_) requests[newest_beyond_queue(requests)].beyond_queue = false;
}

void LaneLengths::place(Lane& lane) {
  const std::size_t length = lane.length();
  if (length == lane.length_) return;
  if (lane.length_ > 0) unlink(lane);
  if (length > 0) link(lane, length);
  lane.length_ = length;
  while (!of_length_.empty() && !of_length_.back()) of_length_.pop_back();
}

void LaneLengths::link(Lane& lane, std::size_t length) {
  if (of_length_.size() <= length) of_length_.resize(length + 1);
  Lane*& first = of_length_[length];
  lane.before_ = nullptr;
  lane.behind_ = first;
  if (first) first->before_ = &lane;
  first = &lane;
}

void LaneLengths::unlink(Lane& lane) {
  (lane.before_ ? lane.before_->behind_ : of_length_[lane.length_]) = lane.behind_;
  if (lane.behind_) lane.behind_->before_ = lane.before_;
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
