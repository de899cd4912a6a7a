// SPDX-License-Identifier: Apache-2.0
// Primes a limiter with what left before a stretch, and asks it for all that it grants within.
#include "simulation/twin.h"

#include <algorithm>
#include <cstddef>

#include "flow/local_limiter.h"

namespace penstock::simulation {

std::vector<Left> twin_sends(const Reading& reading, const std::vector<LimitConfig>& limits,
                             const std::vector<Left>& before, const std::vector<int>& weights, Span stretch) {
  std::vector<LimitConfig> wide = limits;
  for (LimitConfig& limit : wide) limit.per = LimitConfig::Per::upstream;
  flow::LocalLimiter limiter(std::move(wide), flow::instant_at_zero(reading.wall(stretch.from) - stretch.from, 0));
  for (const Left& one : before) limiter.book(one.at, {}, one.units);
  std::vector<Left> sent;
  flow::Booking booking;
  std::size_t next = 0;
  for (Time now = stretch.from; now <= stretch.until;) {
    const int weight = weights.empty() ? 1 : weights[next % weights.size()];
    booking.clear();
    limiter.ask(now, {.weight = weight}, booking);
    if (booking.departures.empty()) {
      now = std::max(now + 1, booking.ask_again);
      continue;
    }
    const Time at = booking.departures.front().at;
    if (at > stretch.until) break;
    sent.push_back({std::max(at, stretch.from + 1), weight});  // what left at the very begin was before it
    now = std::max(now, at);
    ++next;
  }
  return sent;
}

}  // namespace penstock::simulation
