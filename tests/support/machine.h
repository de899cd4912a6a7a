// SPDX-License-Identifier: Apache-2.0
// How late this machine wakes threads that asked to be woken, so that a test which goes by the real clock judges the
// program and not the machine. A thread on each core asks to be woken every few milliseconds, from the first use on
// (test programs that link this begin with it). Any thread may ask what was measured.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string_view>

namespace penstock::test {

/// Whether this program was built with a sanitizer: it then computes several times as slowly.
#if defined(__clang__)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

using MachineClock = std::chrono::steady_clock;

/// For how long, between the two, some thread was late: what a test waited for may have needed any of the cores. Never
/// more than the time between the two, and next to nothing on an idle machine.
MachineClock::duration machine_late(MachineClock::time_point from, MachineClock::time_point to = MachineClock::now());

/// Succeeds if from `from` to `to` no more time passed than `bound` and how late the machine was meanwhile.
testing::AssertionResult within(MachineClock::duration bound, MachineClock::time_point from,
                                MachineClock::time_point to = MachineClock::now());

/// How many times as much of a processor's time this machine takes just now for a fixed piece of work, half of it the
/// kernel's, as the one on which the bounds of time were set; never less than 1.
double machine_slowness();

/// For an experiment which a stall spoils, where lateness cannot be subtracted. True if the machine was later than
/// `most` since `from`; the test then returns without a judgement, and says why in a line "machine: N ms late, not
/// judged: TEST: WHAT". script/test counts these lines: more than five fail it. Never for a crash, for an order or a
/// limit that was broken, for access or for framing.
bool not_judged(MachineClock::time_point from, MachineClock::duration most, std::string_view what = {});
/// The line alone, of a part that was not judged: the rest of the test is.
void say_not_judged(MachineClock::duration late, std::string_view what);

}  // namespace penstock::test
