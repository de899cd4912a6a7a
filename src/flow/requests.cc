// SPDX-License-Identifier: Apache-2.0
// The array of requests with its free list, and the lists linked through it.
#include "flow/requests.h"

namespace penstock::flow {

std::uint32_t Requests::take(bool tunnel) {
  std::uint32_t index = free_;
  if (index == kNone) {
    index = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
  } else {
    free_ = nodes_[index].next;
  }
  nodes_[index].tunnel = tunnel;
  tunnels_ += tunnel ? 1 : 0;
  return index;
}

void Requests::release(std::uint32_t index) {
  Request& request = nodes_[index];
  tunnels_ -= request.tunnel ? 1 : 0;
  request.stage = Stage::released;
  request.outside = request.let_in = request.spare = request.gated = false;
  if (++request.generation == 0) request.generation = 1;  // generation 0 is a default-constructed ticket's
  request.next = free_;
  free_ = index;
}

void RequestList::push_back(Requests& requests, std::uint32_t index) {
  if (empty()) {
    first_ = index;
  } else {
    requests[last_].next = index;
    requests[index].previous = last_;
  }
  last_ = index;
  ++size_;
}

std::size_t RequestList::insert_by_arrival(Requests& requests, std::uint32_t index) {
  const Request& its = requests[index];
  std::uint32_t front = first_, back = last_;
  for (std::size_t passed = 0; passed < size_; ++passed) {
    if (!requests[back].let_in && !arrived_before(its, requests[back])) {
      back == last_ ? push_back(requests, index) : insert_before(requests, requests[back].next, index);
      return passed;
    }
    if (!arrived_before(requests[front], its)) return insert_before(requests, front, index), passed;
    front = requests[front].next, back = requests[back].previous;
  }
  return push_back(requests, index), 0;
}

void RequestList::insert_before(Requests& requests, std::uint32_t next, std::uint32_t index) {
  requests[index].next = next;
  if (next == first_) {
    first_ = index;
  } else {
    requests[index].previous = requests[next].previous;
    requests[requests[next].previous].next = index;
  }
  requests[next].previous = index;
  ++size_;
}

void RequestList::remove(Requests& requests, std::uint32_t index) {
  const Request& request = requests[index];
  const bool is_first = index == first_;
  const bool is_last = index == last_;
  if (is_first) first_ = request.next;
  if (is_last) last_ = request.previous;
  if (!is_first) requests[request.previous].next = request.next;
  if (!is_last) requests[request.next].previous = request.previous;
  --size_;
}

}  // namespace penstock::flow
