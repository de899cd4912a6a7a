// SPDX-License-Identifier: Apache-2.0
// Composes the limits of one process.
#include "flow/local_booker.h"

#include <algorithm>

namespace penstock::flow {

namespace {
constexpr int kWeight = 1;  // of every request
}

Time LocalBooker::earliest(Time from) const {
  for (const auto& limit : limits_) from = std::max(from, limit->frontier(kWeight));
  return from;
}

bool LocalBooker::ask(Time now, std::string_view, std::size_t count, Booking& booking) {
  Time at = now;
  while (booking.departures.size() < count) {
    at = earliest(at);
    if (at > now + kHorizon) {
      // From then on it is within the horizon: whoever was told so is ahead of all that come later.
      booking.ask_again = at - kHorizon;
      booking.not_before = at;
      break;
    }
    for (const auto& limit : limits_) limit->commit(at, kWeight);
    booking.departures.push_back(at);
  }
  return true;
}

void LocalBooker::give_back(std::string_view, Time departure) {
  for (const auto& limit : limits_) limit->give_back(departure, kWeight);
}

}  // namespace penstock::flow
