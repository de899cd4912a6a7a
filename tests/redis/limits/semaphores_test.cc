// SPDX-License-Identifier: Apache-2.0
// The shared semaphores of one process, with the test in Redis' place: what is told and when, who is asked to come, and
// which flights are cut.
#include "redis/in_time.h"
#include "redis/semaphores_fixture.h"

namespace penstock::redis {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(SemaphoresTest, are_those_that_are_shared) {
  EXPECT_TRUE(semaphores_.any());
  auto alone = limits_;
  for (auto& limit : alone) limit.shared = false;
  const Semaphores none(
      run_.loop, alone, *this, [](std::string_view group) { return std::string(group); },
      [](const auto&, const auto&) {});
  EXPECT_FALSE(none.any());
}

TEST_F(SemaphoresTest, tell_in_an_ask_what_is_held_of_each) {
  ask("reds", {3, 0, 0, 0, 2, 0, 0, 0}, 2);
  std::vector<std::string> told;
  const auto claims = semaphores_.claim("reds", told);
  EXPECT_THAT(told, ElementsAre("0:3:1:0:0:0:0", "0:2:0:0:0:0:0"));
  EXPECT_THAT(claims, ElementsAre(1, 0));
  told.clear();
  EXPECT_THAT(semaphores_.claim("blues", told), ElementsAre(0, 0)) << "what one has claimed another does not get";
  EXPECT_THAT(told, ElementsAre("0:3:0:0:0:0:0", "0:0:0:0:0:0:0"));
}

TEST_F(SemaphoresTest, take_back_what_an_ask_that_failed_had_claimed) {
  ask("", {2, 0, 0, 0}, 0);
  std::vector<std::string> told;
  const auto claims = semaphores_.claim("", told);
  semaphores_.failed("", claims);
  run_.run_for(0);
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.back(), "0 2:0:0:0:0:0:0") << "and give it back";
}

TEST_F(SemaphoresTest, return_a_permit_in_the_turn_in_which_its_flight_ended_once_for_all) {
  ask("", {3, 0, 0, 0}, 3);
  semaphores_.ended("");
  semaphores_.ended("");
  EXPECT_THAT(told_, IsEmpty());
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 2:1:0:0:0:0:0"));
}

TEST_F(SemaphoresTest, call_those_who_wait_when_permits_are_kept_for_them) {
  ask("reds", {0, 0, 0, 0, 0, 0, 0, 0}, 0, kOfGroup, 2);
  on_call_ = [&] { ask("reds", {1, 0, 0, 0, 1, 0, 0, 0}, 1, kOfGroup, 1); };
  semaphores_.leases().message({kOfGroup, "reds"}, "take", 0);
  run_.run_for(0);
  EXPECT_THAT(called_, ElementsAre("group reds"));
  EXPECT_THAT(told_, IsEmpty()) << "its ask said all";
}

TEST_F(SemaphoresTest, leave_the_line_when_they_are_called_and_nobody_can_come) {
  ask("reds", {0, 0, 0, 0, 0, 0, 0, 0}, 0, kOfGroup, 2);
  semaphores_.leases().message({kOfGroup, "reds"}, "take", 0);
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("2reds 0:0:0:0:0:0:0")) << "whoever had no slot for it asks anew when it has one";
}

TEST_F(SemaphoresTest, call_after_the_answer_where_a_message_overtakes_it) {
  std::vector<std::string> told;
  const auto claims = semaphores_.claim("", told);  // granted one, and then another was kept
  semaphores_.leases().message({kOfUpstream, ""}, "take", 0);
  run_.run_for(0);
  EXPECT_THAT(called_, IsEmpty());
  semaphores_.answered("", claims, {1, 0, 0, 0}, now(), 1, kOfUpstream, 1);
  run_.run_for(0);
  EXPECT_THAT(called_, ElementsAre("upstream "));
}

