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

}  // namespace
}  // namespace penstock::redis
