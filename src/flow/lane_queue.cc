// SPDX-License-Identifier: Apache-2.0
// A lane's requests join and leave, and go apart and return in order of arrival.
#include "flow/lane_queue.h"

#include <algorithm>
#include <utility>

namespace penstock::flow {

void LaneQueue::join(Requests& requests, std::uint32_t index) {
  const Request& request = requests[index];
  if (request.outside) return void(++outside_);
  beyond_ += request.stage == Stage::waiting && request.beyond_queue ? 1 : 0;
  if (request.apart == Apart::now) return apart_.push_back(requests, index);
  (request.stage == Stage::returned ? returned_ : waiting_).push_back(requests, index);
  count(request, true);
}

void LaneQueue::join_again(Requests& requests, std::uint32_t index) {
  waiting_.insert_by_arrival(requests, index);
  count(requests[index], true);
}

void LaneQueue::count(const Request& request, bool joins) {
  const auto by = [joins](std::int64_t number) { return static_cast<std::uint64_t>(joins ? number : -number); };
  anonymous_ += by(request.stage == Stage::waiting && request.anonymous ? 1 : 0);
  units_ += joins ? request.weight : -request.weight;
  heavier_ += by(request.weight > 1 ? 1 : 0);
}

void LaneQueue::remove(Requests& requests, std::uint32_t index) {
  const Request& request = requests[index];
  if (request.outside) return void(--outside_);
  beyond_ -= request.stage == Stage::waiting && request.beyond_queue ? 1 : 0;
  if (request.apart == Apart::now) return apart_.remove(requests, index);
  (request.stage == Stage::returned ? returned_ : waiting_).remove(requests, index);
  count(request, false);
}

std::uint32_t LaneQueue::behind(const Requests& requests, std::size_t others) const {
  const bool returned = others < returned_.size();
  std::uint32_t index = returned ? returned_.front() : waiting_.front();
  for (others -= returned ? 0 : returned_.size(); others > 0; --others) index = requests[index].next;
  return index;
}

LaneQueue::Run LaneQueue::run_behind(const Requests& requests, std::size_t others, std::size_t most) const {
  if (heavier_ == 0) return {most, 1};
  std::uint32_t index = behind(requests, others);
  Run run{0, requests[index].weight};
  while (run.count < most && requests[index].weight == run.weight) ++run.count, index = requests[index].next;
  return run;
}

void LaneQueue::extend_pause(Time until) { apart_until_ = std::max(apart_until_, until); }

void LaneQueue::set_apart(Requests& requests) {
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

void LaneQueue::rejoin(Requests& requests, Time slots_so_far) {
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

std::uint32_t LaneQueue::newest(const Requests& requests) const {
  if (apart_.empty()) return waiting_.back();
  if (waiting_.empty()) return apart_.back();
  return requests[apart_.back()].arrived > requests[waiting_.back()].arrived ? apart_.back() : waiting_.back();
}

std::uint32_t LaneQueue::newest_beyond(const Requests& requests) const {
  for (const RequestList* list : {&waiting_, &apart_}) {
    std::uint32_t index = list->back();
    for (std::size_t left = list->size(); left > 0; --left, index = requests[index].previous) {
      if (requests[index].beyond_queue) return index;
    }
  }
  std::unreachable();
}

void LaneQueue::admit_all(Requests& requests) {
  for (; beyond_ > 0; --beyond_) requests[newest_beyond(requests)].beyond_queue = false;
}

}  // namespace penstock::flow