TEST_F(SemaphoresTest, call_those_who_wait_when_an_answer_says_that_some_are_kept) {
  ask("", {0, 0, 0, -1}, 0, kOfUpstream, 1);
  run_.run_for(0);
  EXPECT_THAT(called_, ElementsAre("upstream "));
}

TEST_F(SemaphoresTest, call_those_who_wait_when_an_answer_tells_of_a_permit_that_was_handed_over) {
  ask("reds", {0, 0, 0, 0, 0, 0, 0, 0}, 0, kOfUpstream, 1);
  ask("blues", {1, 0, 0, 0, 0, 0, 0, 0}, 0, kOfGroup, 1);
  on_renewal_ = [this](const auto&) { EXPECT_THAT(called_, ElementsAre("upstream ")) << "before it goes back"; };
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 1:0:0:0:0:0:0"));
}

TEST_F(SemaphoresTest, tell_once_more_who_waits_when_they_told_besides_while_it_asked) {
  ask("", {1, 0, 0, 0}, 1);
  std::vector<std::string> told;
  const auto claims = semaphores_.claim("", told);
  semaphores_.ended("");
  run_.run_for(0);
  ASSERT_THAT(told_, ElementsAre("0 1:0:0:0:0:0:0")) << "no lane waits as yet: Redis takes it out of the line again";
  semaphores_.answered("", claims, {1, 0, 0, 0}, now(), 0, kOfUpstream, 1);
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 1:0:0:0:0:0:0", "0 1:0:0:1:0:0:0"));
  ask("", {1, 0, 0, 0}, 0, kOfUpstream, 2);
  run_.run_for(0);
  EXPECT_THAT(told_, SizeIs(2)) << "but not where its ask was the last word";
}

TEST_F(SemaphoresTest, give_back_what_is_handed_over_and_nobody_takes) {
  ask("", {0, 0, 0, 0}, 0, kOfUpstream, 1);
  semaphores_.leases().renewed({kOfUpstream, ""}, now(), {.granted = 1});
  run_.run_for(0);
  EXPECT_THAT(called_, ElementsAre("upstream "));
  EXPECT_EQ(told_.back(), "0 1:0:0:0:0:0:0") << "whoever had no slot for it asks anew when it has one";
}

TEST_F(SemaphoresTest, say_that_nobody_waits_any_more) {
  ask("", {0, 0, 0, 0}, 0, kOfUpstream, 2);
  semaphores_.gave_up("");
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 0:0:0:0:0:0:0"));
  semaphores_.gave_up("");
  run_.run_for(0);
  EXPECT_THAT(told_, SizeIs(1)) << "and only once";
}

TEST_F(SemaphoresTest, tell_of_the_other_lanes_that_wait) {
  ask("reds", {0, 0, 0, 0, 0, 0, 0, 0}, 0, kOfUpstream, 2);
  ask("blues", {0, 0, 0, 0, 0, 0, 0, 0}, 0, kOfUpstream, 3);
  std::vector<std::string> told;
  semaphores_.claim("reds", told);
  EXPECT_EQ(told[0], "0:0:0:3:0:0:0");
}

TEST_F(SemaphoresTest, are_renewed_as_long_as_a_flight_lasts) {
  keep_renewing(1);
  const auto since = now();
  ask("", {1, 0, 0, 0}, 1);
  run_.run_for(kLease + kLease / 2);
  EXPECT_THAT(cuts_, IsEmpty()) << "beyond the fence of the first";
  EXPECT_GE(static_cast<double>(told_.size()) + missed_units(6e6 / kLease, since, now()), 8);
  EXPECT_LE(told_.size(), 10u) << "a sixth of a lease apart";
  semaphores_.ended("");
  run_.run_for(0);
  const auto calls = told_.size();
  run_.run_for(kLease / 2);
  EXPECT_THAT(told_, SizeIs(calls)) << "and no longer";
}

