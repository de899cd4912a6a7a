// SPDX-License-Identifier: Apache-2.0
// How much of a shared limit is used, as people see it in each process.
#include "redis/limits/seen_limits.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>

#include "redis/in_time.h"
#include "redis/limiter_fixture.h"
#include "redis/limits/limit_looks.h"
#include "support/core_time.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;

constexpr LimitConfig::Per kEachGroup = LimitConfig::Per::group;

// ---- what Redis tells, in figures -----------------------------------------------------------------------------------

constexpr flow::Instant kNow = 1e12, kSeconds = 1e6;

TEST(ReadingOf, a_window_that_is_spent_opens_a_guard_behind_its_end) {
  const auto reading = reading_of(WindowConfig{.reservoir = 60, .interval = 60s},
                                  {.now = kNow, .until = kNow + 23 * kSeconds, .opens = kNow + 23 * kSeconds});
  EXPECT_EQ(reading.used, 60);
  EXPECT_EQ(reading.of, 60);
  EXPECT_EQ(reading.resets_in, 23 * kSeconds);
  EXPECT_EQ(reading.opens_in, 23 * kSeconds + flow::kGuard);
  EXPECT_TRUE(reading.shared);
  EXPECT_TRUE(reading.known);
}

// 10 are missing of 12, at a moment 5 s ago; 3 come each 2 s: 6 have come, and the other 4 take two more refills.
TEST(ReadingOf, a_token_bucket_has_the_tokens_that_came_since_redis_counted) {
  const auto reading = reading_of(TokenBucketConfig{.capacity = 12, .refill_amount = 3, .refill_frequency = 2s},
                                  {.now = kNow, .until = kNow - 5 * kSeconds, .units = 2, .opens = 0});
  EXPECT_EQ(reading.used, 4);
  EXPECT_EQ(reading.of, 12);
  EXPECT_EQ(reading.opens_in, 0);
  EXPECT_EQ(reading.resets_in, 3 * kSeconds);
}

TEST(ReadingOf, a_counter_whose_period_is_over_is_unused) {
  const CounterConfig config{.max = 9, .period = 30s};
  const auto running = reading_of(config, {.now = kNow, .until = kNow + 4 * kSeconds, .units = 0, .opens = -1});
  EXPECT_EQ(running.used, 9);
  EXPECT_EQ(running.resets_in, 4 * kSeconds);
  EXPECT_EQ(running.opens_in, 4 * kSeconds + flow::kGuard);
  const auto over = reading_of(config, {.now = kNow, .until = kNow - 1, .units = 0, .opens = -1});
  EXPECT_EQ(over.used, 0);
  EXPECT_EQ(over.opens_in, 0);
  EXPECT_EQ(over.resets_in, std::nullopt);
}

