// SPDX-License-Identifier: Apache-2.0
// Permits of a semaphore that processes share through a real Redis: who waits for how many, and has them.
#include <gmock/gmock.h>

#include <string>

#include "redis/in_time.h"
#include "redis/limiter_fixture.h"

namespace penstock::redis {
namespace {

using namespace std::chrono_literals;

class SharedPermits : public SharedLimiterTest {};

/// Those that arrive while the first of them asks count as well as those that arrive while it waits.
TEST_F(SharedPermits, that_one_process_returns_are_half_of_another_s_that_waits_for_so_many) {
  for (const bool while_it_asks : {true, false}) {
    server_.run({"FLUSHALL"});
    begin_an_old_generation();
    const LimitConfig permits{.kind = SemaphoreConfig{.capacity = 10}, .name = "permits"};
    const auto a = desk({permits}), b = desk({permits});
    a->fly_on(), b->fly_on();
    a->arrive(30);
    ASSERT_TRUE(took_off(*a, 10));
    ASSERT_TRUE(all_listen(2));
    const std::size_t told = b->told_to_ask_after().size();
    b->arrive(1);
    ASSERT_TRUE(while_it_asks || run_.run_until([&] { return b->told_to_ask_after().size() > told; }));
    b->arrive(12);
    const auto waits_for = [&] {
      const std::string value = server_.run({"GET", "penstock:{github}:permits"}).text;
      return value.contains(":13:");
    };
    const auto since = run_.loop.now();
    ASSERT_TRUE(run_.run_until(waits_for)) << server_.run({"GET", "penstock:{github}:permits"}).text;
    EXPECT_TRUE(in_time(kSecond / 2, since, run_.loop.now())) << "not with all that is told anew each second";
    for (std::size_t n = 0; n < 10; ++n) a->land(n);
    ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() + b->took_off().size() == 20; }));
    EXPECT_EQ(b->took_off().size(), 5u) << while_it_asks;
  }
}

TEST_F(SharedPermits, are_waited_for_in_line_although_a_flight_ends_while_the_lane_asks) {
  begin_an_old_generation();
  const auto a = desk({{.kind = SemaphoreConfig{.capacity = 1, .lease = 60s}, .name = "permits"}});
  a->fly_on();
  a->arrive();
  ASSERT_TRUE(took_off(*a, 1));
  const auto since = run_.loop.now();
  for (std::size_t i = 0; i < 10; ++i) {
    a->arrive();
    a->land(i);
    ASSERT_TRUE(took_off(*a, i + 2));
  }
  EXPECT_TRUE(in_time(kSecond, since, run_.loop.now())) << "none waited until all is told anew, a second later";
}

}  // namespace
}  // namespace penstock::redis