TEST_F(SemaphoresTest, cut_the_flights_half_a_lease_after_the_last_renewal_that_was_answered) {
  const auto since = now();
  ask("", {2, 0, 0, 0}, 2);
  ASSERT_TRUE(run_.run_until([&] { return !cuts_.empty(); }));
  EXPECT_GE(now() - since, kLease / 2);
  EXPECT_TRUE(in_time(kLease / 2 + kLease / 12, since, now()));
  EXPECT_LT(now() - since, kLease) << "before any other process can have them";
  EXPECT_THAT(cuts_, ElementsAre("2"));
  EXPECT_GE(told_.size(), 2u) << "it had tried";
}

TEST_F(SemaphoresTest, leave_flying_what_whenDown_allows) {
  semaphores_.leases().set_allowance([](LimitIndex place) { return place == kOfUpstream ? 3 : 1; });
  ask("reds", {2, 0, 0, 0, 2, 0, 0, 0}, 2);
  ASSERT_TRUE(run_.run_until([&] { return !cuts_.empty(); }));
  EXPECT_THAT(cuts_, ElementsAre("reds1"));
}

TEST_F(SemaphoresTest, cut_what_redis_says_is_lost) {
  ask("reds", {3, 0, 0, 0, 3, 0, 0, 0}, 3);
  semaphores_.leases().renewed({kOfGroup, "reds"}, now(), {.granted = 3, .lost = 2});
  EXPECT_THAT(cuts_, ElementsAre("reds2"));
}

TEST_F(SemaphoresTest, that_came_to_be_without_redis_are_told_when_it_is_back) {
  semaphores_.began_alone("", 2);
  semaphores_.leases().redis_back();
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 0:2:0:0:0:0:0"));
  EXPECT_THAT(cuts_, IsEmpty());
}

TEST_F(SemaphoresTest, of_one_that_has_just_started_prolong_nobodys_lease) {
  semaphores_.leases().redis_gone();
  run_.run_for(10'000);
  semaphores_.leases().redis_back();
  std::vector<std::string> told;
  semaphores_.claim("", told);
  EXPECT_THAT(told, ElementsAre("0:0:0:0:0:0:0"));
}

TEST_F(SemaphoresTest, that_nobody_knows_of_are_nobodys_news) {
  semaphores_.leases().message({kOfGroup, "forgotten"}, "take", 0);
  semaphores_.leases().renewed({kOfGroup, "forgotten"}, now(), {.granted = 5});
  run_.run_for(0);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_THAT(called_, IsEmpty());
}

// ---- other limits ---------------------------------------------------------------------------------------------------

TEST_F(SemaphoresTest, are_the_same_under_another_place) {
  ask("", {2, 0, 0, 0}, 2);
  semaphores_.leases().change({limits_[1], limits_[2], limits_[0]});
  EXPECT_EQ(semaphores_.table().row(kOfUpstream).place, 2);
  EXPECT_EQ(semaphores_.table().row(kOfGroup).place, 1);
  EXPECT_EQ(semaphores_.table().at(2), kOfUpstream);
  EXPECT_EQ(semaphores_.table().at(0), flow::kNoLimit);
  std::vector<std::string> told;
  semaphores_.claim("reds", told);
  EXPECT_THAT(told, ElementsAre("0:0:0:0:0:0:0", "0:2:0:0:0:0:0")) << "in the new order";
  run_.run_for(0);
  EXPECT_THAT(told_, IsEmpty()) << "nothing has changed";
}

TEST_F(SemaphoresTest, tell_at_once_of_another_capacity) {
  ask("", {2, 0, 0, 0}, 2);
  auto limits = limits_;
  std::get<SemaphoreConfig>(limits[0].kind).capacity = 9;
  semaphores_.leases().change(limits);
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 0:2:0:0:0:0:0"));
}

TEST_F(SemaphoresTest, return_all_of_one_that_is_gone_and_cut_and_call_nobody) {
  ask("", {3, 0, 0, 0}, 2, kOfUpstream, 1);
  semaphores_.leases().change({limits_[1], limits_[2]});
  EXPECT_EQ(semaphores_.table().row(kOfUpstream).place, flow::kNoLimit);
  EXPECT_EQ(limit_name(semaphores_.table().row(kOfUpstream).config), "wide");
  EXPECT_TRUE(semaphores_.any());
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 3:0:0:0:0:0:0"));
  semaphores_.ended("");
  semaphores_.leases().renewed({kOfUpstream, ""}, now(), {.granted = 4, .lost = 0});
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 3:0:0:0:0:0:0", "0 4:0:0:0:0:0:0")) << "one more, that was on its way";
  EXPECT_THAT(called_, IsEmpty());
  EXPECT_THAT(cuts_, IsEmpty());
}

TEST_F(SemaphoresTest, return_what_an_ask_was_granted_for_one_that_has_gone_meanwhile) {
  std::vector<std::string> told;
  const auto claims = semaphores_.claim("", told);
  semaphores_.leases().change({});
  EXPECT_FALSE(semaphores_.any());
  semaphores_.answered("", claims, {2, 0, 0, 0}, now(), 2, kOfUpstream, 1);
  run_.run_for(0);
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.back(), "0 2:0:0:0:0:0:0");
  EXPECT_THAT(cuts_, IsEmpty());
}

