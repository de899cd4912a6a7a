// SPDX-License-Identifier: Apache-2.0
// A Redis that loses its memory: what the processes remember is handed in before any process goes on. That nothing over
// the limits leaves by that is tried with daemons, in tests/system, and for many seeds in tests/lua.
#include <gtest/gtest.h>

#include "redis/in_time.h"
#include "redis/limiter_fixture.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

class GenerationTest : public SharedLimiterTest {
 protected:
  /// Each knows of the others.
  void three_at_work(const LimitConfig& limit) {
    for (auto& each : three_) each = desk({limit});
    for (auto& each : three_) each->work_without_end(50);
    ASSERT_TRUE(run_.run_until([&] {
      return std::ranges::all_of(three_, [](const auto& each) { return each->limiter().processes() == 3; });
    }));
    run_.run_for(kSecond / 2);
  }
  /// A process counts the others once a second, with an ask. One which has not counted another yet opens a generation
  /// without it: what is tried here is what those hand in that are known.
  void learn_that_there_are_two() {
    for (int i = 0; three_[0]->limiter().processes() < 2; ++i) {
      ASSERT_LT(i, 100);
      three_[0]->arrive(1, flow::LaneKey("other group " + std::to_string(i)));
      run_.run_for(50'000);
    }
  }
  bool nobody_degraded() const { return !three_[0]->degraded() && !three_[1]->degraded() && !three_[2]->degraded(); }

  std::unique_ptr<LimiterFixture> three_[3];
};

TEST_F(GenerationTest, opens_as_soon_as_all_have_handed_in) {
  three_at_work({.kind = PacerConfig{.qps = 400}, .name = "limit"});
  server_.run({"FLUSHALL"});
  const auto since = run_.loop.now();
  ASSERT_TRUE(run_.run_until([&] { return !nobody_degraded(); }));
  ASSERT_TRUE(run_.run_until([&] { return nobody_degraded(); }));
  EXPECT_TRUE(in_time(300'000, since, run_.loop.now())) << "and not because a second is over";
}

TEST_F(GenerationTest, opens_after_a_second_where_one_has_died) {
  three_at_work({.kind = PacerConfig{.qps = 400}, .name = "limit"});
  three_[2].reset();
  const auto since = run_.loop.now();
  server_.run({"FLUSHALL"});
  ASSERT_TRUE(run_.run_until([&] { return three_[0]->degraded() && three_[1]->degraded(); }));
  ASSERT_TRUE(run_.run_until([&] { return !three_[0]->degraded() && !three_[1]->degraded(); }));
  EXPECT_GE(run_.loop.now() - since, kSecond);
  EXPECT_TRUE(in_time(kSecond + kSecond / 2, since, run_.loop.now()));
  three_[2] = make({});
}

TEST_F(GenerationTest, in_another_format_is_said_once_and_whenDown_holds_until_it_is_gone) {
  server_.run({"SET", "penstock:{github}:head", "3 of-a-later-version", "PX", "86400000"});
  const auto a = desk({{.kind = PacerConfig{.qps = 100}, .name = "limit"}});
  a->work_without_end(10);
  ASSERT_TRUE(run_.run_until([&] { return a->degraded(); }));
  const auto since = run_.loop.now();
  run_.run_for(3 * kSecond);
  EXPECT_TRUE(a->degraded());
  EXPECT_GE(static_cast<double>(a->took_off().size()) + missed_units(100, since, run_.loop.now()), 200)
      << "whenDown: share";
  EXPECT_EQ(std::ranges::count_if(a->notices(), [](auto& text) { return text.contains("format 3, not 2"); }), 1);
  EXPECT_EQ(server_.run({"GET", "penstock:{github}:head"}).text, "3 of-a-later-version");
  server_.run({"DEL", "penstock:{github}:head"});
  EXPECT_TRUE(run_.run_until([&] { return !a->degraded(); }));
}

TEST_F(GenerationTest, is_learned_by_a_newcomer_who_remembers_nothing) {
  three_at_work({.kind = PacerConfig{.qps = 400}, .name = "limit"});
  const auto arrival = desk({{.kind = PacerConfig{.qps = 400}, .name = "limit"}});
  arrival->arrive(3);
  EXPECT_TRUE(took_off(*arrival, 3));
}

TEST_F(GenerationTest, of_groups_is_handed_in_too) {
  const LimitConfig limit{
      .kind = SlidingWindowConfig{.max = 5, .interval = 10s}, .name = "limit", .per = LimitConfig::Per::group};
  for (auto& each : three_) each = desk({limit});
  constexpr int kGroups = 120;
  for (int i = 0; i < kGroups; ++i) three_[0]->arrive(4, flow::LaneKey("group " + std::to_string(i)));
  ASSERT_TRUE(run_.run_until([&] { return three_[0]->took_off().size() == 4 * kGroups; }));
  three_[1]->arrive(1, "group 0");
  ASSERT_TRUE(run_.run_until([&] { return three_[1]->took_off().size() == 1; }));
  learn_that_there_are_two();
  const std::size_t before = three_[0]->took_off().size();
  server_.run({"FLUSHALL"});
  three_[0]->arrive(1, "group 1");
  ASSERT_TRUE(run_.run_until([&] { return three_[0]->took_off().size() == before + 1; }));
  for (int i = 0; i < kGroups; ++i) three_[2]->arrive(4, flow::LaneKey("group " + std::to_string(i)));
  EXPECT_TRUE(run_.run_until([&] { return three_[2]->took_off().size() >= kGroups - 2u; }));
  run_.run_for(300'000);
  EXPECT_EQ(three_[2]->took_off().size(), kGroups - 2u);
}

}  // namespace
}  // namespace penstock::redis
