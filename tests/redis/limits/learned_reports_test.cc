// SPDX-License-Identifier: Apache-2.0
// What answers say is told at once, but not with every answer.
#include "redis/limits/learned_reports.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "support/test_loop.h"

namespace penstock::redis {
namespace {

class LearnedReportsTest : public testing::Test {
 protected:
  void add(std::int64_t departed, std::int64_t count, flow::LimitIndex limit = 0, const char* group = "",
           std::int64_t resets = 9) {
    reports_.add(group, {limit, departed, count, resets});
  }
  /// "group/limit:count" of all that was told.
  std::vector<std::string> told_;
  test::TestLoop run_;
  LearnedReports reports_{
      run_.loop, [this](std::string_view group, const ScriptArgs::Learned& learned) {
        told_.push_back(std::string(group) + "/" + std::to_string(learned.limit) + ":" + std::to_string(learned.count));
      }};
};

TEST_F(LearnedReportsTest, are_told_at_once_where_nothing_was_told_lately) {
  add(1, 5);
  EXPECT_THAT(told_, testing::ElementsAre("/0:5"));
}

TEST_F(LearnedReportsTest, that_come_soon_after_are_told_later_by_the_one_that_counts_most) {
  const auto since = run_.loop.now();
  add(1, 5);
  add(3, 6);
  add(2, 7);
  add(4, 6);
  EXPECT_EQ(told_.size(), 1u);
  ASSERT_TRUE(run_.run_until([&] { return told_.size() > 1; }));
  EXPECT_THAT(told_, testing::ElementsAre("/0:5", "/0:7"));
  EXPECT_GE(run_.loop.now() - since, LearnedReports::kGathered);
  add(4, 8);
  EXPECT_EQ(told_.size(), 2u) << "that was a moment ago";
  ASSERT_TRUE(run_.run_until([&] { return told_.size() > 2; }));
  EXPECT_EQ(told_.back(), "/0:8");
}

TEST_F(LearnedReportsTest, of_a_later_window_come_before_those_of_an_earlier_one) {
  add(1, 5);
  add(2, 9), add(3, 1, 0, "", 1'000'009), add(2, 9);
  ASSERT_TRUE(run_.run_until([&] { return told_.size() > 1; }));
  EXPECT_THAT(told_, testing::ElementsAre("/0:5", "/0:1"));
}

TEST_F(LearnedReportsTest, of_each_limit_and_group_are_told_for_themselves) {
  add(1, 1);
  add(2, 2, 0, "a"), add(2, 3, 0, "b"), add(2, 4, 1, "a"), add(3, 5, 0, "a");
  ASSERT_TRUE(run_.run_until([&] { return told_.size() > 1; }));
  EXPECT_THAT(told_, testing::ElementsAre("/0:1", "a/0:5", "a/1:4", "b/0:3"));
}

TEST_F(LearnedReportsTest, of_limits_that_changed_are_forgotten) {
  add(1, 1);
  add(2, 2);
  reports_.clear();
  add(3, 3, 1);
  ASSERT_TRUE(run_.run_until([&] { return told_.size() > 1; }));
  EXPECT_THAT(told_, testing::ElementsAre("/0:1", "/1:3"));
}

}  // namespace
}  // namespace penstock::redis
