// SPDX-License-Identifier: Apache-2.0
// Estimates: how long requests have waited, and how long another one would wait.
#include <algorithm>

#include "flow/scheduler.h"

namespace penstock::flow {

Time Scheduler::oldest_wait(Time now) const {
  Time oldest = now;
  const auto look = [&](const Lane& lane) {
    if (!lane.waiting().empty()) oldest = std::min(oldest, requests_[lane.waiting().front()].arrived);
    if (!lane.apart().empty()) oldest = std::min(oldest, requests_[lane.apart().front()].arrived);
  };
  look(nameless_);
  for (const auto& [group, lane] : lanes_) look(*lane);
  if (!outside_.empty()) oldest = std::min(oldest, requests_[outside_.front()].arrived);
  return now - oldest;
}

Time Scheduler::retry_after(Time now, std::string_view group, int weight, Time not_before) const {
  constexpr Time kSecond = 1'000'000;
  const auto flying = static_cast<std::int64_t>(in_flight_);
  const auto ahead = static_cast<std::int64_t>(pending_ == 0 && free_slots() == 0 ? 1 : pending_);
  const Time by_slots =
      ahead * flights_.mean(now, flying, flying * now - took_off_) / static_cast<std::int64_t>(slots_);
  const Lane* lane = find_lane(group);
  const std::int64_t units = lane ? lane->unbooked_units() : 0;
  const std::int64_t others = unbooked_units_ - (lane ? lane->counted_units : 0);
  const Time free = limiter_->expected(now, group, weight, units, others);
  const Time by_limits = std::max(free, not_before) - now;
  // Rounded up to seconds: a client that retried every few milliseconds would only be refused again.
  const Time estimated = std::max((by_slots + kSecond - 1) / kSecond, Time{1}) * kSecond;
  return std::clamp(by_limits > by_slots ? by_limits : estimated, kSecond / 1'000, kLongestRetry);
}

}  // namespace penstock::flow
