// SPDX-License-Identifier: Apache-2.0
// Decides which lane may ask for a permit or departure that becomes free, and which is next if that lane does not take
// it; and which request leaves a full queue.
#include <algorithm>
#include <utility>

#include "flow/scheduler.h"

namespace penstock::flow {

// A departure that one lane gave back may be granted to another, earlier than that lane was told. So may the permit
// that it held, also to a tunnel that resumes, which waits in no line for it.
void Scheduler::wake_told_lanes(Time now, std::size_t count) {
  if (count > 0) stopped_until_ = std::min(stopped_until_, now), resume_at_ = std::min(resume_at_, now);
  for (std::size_t left = count; left > 0 && !told_.empty(); --left) rest(now, told_.front());
  for (std::size_t left = count; left > 0 && !awaiting_.empty(); --left) offer_permit_in_order(now);
}

// A permit of the lane's group or of the upstream came free; the latter is for the lane that has waited longest.
void Scheduler::permit_came(Time now, Lane& lane) {
  permit_may_be_free(lane);
  resume_at_ = std::min(resume_at_, now);  // a tunnel that was refused a permit waits in no line for it
  if (lane.awaits() == Booking::Scope::group) rest(now, lane);
  if (!awaiting_.empty()) offer_permit_in_order(now);
}

void Scheduler::offer_permit_in_order(Time now) {
  Lane& lane = awaiting_.front();
  ++lane.called;
  rest(now, lane);
}

// The lane that was called is stopped by something else, or has no request left that wants a permit: the next lane is
// called.
void Scheduler::pass_permits_on(Time now, Lane& lane) {
  for (std::size_t left = std::exchange(lane.called, 0); left > 0 && !awaiting_.empty(); --left)
    offer_permit_in_order(now);
}

// Voids an answer given for a heavier request than the lane's next one: the heavier one left, was refused or was
// overtaken.
void Scheduler::forget_what_heavier_was_told(Time now, Lane& lane) {
  if (lane.asking() || lane.asked_weight() == 1) return;
  if (lane.wants() > 0 && requests_[lane.first_wanting(requests_)].weight >= lane.asked_weight()) return;
  if (lane.was_told_to_wait()) lane.forget_told();
  if (stopped_lane_ == &lane) stopped_lane_ = nullptr, stopped_until_ = std::min(stopped_until_, now);
}

// No group may keep others out of a full queue: the newest request of the longest lane makes room for an arrival whose
// lane, counting it, is shorter. A request beyond the queue, which only awaits an answer, has no place to give.
bool Scheduler::may_make_room(std::size_t length) const {
  const Lane* longest = lengths_.longest();
  if (!longest || settings_.max_pending == 0 || longest->length() <= length + 1) return false;
  return pending_ <= settings_.max_pending || !requests_[newest_of(*longest)].beyond_queue;
}

std::uint32_t Scheduler::newest_of(const Lane& lane) const {
  if (lane.outside == 0) return lane.newest(requests_);
  std::uint32_t index = outside_.back();
  while (requests_[index].lane != &lane) index = requests_[index].previous;
  if (lane.length() == lane.outside) return index;
  const std::uint32_t inside = lane.newest(requests_);
  return requests_[inside].arrived > requests_[index].arrived ? inside : index;
}

// The caller named a waiting request that has less right to its place than the arrival.
bool Scheduler::may_displace(const Arrival& arrival) const {
  if (settings_.max_pending == 0 || requests_.stage(arrival.in_place_of) != Stage::waiting) return false;
  return pending_ <= settings_.max_pending && !requests_[arrival.in_place_of.index].beyond_queue;
}

void Scheduler::make_room(Time now, const Arrival& arrival, Commands& commands) {
  make_room(now, may_displace(arrival) ? arrival.in_place_of.index : newest_of(*lengths_.longest()), commands);
}

void Scheduler::make_room(Time now, std::uint32_t index, Commands& commands) {
  Lane& lane = *requests_[index].lane;
  refuse(now, index, Refused::queue_full, limited_by(now, requests_[index]), commands);
  refresh(now, lane, commands);
}

// Requests let in beyond a full queue to await an answer, and not started by it, are refused, unless a longer lane
// makes room for them.
void Scheduler::refuse_excess(Time now, std::string_view group, Commands& commands) {
  for (Lane* lane = find_lane(group); lane && !lane->asking() && lane->beyond_queue() > 0; lane = find_lane(group)) {
    if (pending_ <= settings_.max_pending) {
      lane->admit_all(requests_);
    } else if (may_make_room(lane->length() - 1)) {
      make_room(now, newest_of(*lengths_.longest()), commands);
    } else {
      const std::uint32_t newest = lane->newest_beyond_queue(requests_);
      refuse(now, newest, Refused::queue_full, limited_by(now, requests_[newest]), commands);
      refresh(now, *lane, commands);
    }
  }
  run_until_stable(now, commands);
}

}  // namespace penstock::flow
