// SPDX-License-Identifier: Apache-2.0
// The script clock never goes back, and rates come out exactly; and the same on Redis' own clock, within bounds.
#include <gtest/gtest.h>

#include <chrono>

#include "lua/asker.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;

class ScriptClock : public testing::Test {
 protected:
  test::RedisServer server_;
  Scripts scripts_{server_};
};

TEST_F(ScriptClock, a_step_back_neither_stops_nor_hastens_departures) {
  Asker me(scripts_, "api", "me", {pacer(100)}, kStart);
  const auto next = [&](Time shown) {
    const auto answer = me.ask(shown, {});
    return answer.booking.departures.empty() ? -1 : answer.booking.departures[0].at;
  };
  EXPECT_EQ(next(sec(20)), sec(20));
  EXPECT_EQ(next(sec(20) + ms(8)), sec(20) + ms(10));
  EXPECT_EQ(next(sec(10)), sec(20) + ms(20)) << "set back: it stands still for a moment";
  EXPECT_EQ(me.ask(sec(10) + ms(5), {.count = 0}).now, sec(20) + ms(13)) << "and goes on from there";
  EXPECT_EQ(next(sec(10) + ms(30)), sec(20) + ms(38)) << "8 ms had passed when it was set back by 10 s";
  EXPECT_EQ(next(sec(20) + ms(30)), sec(30) + ms(38)) << "set forward again: idle time, no more";
}
TEST_F(ScriptClock, a_step_forward_is_idle_time) {
  Asker me(scripts_, "api", "me", {pacer(100, 5)}, kStart);
  EXPECT_EQ(me.ask(0, {.count = 6}).booking.departures.size(), 6U);
  const auto departures = me.ask(sec(10), {.count = 9}).booking.departures;
  ASSERT_EQ(departures.size(), 9U);
  EXPECT_EQ(departures[5].at, sec(10)) << "the burst is earned back, and no more";
  EXPECT_EQ(departures[6].at, sec(10) + ms(10));
}

class Rate : public ScriptClock, public testing::WithParamInterface<double> {};

TEST_P(Rate, is_kept_within_a_thousandth) {
  const double qps = GetParam();
  Asker me(scripts_, "api", "me", {pacer(qps)}, kStart);
  std::int64_t units = 0;
  Time now = 0;
  for (int i = 0; i < 20'000 && now < sec(5); ++i) {
    const Answer answer = me.ask(now, {.count = 500});
    ASSERT_EQ(answer.status, "ok");
    for (const auto& departure : answer.booking.departures) units += departure.at < sec(5);
    now = answer.booking.departures.empty() ? answer.booking.ask_again : answer.booking.departures.back().at;
  }
  EXPECT_NEAR(static_cast<double>(units), 5 * qps, 1 + 0.001 * 5 * qps);
}
INSTANTIATE_TEST_SUITE_P(Effective, Rate, testing::Values(100, 3'000, 7'000, 30'000, 100'000));

/// On Redis' own clock: bounds instead of moments.
class RedisClock : public testing::Test {
 protected:
  std::vector<Time> departures(const LimitConfig& limit, std::size_t count) {
    Asker me(scripts_, "api" + std::to_string(++upstreams_), "me", {limit}, 0);
    const Answer answer = me.ask(0, {.count = count});
    EXPECT_EQ(answer.status, "ok");
    now_ = answer.now;
    std::vector<Time> times;
    for (const auto& departure : answer.booking.departures) times.push_back(departure.at - now_);
    return times;
  }

  test::RedisServer server_;
  Scripts scripts_{server_, Scripts::Clock::of_redis};
  int upstreams_ = 0;
  Time now_ = 0;
};

TEST_F(RedisClock, counts_from_2025_on) {
  const auto since_2025 = [] {
    const std::chrono::sys_days y2025 = std::chrono::year(2025) / 1 / 1;
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now() - y2025).count();
  };
  const Time before = since_2025();
  departures(pacer(100), 1);
  EXPECT_GE(now_, before);
  EXPECT_LE(now_, since_2025());
}
TEST_F(RedisClock, a_pacer_spaces_departures) {
  EXPECT_EQ(departures(pacer(100), 9), (std::vector<Time>{0, 10'000, 20'000, 30'000, 40'000, 50'000}));
}
TEST_F(RedisClock, a_burst_leaves_at_once) { EXPECT_EQ(departures(pacer(10, 3), 9), std::vector<Time>(4, 0)); }
TEST_F(RedisClock, a_window_holds_what_it_holds) {
  const auto times = departures(window(5, sec(3'600)), 9);
  EXPECT_GE(times.size(), 5U);
  EXPECT_LE(times.size(), 10U) << "two windows, where it is about full hour";
}
TEST_F(RedisClock, a_sliding_window_holds_what_it_holds) {
  EXPECT_EQ(departures(sliding(5, sec(10)), 9), std::vector<Time>(5, 0));
}
TEST_F(RedisClock, a_bucket_starts_full) { EXPECT_EQ(departures(bucket(5, 1, sec(10)), 9), std::vector<Time>(5, 0)); }
TEST_F(RedisClock, a_counter_holds_what_it_holds) {
  EXPECT_EQ(departures(counter(5, sec(10)), 9), std::vector<Time>(5, 0));
}
TEST_F(RedisClock, keys_go_as_the_state_says) {
  using namespace std::chrono;
  Asker me(scripts_, "api", "me", {pacer(0.1)}, 0);
  const auto began = steady_clock::now();
  me.ask(0, {});
  const auto left = server_.run({"PTTL", me.key("pacer")}).integer;
  const auto head = server_.run({"PTTL", me.key("head")}).integer;
  const auto since = ceil<milliseconds>(steady_clock::now() - began).count();
  EXPECT_GE(left, 10'000 - since);
  EXPECT_LE(left, 11'000);
  EXPECT_GE(head, 86'400'000 - since);
  EXPECT_LE(head, 86'401'000);
}

}  // namespace
}  // namespace penstock::lua
