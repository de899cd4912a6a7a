// SPDX-License-Identifier: Apache-2.0
// What becomes of requests while Redis does not answer, in all four modes, and afterwards.
#include <gmock/gmock.h>

#include "redis/in_time.h"
#include "redis/limiter_fixture.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class WhenDownTest : public SharedLimiterTest {
 protected:
  WhenDownTest() { config_.timeout = 500ms; }  // an outage is noticed soon, and few stalls of a machine are as long

  template <typename... Desks>
  bool all_up(const Desks&... desks) {
    return run_.run_until([&] { return ((desks->up() && !desks->degraded()) && ...); });
  }
  template <typename... Desks>
  bool all_down(const Desks&... desks) {
    return run_.run_until([&] { return (!desks->up() && ...); });
  }
  /// Three processes at work for so long that each knows of the others.
  void three_at_work(std::vector<LimitConfig> limits) {
    for (auto& each : three_) each = make(limits);
    ASSERT_TRUE(all_up(three_[0], three_[1], three_[2]));
    for (auto& each : three_) each->work_without_end(50);
    ASSERT_TRUE(run_.run_until([&] {
      return std::ranges::all_of(three_, [](const auto& each) { return each->limiter().processes() == 3; });
    }));
    run_.run_for(kSecond / 2);
  }
  std::vector<flow::Time> times_after(flow::Time since) const {
    auto times = all_times(*three_[0], *three_[1], *three_[2]);
    std::erase_if(times, [=](auto at) { return at < since; });
    return times;
  }

  std::unique_ptr<LimiterFixture> three_[3];
};

TEST_F(WhenDownTest, from_the_start_a_process_goes_on_alone_at_once) {
  server_.stop();
  const auto a = make({pacer(100)});
  EXPECT_TRUE(run_.run_until([&] { return a->degraded(); }));
  const auto since = run_.loop.now();
  a->arrive(5);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() == 5; }));
  EXPECT_GE(run_.loop.now() - since, 40'000);
  EXPECT_TRUE(in_time(60'000, a->booked().front(), a->booked().back())) << "10 ms apart";
  server_.start();
  ASSERT_TRUE(all_up(a));
  EXPECT_FALSE(a->degraded());
}

TEST_F(WhenDownTest, a_frozen_redis_delays_nobody_longer_than_the_time_out) {
  const auto a = make({pacer(1000)});
  ASSERT_TRUE(all_up(a));
  a->arrive(1);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() == 1; }));
  server_.pause();
  const auto since = run_.loop.now();
  a->arrive(1);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() == 2; }));
  EXPECT_TRUE(in_time(config_.timeout.count() + 10'000, since, run_.loop.now()));
  ASSERT_TRUE(all_down(a));
  const auto next = run_.loop.now();
  a->arrive(1);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() == 3; }));
  EXPECT_TRUE(in_time(10'000, next, run_.loop.now())) << "Redis is asked no more";
  server_.resume();
  ASSERT_TRUE(all_up(a));
}

/// Whoever is back first does not know yet what the other two let go alone, by their shares.
TEST_F(WhenDownTest, nobody_bursts_when_a_frozen_redis_goes_on) {
  const LimitConfig window{.kind = SlidingWindowConfig{.max = 60, .interval = 300ms}, .name = "sliding"};
  three_at_work({window});
  server_.pause();
  ASSERT_TRUE(all_down(three_[0], three_[1], three_[2]));
  run_.run_for(700'000);
  const auto since = run_.loop.now();
  server_.resume();
  ASSERT_TRUE(all_up(three_[0], three_[1], three_[2]));
  EXPECT_TRUE(in_time(kSecond, since, run_.loop.now()));
  run_.run_for(kSecond);
  EXPECT_LE(fullest(times_after(since - 300'000), 298'000), 60u + 2 * 20u);
}

TEST_F(WhenDownTest, with_hold_lanes_wait_until_redis_is_back) {
  config_.when_down = WhenDown::wait;
  const auto a = make({pacer(1000)});
  ASSERT_TRUE(all_up(a));
  server_.stop();
  ASSERT_TRUE(all_down(a));
  a->arrive(3);
  run_.run_for(300'000);
  EXPECT_THAT(a->took_off(), IsEmpty());
  EXPECT_THAT(a->refused(), IsEmpty());
  server_.start();
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() == 3; }));
  EXPECT_EQ(a->took_off()[0].limited_by, flow::kRedis);
}

TEST_F(WhenDownTest, with_open_there_is_no_limit) {
  config_.when_down = WhenDown::open;
  server_.stop();
  const auto a = make({pacer(1)});
  a->arrive(50);
  EXPECT_TRUE(run_.run_until([&] { return a->took_off().size() == 50; }));
}

TEST_F(WhenDownTest, with_refuse_requests_are_refused) {
  config_.when_down = WhenDown::refuse;
  server_.stop();
  const auto a = make({pacer(1)});
  a->arrive(2);
  ASSERT_TRUE(run_.run_until([&] { return a->refused().size() == 2; }));
  EXPECT_EQ(a->refused()[0].why, flow::Refused::unavailable);
  EXPECT_THAT(a->took_off(), IsEmpty());
}

TEST_F(WhenDownTest, with_hold_nobody_knows_when_one_leaves) {
  config_.when_down = WhenDown::wait;
  server_.stop();
  const auto a = make({pacer(1000)});
  ASSERT_TRUE(run_.run_until([&] { return a->degraded(); }));
  const flow::Outlook idle = a->ahead();
  EXPECT_EQ(idle.leaves, std::nullopt);
  EXPECT_EQ(idle.limited_by, flow::kRedis);
  EXPECT_FALSE(idle.refused);
  a->arrive(1);
  EXPECT_THAT(a->took_off(), IsEmpty());
  EXPECT_EQ(a->ahead().leaves, std::nullopt);
}

TEST_F(WhenDownTest, with_open_one_leaves_at_once_as_was_said) {
  config_.when_down = WhenDown::open;
  server_.stop();
  const auto a = make({pacer(1)});
  ASSERT_TRUE(run_.run_until([&] { return a->degraded(); }));
  a->arrive(5);
  ASSERT_THAT(a->took_off(), SizeIs(5));
  const flow::Outlook outlook = a->ahead();
  ASSERT_TRUE(outlook.leaves);
  EXPECT_LE(*outlook.leaves, run_.loop.now());
  EXPECT_EQ(outlook.limited_by, flow::kNoLimit);
}

TEST_F(WhenDownTest, with_refuse_it_is_said_that_one_is_refused) {
  config_.when_down = WhenDown::refuse;
  server_.stop();
  const auto a = make({pacer(1)});
  ASSERT_TRUE(run_.run_until([&] { return a->degraded(); }));
  const flow::Outlook outlook = a->ahead();
  EXPECT_EQ(outlook.refused, flow::Refused::unavailable);
  EXPECT_EQ(outlook.leaves, std::nullopt);
  EXPECT_EQ(outlook.limited_by, flow::kRedis);
  a->arrive(1);
  ASSERT_THAT(a->refused(), SizeIs(1));
  EXPECT_EQ(a->refused()[0].why, outlook.refused);
}

TEST_F(WhenDownTest, with_share_one_leaves_by_its_part_as_was_said) {
  server_.stop();
  const auto a = make({pacer(10)});
  EXPECT_EQ(a->ahead().leaves, std::nullopt) << "whether Redis is there is not known yet";
  ASSERT_TRUE(run_.run_until([&] { return a->degraded(); }));
  a->arrive(3);
  const flow::Outlook outlook = a->ahead();
  a->arrive(1);
  ASSERT_TRUE(run_.run_until([&] { return a->booked().size() == 4; }));
  ASSERT_TRUE(outlook.leaves);
  EXPECT_NEAR(static_cast<double>(a->booked().back()), static_cast<double>(*outlook.leaves), 1'000);
  EXPECT_EQ(outlook.limited_by, 0);
}

TEST_F(WhenDownTest, what_left_meanwhile_counts_afterwards) {
  const LimitConfig window{.kind = SlidingWindowConfig{.max = 10, .interval = 20s}, .name = "sliding"};
  config_.timeout = 1s;  // afterwards no process is to be alone for a stall of this machine
  const auto a = make({window}), b = make({window});
  ASSERT_TRUE(all_up(a, b));
  a->arrive(2);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() == 2; }));
  server_.pause();
  a->arrive(5), b->arrive(1);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() + b->took_off().size() == 8; }));
  ASSERT_TRUE(all_down(a, b));
  server_.resume();
  ASSERT_TRUE(all_up(a, b));
  ASSERT_TRUE(run_.run_until([&] { return server_.run({"LLEN", "penstock:{github}:sliding"}).integer >= 1 + 8; }));
  b->arrive(10);
  run_.run_for(500'000);
  EXPECT_LE(a->took_off().size() + b->took_off().size(), 10u);
}

