// SPDX-License-Identifier: Apache-2.0
// Requests join and leave the queue; if it is full, it names the request that makes room.
#include "flow/queue.h"

namespace penstock::flow {

void Queue::add(std::uint32_t index) {
  const Request& request = requests_[index];
  if (request.outside) outside_.push_back(requests_, index);
  request.lane->queue.join(requests_, index);
  note_joined(index);
}

void Queue::add_again(std::uint32_t index) {
  requests_[index].lane->queue.join_again(requests_, index);
  note_joined(index);
}

void Queue::note_joined(std::uint32_t index) {
  const Request& request = requests_[index];
  lengths_.place(*request.lane);
  ++pending_;
  deadlines_.add(request.deadline, requests_.ticket(index));
}

void Queue::remove(std::uint32_t index) {
  const Request& request = requests_[index];
  if (request.outside) outside_.remove(requests_, index);
  request.lane->queue.remove(requests_, index);
  lengths_.place(*request.lane);
  if (request.stage == Stage::waiting) --pending_;
}

void Queue::let_in(Time now, Time slots_so_far) {
  const std::uint32_t index = outside_.front();
  Request& request = requests_[index];
  outside_.remove(requests_, index);
  request.lane->queue.remove(requests_, index);
  request.outside = false, request.let_in = true;
  request.ms_outside = static_cast<std::uint32_t>((now - request.arrived + 999) / 1'000);
  request.slots_before = slots_so_far;  // outside it did not wait for a slot
  request.lane->queue.join(requests_, index);
  lengths_.place(*request.lane);
}

bool Queue::may_make_room(std::size_t length) const {
  const Lane* longest = lengths_.longest();
  if (!longest || most_ == 0 || longest->queue.places() <= length + 1) return false;
  return !overfull() || !requests_[newest_of(*longest)].beyond_queue;
}

std::uint32_t Queue::newest_of(const Lane& lane) const {
  if (lane.queue.outside() == 0) return lane.queue.newest();
  std::uint32_t index = outside_.back();
  while (requests_[index].lane != &lane) index = requests_[index].previous;
  if (lane.queue.places() == lane.queue.outside()) return index;
  const std::uint32_t inside = lane.queue.newest();
  return requests_[inside].arrived > requests_[index].arrived ? inside : index;
}

bool Queue::may_displace(Ticket in_place_of) const {
  if (most_ == 0 || requests_.stage(in_place_of) != Stage::waiting) return false;
  return !overfull() && !requests_[in_place_of.index].beyond_queue;
}

}  // namespace penstock::flow