TEST(ReadingOf, an_adaptive_limit_has_a_rate) {
  const auto reading = reading_of(AdaptiveConfig{.min = 1, .max = 90},
                                  {.now = kNow, .until = kNow, .units = 12.5e6, .opens = kNow + 80'000});
  EXPECT_EQ(reading.rate, 12.5);
  EXPECT_EQ(reading.opens_in, 80'000);
}

// ---- what each process sees -----------------------------------------------------------------------------------------

/// None of them makes anything wait.
std::vector<LimitConfig> one_of_each_kind() {
  return {{.kind = PacerConfig{.qps = 0.01, .max_burst = 100}},
          {.kind = WindowConfig{.reservoir = 100, .interval = 8'000h}},
          {.kind = SlidingWindowConfig{.max = 100, .interval = 1h}},
          {.kind = TokenBucketConfig{.capacity = 100, .refill_amount = 1, .refill_frequency = 1h}},
          {.kind = SemaphoreConfig{.capacity = 100}},
          {.kind = CounterConfig{.max = 100, .period = 1h}},
          {.kind = AdaptiveConfig{.min = 5'000, .max = 5'000}}};
}

class SeenLimitsTest : public SharedLimiterTest {
 protected:
  using Readings = std::map<std::string, flow::LimitReading>;

  /// What that process shows, and how long it took to look.
  Readings seen_by(LimiterFixture& desk, const std::vector<LimitConfig>& limits, std::string_view group = {}) {
    bool seen = false;
    const flow::Time from = run_.loop.now();
    desk.hub().look([&] { seen = true, took_ = run_.loop.now() - from; });
    EXPECT_TRUE(seen || run_.run_until([&] { return seen; }));
    Readings readings;
    desk.limiter().reader()->read(
        run_.loop.now(), group, [&](flow::LimitIndex limit, const flow::LimitReading& reading) {
          readings[std::string(limit_name(limits[static_cast<std::size_t>(limit)]))] = reading;
        });
    return readings;
  }
  /// The same, by a look that Redis has answered: one ends without an answer where the machine stands still meanwhile.
  Readings told_to(LimiterFixture& desk, const std::vector<LimitConfig>& limits, std::string_view group = {}) {
    for (const flow::Time end = run_.loop.now() + 60 * kSecond; run_.loop.now() < end;) {
      Readings readings = seen_by(desk, limits, group);
      if (took_ < LimitLooks::kMost) return readings;
    }
    ADD_FAILURE() << "no look was answered in its time";
    return {};
  }

  /// The first limit, within a few seconds.
  template <typename Is>
  bool comes_to_see(LimiterFixture& desk, const std::vector<LimitConfig>& limits, Is is) {
    const std::string first(limit_name(limits[0]));
    for (const flow::Time end = run_.loop.now() + 5'000'000; run_.loop.now() < end; run_.run_for(1'000)) {
      if (is(seen_by(desk, limits)[first])) return true;
    }
    return false;
  }

  flow::Time took_ = 0;
};

TEST_F(SeenLimitsTest, a_process_that_asks_nothing_sees_what_another_has_used) {
  const auto limits = one_of_each_kind();
  const auto worker = desk(limits), viewer = desk(limits);
  worker->fly_on();
  worker->arrive(7);
  ASSERT_TRUE(took_off(*worker, 7));
  auto seen = told_to(*viewer, limits), own = told_to(*worker, limits);
  ASSERT_EQ(seen.size(), limits.size());
  for (const auto& limit : limits) {
    const std::string name(limit_name(limit));
    EXPECT_TRUE(seen[name].known && seen[name].shared) << name;
    EXPECT_NEAR(seen[name].used, name == "adaptive" ? 0 : 7, 0.1) << name;
    EXPECT_EQ(seen[name].of, name == "adaptive" ? 0 : 100) << name;
    // The adaptive limit's 5000 a second are 200 µs apart, which may not be over yet since the last of the seven.
    EXPECT_LE(seen[name].opens_in.value_or(1'000'000), name == "adaptive" ? 200 : 0) << name;
    EXPECT_NEAR(seen[name].used, own[name].used, 0.1) << name;
  }
  EXPECT_EQ(seen["pacer"].rate, 0.01);
  EXPECT_EQ(seen["adaptive"].rate, 5'000);
  EXPECT_THAT(seen["tokenBucket"].resets_in.value_or(0), AllOf(Le(7 * 3'600e6), Ge(7 * 3'600e6 - 60e6)));
  EXPECT_THAT(seen["counter"].resets_in.value_or(0), AllOf(Le(3'600e6), Ge(3'600e6 - 60e6)));
}

TEST_F(SeenLimitsTest, each_departure_is_seen_by_all_within_50_ms) {
  const std::vector<LimitConfig> limits{{.kind = CounterConfig{.max = 1'000, .period = 1h}}};
  const auto worker = desk(limits), viewer = desk(limits);
  for (std::size_t n = 1; n <= 40; ++n) {
    worker->arrive(1);
    ASSERT_TRUE(took_off(*worker, n));
    const flow::Time from = run_.loop.now();
    const auto waited = test::waited_by(server_.pid());
    ASSERT_TRUE(
        comes_to_see(*viewer, limits, [n](const auto& counter) { return counter.used == static_cast<double>(n); }));
    const auto waits_of_redis = (test::waited_by(server_.pid()) - waited) / 1us;
    EXPECT_TRUE(in_time(50'000 + waits_of_redis, from, run_.loop.now()));
  }
}

TEST_F(SeenLimitsTest, a_spent_limit_opens_when_redis_says_so) {
  const std::vector<LimitConfig> limits{{.kind = SlidingWindowConfig{.max = 3, .interval = 1h}, .name = "sliding"},
                                        {.kind = SemaphoreConfig{.capacity = 3}, .name = "permits"}};
  const auto worker = desk(limits), viewer = desk(limits);
  worker->fly_on();
  worker->arrive(3);
  ASSERT_TRUE(took_off(*worker, 3));
  auto seen = told_to(*viewer, limits);
  EXPECT_EQ(seen["sliding"].used, 3);
  EXPECT_THAT(seen["sliding"].opens_in.value_or(0), AllOf(Le(3'600e6 + 2'000), Ge(3'600e6 - 60e6)));
  EXPECT_EQ(seen["permits"].used, 3);
  EXPECT_EQ(seen["permits"].opens_in, std::nullopt);
}

/// Alone, and beside a limit that counts departures; whichever way the permit of a flight that ends goes back.
TEST_F(SeenLimitsTest, a_permit_that_is_given_back_is_seen_to_be_free) {
  const LimitConfig permits{.kind = SemaphoreConfig{.capacity = 3}, .name = "permits"};
  const LimitConfig counter{.kind = CounterConfig{.max = 1'000, .period = 1h}, .name = "counter"};
  for (const auto& limits : {std::vector{permits}, std::vector{permits, counter}}) {
    server_.run({"FLUSHALL"});
    const auto worker = desk(limits), viewer = desk(limits);
    worker->fly_on();
    for (std::size_t round = 0; round < 20; ++round) {
      worker->arrive(3);
      ASSERT_TRUE(took_off(*worker, 3 * round + 3));
      for (std::size_t n = 0; n < 3; ++n) {
        worker->land(3 * round + n);
        ASSERT_TRUE(comes_to_see(*viewer, limits, [n](const auto& seen) { return seen.used == 2.0 - n; }))
            << "round " << round << ", " << n << ", limits " << limits.size();
      }
    }
  }
}

/// Or limits would be divided among viewers, too, when Redis is away.
TEST_F(SeenLimitsTest, who_only_looks_is_no_user_of_the_upstream) {
  const auto limits = one_of_each_kind();
  const auto viewer = desk(limits);
  EXPECT_EQ(told_to(*viewer, limits)["window"].used, 0);
  EXPECT_EQ(server_.run({"KEYS", "penstock:{github}:*"}).items.size(), 0u);
}

TEST_F(SeenLimitsTest, while_nobody_looks_nothing_is_asked_and_nothing_is_known) {
  const std::vector<LimitConfig> limits{{.kind = CounterConfig{.max = 9, .period = 1h}}};
  const auto viewer = desk(limits);
  const auto calls = [&] { return viewer->hub().counts().calls; };
  EXPECT_TRUE(told_to(*viewer, limits)["counter"].known);
  const auto before = calls();
  run_.run_for(60'000);
  EXPECT_LE(calls() - before, 1u) << "that the process is there is told once a second";
  bool known = true;
  viewer->limiter().reader()->read(run_.loop.now(), {},
                                   [&](flow::LimitIndex, const flow::LimitReading& reading) { known = reading.known; });
  EXPECT_FALSE(known);
}

TEST_F(SeenLimitsTest, of_limits_of_groups_a_process_sees_those_of_the_groups_to_which_it_sends) {
  const std::vector<LimitConfig> limits{
      {.kind = CounterConfig{.max = 9, .period = 1h}, .name = "each", .per = kEachGroup}};
  const auto one = desk(limits), another = desk(limits);
  one->arrive(2, "red");
  another->arrive(3, "red");
  ASSERT_TRUE(took_off(*one, 2) && took_off(*another, 3));
  EXPECT_EQ(told_to(*one, limits, "red")["each"].used, 5);
  EXPECT_EQ(told_to(*another, limits, "red")["each"].used, 5);
  EXPECT_FALSE(seen_by(*one, limits, "blue")["each"].known);
}

TEST_F(SeenLimitsTest, limits_that_are_not_shared_are_always_known) {
  const std::vector<LimitConfig> limits{{.kind = CounterConfig{.max = 9, .period = 1h}, .name = "own", .shared = false},
                                        {.kind = CounterConfig{.max = 9, .period = 1h}, .name = "all"}};
  const auto one = desk(limits), another = desk(limits);
  one->arrive(2);
  another->arrive(3);
  ASSERT_TRUE(took_off(*one, 2) && took_off(*another, 3));
  auto seen = told_to(*one, limits);
  EXPECT_EQ(seen["own"].used, 2);
  EXPECT_FALSE(seen["own"].shared);
  EXPECT_EQ(seen["all"].used, 5);
  EXPECT_TRUE(seen["all"].shared);
}

// ---- without Redis --------------------------------------------------------------------------------------------------

TEST_F(SeenLimitsTest, a_redis_that_hangs_delays_nobody_who_looks_for_longer_than_50_ms) {
  const std::vector<LimitConfig> limits{{.kind = CounterConfig{.max = 9, .period = 1h}}};
  const auto viewer = desk(limits);
  server_.pause();
  const flow::Time from = run_.loop.now();
  EXPECT_FALSE(seen_by(*viewer, limits)["counter"].known);
  EXPECT_TRUE(in_time(50'000, from, from + took_));
  EXPECT_GE(took_, LimitLooks::kMost);
  server_.resume();
  EXPECT_TRUE(comes_to_see(*viewer, limits, [](const auto& counter) { return counter.known; }));
}

TEST_F(SeenLimitsTest, a_process_that_keeps_its_part_alone_shows_that) {
  const std::vector<LimitConfig> limits{{.kind = CounterConfig{.max = 9, .period = 1h}}};
  config_.processes = 3;
  const auto one = desk(limits);
  server_.stop();
  ASSERT_TRUE(run_.run_until([&] { return one->degraded(); }));
  one->arrive(2);
  ASSERT_TRUE(took_off(*one, 2));
  const auto seen = seen_by(*one, limits).at("counter");
  EXPECT_TRUE(seen.known);
  EXPECT_FALSE(seen.shared);
  EXPECT_EQ(seen.used, 2);
  EXPECT_EQ(seen.of, 3);
}

TEST_F(SeenLimitsTest, a_process_that_waits_for_redis_knows_nothing) {
  const std::vector<LimitConfig> limits{{.kind = CounterConfig{.max = 9, .period = 1h}}};
  config_.when_down = WhenDown::wait;
  const auto one = desk(limits);
  server_.stop();
  ASSERT_TRUE(run_.run_until([&] { return one->degraded(); }));
  const flow::Time from = run_.loop.now();
  const auto seen = seen_by(*one, limits).at("counter");
  EXPECT_FALSE(seen.known);
  EXPECT_TRUE(in_time(10'000, from, from + took_)) << "there is nothing to wait for";
}

}  // namespace
}  // namespace penstock::redis
