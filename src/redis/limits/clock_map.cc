// SPDX-License-Identifier: Apache-2.0
// Each round trip tells the offset of the other clock, give or take half its length.
#include "redis/limits/clock_map.h"

#include <algorithm>
#include <cstdlib>

namespace penstock::redis {

namespace {
constexpr flow::Time kSecond = 1'000'000, kMinute = 60 * kSecond;
constexpr flow::Time kTolerance = 100;  // clocks drift, and the script reads its clock somewhere in the middle
}  // namespace

bool ClockMap::Sample::agrees_with(const Sample& other) const {
  return std::abs(offset - other.offset) <= (round_trip + other.round_trip) / 2 + kTolerance;
}

bool ClockMap::learn(flow::Time sent, flow::Time received, std::int64_t script) {
  const flow::Time round_trip = std::max<flow::Time>(0, received - sent);
  const Sample sample{.at = received, .round_trip = round_trip, .offset = script - (sent + round_trip / 2)};
  usual_ = usual_ == 0 ? round_trip : (7 * usual_ + round_trip) / 8;
  if (!best_ || !sample.agrees_with(*best_)) {
    best_ = next_ = sample;
    return true;
  }
  if (best_->at + kMinute < received) best_ = next_->at + kMinute < received ? sample : *next_;
  if (next_->at + kMinute / 2 < received || round_trip <= next_->round_trip) next_ = sample;
  if (round_trip <= best_->round_trip) best_ = sample;
  return false;
}

}  // namespace penstock::redis
