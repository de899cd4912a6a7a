// SPDX-License-Identifier: Apache-2.0
// Composes the limits of one process.
#include "flow/local_booker.h"

namespace penstock::flow {

LocalBooker::LocalBooker(std::vector<LimitConfig> limits, Instant at_zero)
    : limits_(std::move(limits)), at_zero_(at_zero) {}

bool LocalBooker::ask(Time now, const Ask& ask, Booking& booking) {
  for (std::size_t i = 0; i < ask.count; ++i) booking.departures.push_back({.at = now, .weight = ask.weight});
  return true;
}

LimitIndex LocalBooker::forbids(int) const { return kNoLimit; }
Time LocalBooker::ahead(Time now, std::string_view, std::int64_t, std::int64_t) const { return now; }
void LocalBooker::give_back(Time, std::string_view, const Departure&) {}
bool LocalBooker::landed(Time, std::string_view) { return false; }
void LocalBooker::nobody_waits(Time, Booking::Scope, std::string_view) {}
void LocalBooker::pause(Time, std::string_view, Time) {}

}  // namespace penstock::flow
