// SPDX-License-Identifier: Apache-2.0
// A Redis that loses its memory under full load: what the processes remember is handed in before anybody goes on.
#include <gmock/gmock.h>

#include <map>

#include "desk.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

constexpr flow::Time kSecond = 1'000'000;
constexpr flow::Time kClocksDiffer = 20'000;  // on a busy machine, before a quick round trip was seen

class GenerationTest : public testing::Test {
 protected:
  void three_at_work(const LimitConfig& limit) {
    config_.port = server_.port();
    for (auto& each : three_) each = std::make_unique<Desk>(run_, resolver_, config_, std::vector{limit});
    ASSERT_TRUE(run_.run_until([&] { return three_[0]->up() && three_[1]->up() && three_[2]->up(); }));
    for (auto& each : three_) each->work_without_end(50);
    run_.run_for(kSecond + kSecond / 2);
  }
  std::vector<flow::Time> times() const { return all_times(*three_[0], *three_[1], *three_[2]); }
  bool nobody_degraded() const { return !three_[0]->degraded() && !three_[1]->degraded() && !three_[2]->degraded(); }

  /// Loses everything now and then, at no particular moment of any interval.
  void flush_several_times() {
    for (int i = 0; i < 6; ++i) {
      server_.run({"FLUSHALL"});
      run_.run_for(337'000);
    }
  }

  test::TestLoop run_;
  loop::Resolver resolver_{run_.loop, DnsConfig{}};
  RedisConfig config_;
  test::RedisServer server_;
  std::unique_ptr<Desk> three_[3];
};

TEST_F(GenerationTest, of_a_pacer_makes_no_burst) {
  three_at_work({.kind = PacerConfig{.qps = 400}, .name = "limit"});
  flush_several_times();
  EXPECT_LE(fullest(times(), kSecond / 2), 206u);
  EXPECT_GE(times().size(), 3.3 * 400);
}

TEST_F(GenerationTest, of_a_sliding_window_lets_nothing_over_the_limit) {
  three_at_work({.kind = SlidingWindowConfig{.max = 200, .interval = 500ms}, .name = "limit"});
  flush_several_times();
  EXPECT_LE(fullest(times(), kSecond / 2 - kClocksDiffer), 200u);
}

TEST_F(GenerationTest, of_a_window_lets_nothing_over_the_limit) {
  three_at_work({.kind = WindowConfig{.reservoir = 200, .interval = 500ms}, .name = "limit"});
  flush_several_times();
  std::map<std::int64_t, int> windows;
  const auto wall = loop::Loop::wall() - run_.loop.now();
  for (const auto at : times()) ++windows[(at + wall) / 500'000];
  for (const auto& [index, count] : windows) EXPECT_LE(count, 200) << index;
}

TEST_F(GenerationTest, of_a_token_bucket_of_one_lets_at_most_five_over_the_limit) {
  three_at_work(
      {.kind = TokenBucketConfig{.capacity = 1, .refill_amount = 1, .refill_frequency = 2500us}, .name = "limit"});
  for (int i = 0; i < 6; ++i) {
    const auto since = run_.loop.now();
    server_.run({"FLUSHALL"});
    run_.run_for(337'000);
    auto after = times();
    std::erase_if(after, [=](auto at) { return at < since - 250'000; });
    EXPECT_LE(fullest(after, kSecond / 2), 201u + 5u);
  }
}

TEST_F(GenerationTest, opens_as_soon_as_all_have_handed_in) {
  three_at_work({.kind = PacerConfig{.qps = 400}, .name = "limit"});
  server_.run({"FLUSHALL"});
  const auto since = run_.loop.now();
  ASSERT_TRUE(run_.run_until([&] { return !nobody_degraded(); }));
  ASSERT_TRUE(run_.run_until([&] { return nobody_degraded(); }));
  EXPECT_LT(run_.loop.now() - since, 300'000);
}

TEST_F(GenerationTest, opens_after_a_second_where_one_has_died) {
  three_at_work({.kind = PacerConfig{.qps = 400}, .name = "limit"});
  three_[2].reset();
  server_.run({"FLUSHALL"});
  const auto since = run_.loop.now();
  ASSERT_TRUE(run_.run_until([&] { return three_[0]->degraded() && three_[1]->degraded(); }));
  ASSERT_TRUE(run_.run_until([&] { return !three_[0]->degraded() && !three_[1]->degraded(); }));
  EXPECT_GT(run_.loop.now() - since, kSecond / 2);
  EXPECT_LT(run_.loop.now() - since, kSecond + kSecond / 2);
  three_[2] = std::make_unique<Desk>(run_, resolver_, config_, std::vector<LimitConfig>{});
}

TEST_F(GenerationTest, is_learned_by_a_newcomer_who_remembers_nothing) {
  three_at_work({.kind = PacerConfig{.qps = 400}, .name = "limit"});
  Desk newcomer(run_, resolver_, config_, {{.kind = PacerConfig{.qps = 400}, .name = "limit"}});
  ASSERT_TRUE(run_.run_until([&] { return newcomer.up(); }));
  newcomer.arrive(3);
  EXPECT_TRUE(run_.run_until([&] { return newcomer.took_off().size() == 3; }));
}

TEST_F(GenerationTest, of_groups_is_handed_in_too) {
  const LimitConfig limit{
      .kind = SlidingWindowConfig{.max = 5, .interval = 10s}, .name = "limit", .per = LimitConfig::Per::group};
  config_.port = server_.port();
  for (auto& each : three_) each = std::make_unique<Desk>(run_, resolver_, config_, std::vector{limit});
  ASSERT_TRUE(run_.run_until([&] { return three_[0]->up() && three_[1]->up() && three_[2]->up(); }));
  constexpr int kGroups = 120;
  for (int i = 0; i < kGroups; ++i) three_[0]->arrive(4, "group " + std::to_string(i));
  ASSERT_TRUE(run_.run_until([&] { return three_[0]->took_off().size() == 4 * kGroups; }));
  three_[1]->arrive(1, "group 0");
  ASSERT_TRUE(run_.run_until([&] { return three_[1]->took_off().size() == 1; }));
  server_.run({"FLUSHALL"});
  three_[0]->arrive(1, "group 1");
  ASSERT_TRUE(run_.run_until([&] { return three_[0]->took_off().size() == 4 * kGroups + 1; }));
  for (int i = 0; i < kGroups; ++i) three_[2]->arrive(4, "group " + std::to_string(i));
  run_.run_for(300'000);
  EXPECT_LE(three_[2]->took_off().size(), kGroups - 2u);
  EXPECT_GE(three_[2]->took_off().size(), kGroups - 2u);
}

}  // namespace
}  // namespace penstock::redis
