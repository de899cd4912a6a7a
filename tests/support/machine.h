// SPDX-License-Identifier: Apache-2.0
// Measures how late this machine wakes sleeping threads, so that a test with time bounds judges the program and not the
// machine. From the first use on, a thread on each core asks to be woken every few milliseconds (test programs that
// link this start it at their beginning). Any thread may ask for the results.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

namespace penstock::test {

/// Whether this program was built with a sanitizer, which makes it several times slower.
#if defined(__clang__)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

using MachineClock = std::chrono::steady_clock;

/// The total time between `from` and `to` in which at least one thread was late: what a test waited for may have needed
/// any core. At most `to` - `from`, and next to nothing on an idle machine.
MachineClock::duration machine_late(MachineClock::time_point from, MachineClock::time_point to = MachineClock::now());

/// Succeeds if at most `bound` plus the machine's lateness passed between `from` and `to`.
testing::AssertionResult within(MachineClock::duration bound, MachineClock::time_point from,
                                MachineClock::time_point to = MachineClock::now());

/// Processor time that this machine needs just now for a fixed piece of work, half of it in the kernel, relative to the
/// machine on which the time bounds were set; at least 1.
double machine_slowness();

/// For an experiment that a stall spoils, where lateness cannot be subtracted. True if the machine was later than
/// `most` since `from`; the test then returns without a judgement. Writes a line "machine: N ms late, not judged: TEST:
/// WHAT"; script/test counts these lines, and more than five fail it. Never to be used for a crash, for a broken order
/// or limit, for access, or for framing.
bool not_judged(MachineClock::time_point from, MachineClock::duration most, std::string_view what = {});
/// Only writes that line, for a part that was not judged; the rest of the test is judged.
void say_not_judged(MachineClock::duration late, std::string_view what);

}  // namespace penstock::test
