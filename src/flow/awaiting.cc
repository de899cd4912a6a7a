// SPDX-License-Identifier: Apache-2.0
// What becomes free and was promised to nobody: whose turn it is to ask for it, and who is next if that one does not
// take it. And who has no place in a full queue when nothing becomes free.
#include <algorithm>
#include <utility>

#include "flow/upstream.h"

namespace penstock::flow {

// A departure that one lane gave back may be another's, sooner than it was told; and so may the permit that it held.
void Upstream::wake_told_lanes(Time now, std::size_t count) {
  if (count > 0) held_until_ = std::min(held_until_, now);
  for (std::size_t left = count; left > 0 && !told_.empty(); --left) rest(now, told_.front());
  for (std::size_t left = count; left > 0 && !awaiting_.empty(); --left) call_for_permit(now);
}

// A permit of the lane's group, or of the upstream: then it is for whoever has waited longest.
void Upstream::permit_came(Time now, Lane& lane) {
  permit_may_be_free(lane);
  if (lane.awaits() == Booking::Scope::group) rest(now, lane);
  if (!awaiting_.empty()) call_for_permit(now);
}

void Upstream::call_for_permit(Time now) {
  Lane& lane = awaiting_.front();
  ++lane.called;
  rest(now, lane);
}

// Something else stops the lane that was called, or nobody is left in it that wants one.
void Upstream::pass_permits_on(Time now, Lane& lane) {
  for (std::size_t left = std::exchange(lane.called, 0); left > 0 && !awaiting_.empty(); --left) call_for_permit(now);
}

// Who is next now weighs less than the one for whom the lane asked, who left, was refused or was overtaken.
void Upstream::forget_what_heavier_was_told(Time now, Lane& lane) {
  if (lane.asking() || lane.asked_weight() == 1) return;
  if (lane.wants() > 0 && requests_[lane.first_wanting(requests_)].weight >= lane.asked_weight()) return;
  if (lane.told_to_wait()) lane.forget_told();
  if (held_for_ == &lane) held_for_ = nullptr, held_until_ = std::min(held_until_, now);
}

// A full queue has no place for those who were let in to hear the answer, and do not start by it. They are the
// youngest, but for those who waited outside meanwhile.
void Upstream::refuse_excess(Time now, std::string_view group, Commands& commands) {
  for (Lane* lane = find_lane(group); lane && !lane->asking() && !lane->waiting().empty(); lane = find_lane(group)) {
    std::uint32_t youngest = lane->waiting().back();
    for (std::size_t left = lane->waiting().size(); left > 1 && !requests_[youngest].beyond_queue; --left) {
      youngest = requests_[youngest].previous;
    }
    if (pending_ <= settings_.max_pending || !requests_[youngest].beyond_queue) break;
    refuse(now, youngest, Refused::queue_full, limited_by(now, requests_[youngest]), commands);
    refresh(now, *lane, commands);
  }
  settle(now, commands);
}

}  // namespace penstock::flow
