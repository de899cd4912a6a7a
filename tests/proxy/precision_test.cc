// SPDX-License-Identifier: Apache-2.0
// How near to their booked times requests take off: never before, and hardly after. Measured from the booking to the
// dispatch that observers see, with the flights of the others going on meanwhile, less what the machine was late.
#include <algorithm>
#include <chrono>
#include <deque>
#include <iostream>

#include "proxy/dispatcher_fixture.h"
#include "proxy/recording_limiter.h"
#include "support/machine.h"

namespace penstock::proxy {
namespace {

/// The loop's microseconds are those of this clock.
test::MachineClock::time_point on_the_clock(std::int64_t at) {
  return test::MachineClock::time_point{std::chrono::microseconds{at}};
}

class PrecisionTest : public DispatcherTest {
 protected:
  PrecisionTest() : origin_(test::always(kOk)) {
    make_limiter_ = recording_limiters(run_.loop, record_);
    config_.unmatched.queue.max_pending = kRequests;
    config_.unmatched.limits = {{PacerConfig{.qps = 500}}};
  }

  /// By how much each that was told of took off after its booked time.
  std::vector<test::MachineClock::duration> lateness() const {
    std::vector<test::MachineClock::duration> all;
    for (const auto& one : told_) {
      if (one.kind != EventKind::dispatch) continue;
      const auto booked = on_the_clock(record_.departures.at(all.size())), left = on_the_clock(one.at);
      EXPECT_GE(left, booked) << "never early";
      all.push_back(left - booked - test::machine_late(booked, left));
    }
    std::ranges::sort(all);
    return all;
  }

  static constexpr std::size_t kRequests = 1000;
  test::Origin origin_;
  Record record_;
};

TEST_F(PrecisionTest, departures_are_never_early_and_hardly_late) {
  std::deque<Asker> askers(kRequests);
  for (auto& asker : askers) get(asker, origin_.host());
  ASSERT_TRUE(run_.run_until([&] { return std::ranges::all_of(askers, &Asker::over); }));
  const auto late = lateness();
  ASSERT_EQ(late.size(), kRequests);
  const auto of_99_in_100 = late[kRequests * 99 / 100 - 1];
  RecordProperty("p99_us", static_cast<int>(of_99_in_100 / std::chrono::microseconds(1)));
  if (!test::kSanitized) {  // such a program is slow by itself
    EXPECT_LT(of_99_in_100, std::chrono::milliseconds(2));
  }
}

}  // namespace
}  // namespace penstock::proxy