TEST_F(SemaphoresTest, go_on_counting_where_one_comes_back) {
  ask("", {3, 0, 0, 0}, 3);
  semaphores_.leases().change({});
  run_.run_for(0);
  semaphores_.leases().change({limits_[0]});
  semaphores_.count_existing("", 2);
  EXPECT_EQ(semaphores_.table().row(kOfUpstream).place, 0);
  run_.run_for(0);
  EXPECT_EQ(told_.back(), "0 3:2:0:0:0:0:0");
}

TEST_F(SemaphoresTest, give_one_that_is_new_a_number_that_none_had) {
  const LimitConfig other = semaphore("other", LimitConfig::Per::upstream);
  semaphores_.leases().change({other, limits_[0]});
  EXPECT_EQ(semaphores_.table().at(0), 3);
  EXPECT_EQ(semaphores_.table().at(1), kOfUpstream);
}

TEST_F(SemaphoresTest, adopt_flights_for_one_that_is_new_alone_and_cut_none_for_which_there_is_no_room) {
  ask("", {1, 0, 0, 0}, 1);
  semaphores_.leases().change({limits_[0], semaphore("new", LimitConfig::Per::upstream)});
  semaphores_.count_existing("", 5);
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("3 0:5:0:0:0:0:0"));
  run_.run_for(1'000);
  semaphores_.leases().renewed({3, ""}, now(), {.granted = 2, .lost = 3});
  EXPECT_THAT(cuts_, IsEmpty());
  for (int i = 0; i < 3; ++i) semaphores_.ended("");
  run_.run_for(0);
  std::vector<std::string> told;
  semaphores_.tell(told);
  EXPECT_THAT(told, ElementsAre("1:0:0:0:0:0:0", "0:2:0:0:0:0:0")) << "these were the ones without";
  run_.run_for(1'000);
  semaphores_.leases().renewed({3, ""}, now(), {.granted = 2, .lost = 1});
  EXPECT_THAT(cuts_, ElementsAre("1")) << "from now on as any other";
}

TEST_F(SemaphoresTest, cut_no_adopted_flight_for_a_loss_that_an_earlier_reply_told_in_part) {
  semaphores_.leases().change({semaphore("new", LimitConfig::Per::upstream)});
  semaphores_.count_existing("", 5);
  run_.run_for(0);
  ASSERT_THAT(told_, ElementsAre("3 0:5:0:0:0:0:0"));
  const auto first = now();
  run_.run_for(1'000);
  semaphores_.adopt_unclaimed("", {}, 1);
  run_.run_for(1'000);
  std::vector<std::string> told;
  semaphores_.tell(told);
  ASSERT_THAT(told, ElementsAre("0:6:0:0:0:0:0"));
  const auto second = now();
  run_.run_for(1'000);
  semaphores_.leases().renewed({3, ""}, first, {.granted = 2, .lost = 3});
  run_.run_for(1'000);
  semaphores_.heard({2, 4, 0, 0}, second);  // the same three, and another
  run_.run_for(1'000);
  told.clear();
  semaphores_.tell(told);
  ASSERT_THAT(told, ElementsAre("0:3:0:0:0:0:0"));
  semaphores_.heard({2, 1, 0, 0}, now());
  EXPECT_THAT(cuts_, IsEmpty());
  run_.run_for(1'000);
  semaphores_.heard({2, 1, 0, 0}, now());
  EXPECT_THAT(cuts_, ElementsAre("1")) << "from now on as any other";
}

TEST_F(SemaphoresTest, start_no_flight_by_the_permit_of_an_adopted_one_before_redis_has_registered_it) {
  semaphores_.leases().change({semaphore("new", LimitConfig::Per::upstream)});
  semaphores_.count_existing("", 2);
  run_.run_for(0);
  const auto sent = now();
  run_.run_for(1'000);
  EXPECT_FALSE(semaphores_.ended("")) << "another process may have it";
  EXPECT_FALSE(semaphores_.ended(""));
  semaphores_.adopt_unclaimed("", {}, 1);
  semaphores_.leases().renewed({3, ""}, sent, {.granted = 0, .lost = 2});
  EXPECT_THAT(cuts_, IsEmpty());
}

TEST_F(SemaphoresTest, adopt_what_an_ask_was_granted_that_did_not_tell_of_them) {
  const Semaphores::Claims none;
  semaphores_.adopt_unclaimed("", none, 2);
  run_.run_for(0);
  EXPECT_THAT(told_, ElementsAre("0 0:2:0:0:0:0:0"));
}

TEST_F(SemaphoresTest, come_when_a_young_generation_opens_whatever_else_was_said_meanwhile) {
  LimitConfig lasting = limits_[0];  // renewed every ten seconds
  std::get<SemaphoreConfig>(lasting.kind).lease = 60s;
  semaphores_.leases().change({lasting, limits_[1], limits_[2]});
  run_.run_for(0);
  ask("", {0, 0, 0, 0}, 0, kOfUpstream, 1);
  const auto since = now();
  semaphores_.leases().renewed({kOfUpstream, ""}, now(), {.granted = 0, .lost = 0}, 300'000);
  semaphores_.heard({0, 0, 0, 0}, now());
  told_.clear();
  ASSERT_TRUE(run_.run_until([&] { return !told_.empty(); }));
  EXPECT_GE(now() - since, 300'000);
  EXPECT_TRUE(in_time(300'000 + kLease / 24 + 20'000, since, now())) << "it looks so often";
}

TEST_F(SemaphoresTest, hand_everything_back_before_they_go) {
  ask("reds", {2, 0, 0, 0, 1, 0, 0, 0}, 1);
  const auto since = now();
  semaphores_.leases().hand_back();
  ASSERT_THAT(told_, ElementsAre(EndsWith(":0:0:0:0:0:0"), EndsWith(":0:0:0:0:0:0")));
  for (const std::string_view semaphore : {"0 ", "2reds "}) {
    const auto& told = told_[semaphore == "0 " ? 0 : 1];
    ASSERT_THAT(told, StartsWith(semaphore));
    const auto returned = std::stoll(told.substr(semaphore.size()));
    EXPECT_GE(returned, since) << "what may be granted meanwhile is returned, too";
    EXPECT_LE(returned, now());
  }
}

}  // namespace
}  // namespace penstock::redis
