// SPDX-License-Identifier: Apache-2.0
// Bounds on the times of a loop that hold on a busy machine too: how late the machine was is added to them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

#include "support/machine.h"

namespace penstock::redis {

inline constexpr std::int64_t kSecond = 1'000'000;  ///< in microseconds, as a loop counts

/// A loop counts the microseconds of the clock by which the machine is measured.
inline test::MachineClock::time_point moment(std::int64_t at) {
  return test::MachineClock::time_point{std::chrono::microseconds{at}};
}

/// Succeeds if from `from` to `to` no more passed than `bound` and how late the machine was meanwhile.
inline testing::AssertionResult in_time(std::int64_t bound, std::int64_t from, std::int64_t to) {
  return test::within(std::chrono::microseconds{bound}, moment(from), moment(to));
}

/// How late the machine was between the two, in microseconds.
inline std::int64_t late_between(std::int64_t from, std::int64_t to) {
  return std::chrono::duration_cast<std::chrono::microseconds>(test::machine_late(moment(from), moment(to))).count();
}

/// What a limit of so many a second may have lost between the two, for the machine stood still.
inline double missed_units(double rate, std::int64_t from, std::int64_t to) {
  return rate * static_cast<double>(late_between(from, to)) / 1e6;
}

}  // namespace penstock::redis
