// SPDX-License-Identifier: Apache-2.0
// The shared semaphores of one process where nothing but permits is needed: what lands starts the next flight without a
// call, as long as the level allows it.
#include "redis/in_time.h"
#include "redis/semaphores_fixture.h"

namespace penstock::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class OnlyPermits : public SemaphoresTest {
 protected:
  OnlyPermits() { semaphores_.leases().change({limits_[0]}); }

  /// One of four flies and another waits; so many processes share.
  void one_flies_and_others_wait(std::int64_t held = 1, std::int64_t sharers = 0) {
    ask("", {held, 0, sharers, 0}, static_cast<std::size_t>(held), kOfUpstream, 5);
  }
  std::optional<std::size_t> start(std::size_t wanted) {
    const auto found = semaphores_.take_at_hand("", wanted);
    return found ? std::optional(found->count) : std::nullopt;
  }
};

TEST_F(OnlyPermits, start_by_a_permit_that_lands_without_a_call) {
  one_flies_and_others_wait();
  EXPECT_TRUE(semaphores_.ended(""));
  EXPECT_EQ(start(5), 1u);
  EXPECT_EQ(start(4), 0u) << "it stands in line for the rest";
  run_.run_for(0);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(OnlyPermits, ask_where_the_lane_stands_in_no_line) {
  ask("", {1, 0, 0, 0}, 1);
  EXPECT_EQ(start(1), std::nullopt);
  semaphores_.ended("");
  EXPECT_EQ(start(2), std::nullopt) << "one is not enough";
  EXPECT_EQ(start(1), 1u);
}

TEST_F(OnlyPermits, return_what_nobody_takes_in_the_same_turn) {
  ask("", {1, 0, 0, 0}, 1);
  EXPECT_TRUE(semaphores_.ended(""));
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 1:0:0:0:0:0:0"));
}

TEST_F(OnlyPermits, return_what_lands_above_the_level_while_others_wait) {
  one_flies_and_others_wait(4, 2);
  EXPECT_FALSE(semaphores_.ended(""));
  EXPECT_FALSE(semaphores_.ended(""));
  EXPECT_TRUE(semaphores_.ended("")) << "two of four are its own";
  EXPECT_EQ(start(5), 1u);
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 2:2:0:4:0:0:0"));
}

TEST_F(OnlyPermits, have_one_above_the_level_for_a_while_where_it_is_no_whole_number) {
  const auto since = now();
  one_flies_and_others_wait(2, 3);
  const bool stays = semaphores_.ended("");
  EXPECT_TRUE(stays || now() - since >= flow::kHorizon);
  EXPECT_EQ(start(5).value_or(0), stays ? 1u : 0u);
  run_.run_for(flow::kHorizon);
  EXPECT_FALSE(semaphores_.ended(""));
}

TEST_F(OnlyPermits, hear_by_a_message_that_others_wait_now) {
  one_flies_and_others_wait(4);
  EXPECT_TRUE(semaphores_.ended(""));
  EXPECT_EQ(start(5), 1u);
  semaphores_.leases().message({kOfUpstream, ""}, "share", 4);
  EXPECT_FALSE(semaphores_.ended(""));
}

TEST_F(OnlyPermits, fetch_what_is_kept_by_a_renewal_and_start_by_it) {
  one_flies_and_others_wait();
  on_call_ = [this] { EXPECT_EQ(start(5), 1u); };
  keep_renewing(2);
  semaphores_.leases().message({kOfUpstream, ""}, "take", 0);
  run_.run_for(0);
  EXPECT_THAT(called_, ElementsAre("upstream "));
  EXPECT_THAT(told_, ElementsAre("0 0:1:0:5:0:0:0"));
}

TEST_F(OnlyPermits, say_for_how_many_they_wait_when_redis_knows_of_none) {
  ask("", {0, 0, 0, 0}, 0, kOfUpstream, 1);
  on_call_ = [this] { EXPECT_EQ(start(9), 1u) << "eight have come meanwhile"; };
  semaphores_.leases().renewed({kOfUpstream, ""}, now(), {.granted = 1});
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 0:1:0:8:0:0:0"));
}

TEST_F(OnlyPermits, say_for_how_many_they_wait_when_it_has_doubled) {
  one_flies_and_others_wait();  // five
  EXPECT_EQ(start(9), 0u);
  run_.run_for(0);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(start(10), 0u);
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 0:1:0:10:0:0:0"));
}

TEST_F(OnlyPermits, look_again_when_they_were_told_to_and_not_if_that_was_taken_back) {
  LimitConfig lasting = limits_[0];
  std::get<SemaphoreConfig>(lasting.kind).lease = 60s;
  semaphores_.leases().change({lasting});
  run_.run_for(0);
  one_flies_and_others_wait();
  told_.clear();
  const auto since = now();
  semaphores_.leases().message({kOfUpstream, ""}, "look", 51'000);
  ASSERT_TRUE(run_.run_until([&] { return !told_.empty(); }));
  EXPECT_GE(now() - since, 51'000);
  EXPECT_TRUE(in_time(56'000, since, now()));
  semaphores_.leases().message({kOfUpstream, ""}, "look", 51'000);
  semaphores_.leases().message({kOfUpstream, ""}, "look", 0);
  run_.run_for(80'000);
  EXPECT_THAT(told_, SizeIs(1));
}

TEST_F(OnlyPermits, start_nobody_by_themselves_while_no_messages_come) {
  one_flies_and_others_wait(2);
  semaphores_.leases().set_subscribed(false);
  EXPECT_FALSE(semaphores_.ended(""));
  EXPECT_EQ(start(5), std::nullopt);
}

TEST_F(OnlyPermits, ask_for_all_when_messages_come_again) {
  one_flies_and_others_wait();
  semaphores_.leases().set_subscribed(false);
  run_.run_for(0);
  EXPECT_THAT(told_, IsEmpty());
  semaphores_.leases().set_subscribed(true);
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 0:1:0:5:0:0:0"));
}

// Until that is known no permit starts a flight, and none that is spare goes back.
TEST_F(OnlyPermits, ask_for_missed_pauses_though_an_ask_goes_out_in_the_same_turn) {
  semaphores_.leases().set_subscribed(false);
  semaphores_.leases().set_subscribed(true);
  EXPECT_EQ(start(1), std::nullopt);
  ask("", {1, 0, 0, 0}, 1);
  keep_renewing(1);
  run_.run_for(0);
  EXPECT_THAT(told_, SizeIs(1));
  told_.clear();
  EXPECT_TRUE(semaphores_.ended(""));
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 1:0:0:0:0:0:0")) << "what no lane takes is given back at once";
}

TEST_F(OnlyPermits, cost_no_call_for_groups_that_ask_in_the_turn_in_which_redis_is_back) {
  semaphores_.leases().change({limits_[kOfGroup]});
  for (const auto* group : {"a", "b", "c"}) ask(flow::LaneKey(group), {1, 0, 0, 0}, 1);
  run_.run_for(0);
  told_.clear();
  semaphores_.leases().redis_gone();
  semaphores_.leases().redis_back();
  for (const auto* group : {"a", "b", "c"}) ask(flow::LaneKey(group), {1, 0, 0, 0}, 0);
  run_.run_for(0);
  EXPECT_THAT(told_, IsEmpty()) << "each ask has told all";
}

TEST_F(OnlyPermits, start_nobody_by_a_permit_whose_lease_may_be_over) {
  one_flies_and_others_wait(2);
  ASSERT_TRUE(run_.run_until([&] { return !cuts_.empty(); }));
  EXPECT_FALSE(semaphores_.ended(""));
  EXPECT_EQ(start(5), std::nullopt);
}

TEST_F(OnlyPermits, are_all_that_there_is_while_redis_is_gone) {
  const auto since = now();
  semaphores_.leases().set_allowance([](LimitIndex) { return 1; });
  one_flies_and_others_wait(3, 2);
  semaphores_.leases().redis_gone();
  EXPECT_TRUE(semaphores_.ended("")) << "whoever else waits";
  EXPECT_EQ(semaphores_.at_hand_alone("", 5).count, now() - since < kLease / 2 ? 1u : 0u);
  run_.run_for(0);
  EXPECT_THAT(told_, IsEmpty());
  ASSERT_TRUE(run_.run_until([&] { return !cuts_.empty(); }));
  EXPECT_THAT(cuts_, ElementsAre("1")) << "one is left of the two that fly";
  semaphores_.ended("");
  EXPECT_EQ(semaphores_.at_hand_alone("", 5).count, 0u);
  EXPECT_TRUE(semaphores_.ended(""));
  EXPECT_EQ(semaphores_.at_hand_alone("", 5).count, 1u);
  semaphores_.use_alone("", 1, kOfUpstream, 4);
  const auto back = now();
  semaphores_.leases().redis_back();
  run_.run_for(0);
  ASSERT_THAT(told_, SizeIs(1));
  const std::string words = told_[0];
  EXPECT_TRUE(words.starts_with("0 2:1:0:4:0:1:")) << words << ": one of the three is left, and flies";
  const auto away = std::stoll(words.substr(words.rfind(':') + 1));
  EXPECT_GE(away, back - now() + kLease / 2);
  EXPECT_LE(away, now() - since);
}

}  // namespace
}  // namespace penstock::redis
