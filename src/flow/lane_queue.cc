// SPDX-License-Identifier: Apache-2.0
// A lane's requests join and leave.
#include "flow/lane_queue.h"

#include <algorithm>
#include <utility>

namespace penstock::flow {

void LaneQueue::join(Requests& requests, std::uint32_t index) {
  const Request& request = requests[index];
  if (request.outside) return void(++outside_);
  beyond_ += request.stage == Stage::waiting && request.beyond_queue ? 1 : 0;
  (request.stage == Stage::returned ? returned_ : waiting_).push_back(requests, index);
  count(request, true);
}

void LaneQueue::join_again(Requests& requests, std::uint32_t index) {
  beyond_ += requests[index].beyond_queue ? 1 : 0;
  waiting_.insert_by_arrival(requests, index);
  count(requests[index], true);
}

void LaneQueue::count(const Request& request, bool joins) {
  units_ += joins ? request.weight : -request.weight;
  if (load_of(request) != Load()) joins ? ++heavier_ : --heavier_;
}

void LaneQueue::remove(Requests& requests, std::uint32_t index) {
  const Request& request = requests[index];
  if (request.outside) return void(--outside_);
  beyond_ -= request.stage == Stage::waiting && request.beyond_queue ? 1 : 0;
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
  if (heavier_ == 0) return {most, Load()};
  std::uint32_t index = behind(requests, others);
  Run run{0, load_of(requests[index])};
  while (run.count < most && load_of(requests[index]) == run.load) ++run.count, index = requests[index].next;
  return run;
}

std::uint32_t LaneQueue::newest_beyond(const Requests& requests) const {
  std::uint32_t index = waiting_.back();
  while (!requests[index].beyond_queue) index = requests[index].previous;
  return index;
}

void LaneQueue::admit_all(Requests& requests) {
  for (; beyond_ > 0; --beyond_) requests[newest_beyond(requests)].beyond_queue = false;
}

}  // namespace penstock::flow