TEST_F(WhenDownTest, a_pause_is_obeyed_and_told_to_the_others_afterwards) {
  const auto a = make({pacer(1000)}), b = make({pacer(1000)});
  ASSERT_TRUE(all_up(a, b));
  server_.pause();
  a->arrive(1);
  ASSERT_TRUE(all_down(a));
  const auto until = run_.loop.now() + 1'500'000;
  a->limiter().pause(run_.loop.now(), {}, until);
  const auto before = a->took_off().size();
  a->arrive(1);
  run_.run_for(100'000);
  EXPECT_EQ(a->took_off().size(), before);
  server_.resume();
  ASSERT_TRUE(all_up(a, b));
  ASSERT_TRUE(run_.run_until([&] { return server_.run({"EXISTS", "penstock:{github}:pause"}).integer == 1; }));
  b->arrive(1);
  ASSERT_TRUE(run_.run_until([&] { return b->took_off().size() == 1; }));
  EXPECT_GE(b->took_off()[0].at, until - clock_error(*a, *b));
}

TEST_F(WhenDownTest, lanes_that_wait_for_a_turn_go_on_by_their_share) {
  const auto a = make({pacer(2)}), b = make({pacer(2)});
  ASSERT_TRUE(all_up(a, b));
  a->arrive(1), b->arrive(3);
  run_.run_for(200'000);
  server_.stop(SIGKILL);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() + b->took_off().size() == 4; }));
}

TEST_F(WhenDownTest, forgotten_scripts_are_not_noticed) {
  config_.timeout = 5s;  // a busy machine would be
  const auto a = make({pacer(500)});
  ASSERT_TRUE(all_up(a));
  a->work_without_end(20);
  run_.run_for(100'000);
  for (int i = 0; i < 5; ++i) server_.run({"SCRIPT", "FLUSH", "SYNC"}), run_.run_for(50'000);
  EXPECT_TRUE(a->up());
  EXPECT_FALSE(a->degraded());
  EXPECT_THAT(a->notices(), IsEmpty());
}

}  // namespace
}  // namespace penstock::redis
