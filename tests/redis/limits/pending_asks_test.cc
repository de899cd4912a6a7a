// SPDX-License-Identifier: Apache-2.0
// PendingAsks under way: taken in any order, late after their time.
#include "redis/limits/pending_asks.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>
#include <vector>

#include "redis/in_time.h"
#include "support/test_loop.h"

namespace penstock::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

class AsksTest : public testing::Test {
 protected:
  PendingAsks::Id add(const char* group) { return pending_asks_.add(run_.loop.now(), {.group = group}); }

  test::TestLoop run_;
  std::vector<std::string> late_;
  PendingAsks pending_asks_{run_.loop, 20'000, [this](const Asking& asking) { late_.push_back(asking.group); }};
};

TEST_F(AsksTest, are_taken_in_any_order) {
  const auto a = add("a"), b = add("b"), c = add("c");
  EXPECT_EQ(pending_asks_.take(b).group, "b");
  EXPECT_EQ(pending_asks_.take(a).group, "a");
  const auto d = add("d");
  EXPECT_EQ(pending_asks_.take(d).group, "d");
  EXPECT_EQ(pending_asks_.take(c).group, "c");
  run_.run_for(30'000);
  EXPECT_THAT(late_, IsEmpty());
}

TEST_F(AsksTest, are_late_when_their_time_is_over_and_not_sooner) {
  const auto since = run_.loop.now();
  add("a");
  ASSERT_TRUE(run_.run_until([&] { return !late_.empty(); }));
  EXPECT_GE(run_.loop.now() - since, 20'000);
  EXPECT_TRUE(in_time(40'000, since, run_.loop.now()));
}

TEST_F(AsksTest, are_late_each_in_its_own_time) {
  const auto a = add("a");
  add("b");
  std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the loop stands still: however long, none is late yet
  const auto since = run_.loop.now();
  pending_asks_.take(a);
  add("c");
  ASSERT_TRUE(run_.run_until([&] { return late_.size() == 2; }));
  EXPECT_THAT(late_, ElementsAre("b", "c"));
  EXPECT_GE(run_.loop.now() - since, 20'000);
}

TEST_F(AsksTest, can_be_taken_late_and_say_so) {
  const auto a = add("a");
  ASSERT_TRUE(run_.run_until([&] { return !late_.empty(); }));
  const auto b = add("b");
  EXPECT_TRUE(pending_asks_.take(a).late);
  EXPECT_FALSE(pending_asks_.take(b).late);
  run_.run_for(30'000);
  EXPECT_THAT(late_, ElementsAre("a"));
}

/// Of every lane.
PendingAsks::PlacesOf places(std::vector<flow::LimitIndex> all) {
  return [all](flow::LaneKey) { return all; };
}

TEST_F(AsksTest, know_the_places_of_the_limits_that_they_told_whatever_has_changed) {
  const auto a = add("a");
  pending_asks_.change(places({0, 2, 3}), std::vector<flow::LimitIndex>{1, 0, flow::kNoLimit, 2});
  const auto b = add("b");
  pending_asks_.change(places({1, 2}), std::vector<flow::LimitIndex>{0, 3, 1});
  EXPECT_THAT(pending_asks_.take(a).former_places, Optional(ElementsAre(3, flow::kNoLimit, 1)));
  EXPECT_THAT(pending_asks_.take(b).former_places, Optional(ElementsAre(3, 1)));
}

TEST_F(AsksTest, of_the_groups_that_are_called_know_it) {
  const auto a = add("a"), b = add("b");
  pending_asks_.called([](flow::LaneKey lane) { return lane.group == "a"; });
  EXPECT_TRUE(pending_asks_.take(a).called);
  EXPECT_FALSE(pending_asks_.take(b).called);
}

}  // namespace
}  // namespace penstock::redis
