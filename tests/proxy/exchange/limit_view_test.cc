// SPDX-License-Identifier: Apache-2.0
// What people see of an upstream's limits and groups.
#include "proxy/exchange/limit_view.h"

#include <gmock/gmock.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "flow/limit_remap.h"
#include "flow/local_limiter.h"
#include "support/test_loop.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr LimitConfig::Per kOfGroup = LimitConfig::Per::group;

std::vector<std::uint64_t> units(const LimitView& view, flow::LocalLimiter& limiter) {
  std::vector<std::uint64_t> all;
  for (const auto& limit : view.limits(0, limiter.reader())) all.push_back(limit.units);
  return all;
}

TEST(LimitView, says_what_a_limit_is_and_how_much_of_it_is_used) {
  const std::vector<LimitConfig> limits{{.kind = WindowConfig{.reservoir = 5, .interval = 60s}, .name = "minute"},
                                        {.kind = PacerConfig{.qps = 4}}};
  test::TestLoop run;
  LimitView view(run.loop, limits, {});
  flow::LocalLimiter limiter(limits);
  limiter.book(20'000'000, {}, 3);
  const auto all = view.limits(20'000'000, limiter.reader());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "minute");
  EXPECT_EQ(all[0].kind, "window");
  EXPECT_TRUE(all[0].known);
  EXPECT_FALSE(all[0].shared);
  EXPECT_EQ(all[0].used, 3);
  EXPECT_EQ(all[0].of, 5);
  EXPECT_EQ(all[0].opens_in, Duration{0});
  EXPECT_EQ(all[0].resets_in, Duration{40s});
  EXPECT_EQ(all[1].name, "pacer");
  EXPECT_EQ(all[1].rate, 4);
  EXPECT_EQ(all[1].opens_in, Duration{750ms});
  EXPECT_EQ(all[1].resets_in, std::nullopt);
}

// A request takes one permit, whatever its weight.
TEST(LimitView, counts_what_departs_in_each_limit_since_it_is_there) {
  const LimitConfig window{.kind = WindowConfig{.reservoir = 5, .interval = 60s}};
  const LimitConfig semaphore{.kind = SemaphoreConfig{.capacity = 5}};
  const LimitConfig counter{.kind = CounterConfig{.max = 5, .period = 60s}};
  const std::vector<LimitConfig> before{window, semaphore}, after{counter, semaphore, window};
  test::TestLoop run;
  LimitView view(run.loop, before, {});
  flow::LocalLimiter limiter(before);
  view.departed({}, 3, 30s);
  view.departed({}, 1, 30s);
  EXPECT_THAT(units(view, limiter), ElementsAre(4, 2));
  view.change(std::make_unique<const std::vector<LimitConfig>>(after), flow::limit_remap(before, after));
  limiter.change(0, after);
  view.departed({}, 2, 30s);
  EXPECT_THAT(units(view, limiter), ElementsAre(2, 3, 6));
}

TEST(LimitView, is_needed_while_a_limit_in_shadow_mode_is_not_free_again) {
  test::TestLoop run;
  const LimitConfig tried{.kind = PacerConfig{.qps = 0.1}, .mode = LimitConfig::Mode::shadow};
  LimitView view(run.loop, {}, {tried}), without(run.loop, {}, {});
  EXPECT_TRUE(view.forgettable(run.loop.now()));
  view.departed({}, 1, 30s);
  EXPECT_FALSE(view.forgettable(run.loop.now() + 9'000'000));
  EXPECT_TRUE(view.forgettable(run.loop.now() + 20'000'000));
  without.departed({}, 1, 30s);
  EXPECT_TRUE(without.forgettable(run.loop.now()));
}

class GroupsTest : public testing::Test {
 protected:
  /// So many requests of the group wait, since the only slot is taken.
  void wait(const std::string& group, int requests) {
    for (; requests > 0; --requests) scheduler_.arrive(2'000, {.id = ++id_, .group = group}, commands_);
  }

  const std::vector<LimitConfig> limits_{
      {.kind = WindowConfig{.reservoir = 1'000, .interval = 60s}, .name = "each", .per = kOfGroup},
      {.kind = CounterConfig{.max = 1'000, .period = 60s}, .name = "all"}};
  test::TestLoop run_;
  LimitView view_{run_.loop, limits_, {}};
  flow::LocalLimiter limiter_{limits_};
  flow::Scheduler scheduler_{{.max_concurrent = 1}, limiter_};
  flow::Commands commands_;
  flow::RequestId id_ = 0;
};

TEST_F(GroupsTest, are_the_twenty_with_most_pending_and_then_those_whose_limits_are_used_most) {
  wait("first", 1);  // takes the slot
  for (int i = 1; i <= 15; ++i) wait("queue " + std::to_string(i), i);
  for (int i = 1; i <= 15; ++i) limiter_.book(2'000, flow::LaneKey("used " + std::to_string(i)), 10 * i);
  const auto groups = view_.groups(2'000, limiter_.reader(), scheduler_.gates().lanes());
  ASSERT_EQ(groups.size(), 20u);
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(groups[i].name, "queue " + std::to_string(15 - i));
    EXPECT_EQ(groups[i].pending, 15 - i);
  }
  for (std::size_t i = 15; i < 20; ++i) {
    EXPECT_EQ(groups[i].name, "used " + std::to_string(30 - i));
    EXPECT_EQ(groups[i].pending, 0u);
    ASSERT_EQ(groups[i].limits.size(), 1u);
    EXPECT_EQ(groups[i].limits[0].name, "each");
    EXPECT_EQ(groups[i].limits[0].used, 10.0 * static_cast<double>(30 - i));
  }
}

TEST_F(GroupsTest, of_queues_of_the_same_length_show_those_whose_limits_are_used_most) {
  wait("first", 1);
  for (int i = 1; i <= 30; ++i) {
    wait("group " + std::to_string(i), 2);
    limiter_.book(2'000, flow::LaneKey("group " + std::to_string(i)), i);
  }
  const auto groups = view_.groups(2'000, limiter_.reader(), scheduler_.gates().lanes());
  ASSERT_EQ(groups.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(groups[i].name, "group " + std::to_string(30 - i));
}

}  // namespace
}  // namespace penstock::proxy
