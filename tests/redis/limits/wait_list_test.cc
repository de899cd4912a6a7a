// SPDX-License-Identifier: Apache-2.0
// What lanes were told to wait for, by itself.
#include "redis/limits/wait_list.h"

#include <gmock/gmock.h>

namespace penstock::redis {
namespace {

using testing::IsEmpty;
using testing::Pointee;
using testing::UnorderedElementsAre;

using Scope = flow::Booking::Scope;

flow::Booking turn(Scope scope, flow::Time not_before) { return {.scope = scope, .not_before = not_before}; }

class ToldTest : public testing::Test {
 protected:
  WaitList told_;
};

TEST_F(ToldTest, of_the_upstream_counts_for_every_group) {
  told_.answered("a", "1", turn(Scope::upstream, 70));
  EXPECT_EQ(told_.not_before("1"), 70);
  EXPECT_EQ(told_.not_before("2"), 70);
  EXPECT_EQ(told_.group_of("1"), nullptr) << "it waits for no limit of its own";
}

TEST_F(ToldTest, of_a_group_counts_for_it_alone) {
  told_.answered("a", "1", turn(Scope::group, 90));
  told_.answered("b", "2", turn(Scope::upstream, 70));
  EXPECT_EQ(told_.not_before("1"), 90);
  EXPECT_EQ(told_.not_before("2"), 70);
  EXPECT_THAT(told_.group_of("1"), Pointee(std::string("a")));
}

TEST_F(ToldTest, is_over_when_a_lane_of_it_is_told_of_no_turn) {
  told_.answered("a", "1", turn(Scope::group, 90));
  told_.answered("b", "2", turn(Scope::upstream, 70));
  told_.answered("a", "1", {});
  EXPECT_EQ(told_.not_before("1"), 0);
  EXPECT_TRUE(told_.empty());
}

TEST_F(ToldTest, is_given_up_once) {
  told_.answered("a", "1", turn(Scope::group, 90));
  told_.answered("a", "2", turn(Scope::upstream, 70));
  EXPECT_FALSE(told_.give_up(Scope::group, "2"));
  EXPECT_TRUE(told_.give_up(Scope::group, "1"));
  EXPECT_FALSE(told_.give_up(Scope::group, "1"));
  EXPECT_TRUE(told_.give_up(Scope::upstream, "1"));
  EXPECT_FALSE(told_.give_up(Scope::upstream, "1"));
  EXPECT_EQ(told_.not_before("1"), 70) << "the limit still allows nobody";
}

TEST_F(ToldTest, is_forgotten_with_the_names_of_the_groups) {
  told_.answered("a", "1", turn(Scope::group, 90));
  told_.answered("b", "2", turn(Scope::group, 95));
  told_.answered("c", "3", turn(Scope::upstream, 70));
  EXPECT_THAT(told_.forget(), UnorderedElementsAre("a", "b"));
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(told_.not_before("1"), 0);
  EXPECT_THAT(told_.forget(), IsEmpty());
}

}  // namespace
}  // namespace penstock::redis
