// SPDX-License-Identifier: Apache-2.0
// Several lanes of one upstream: first come first served within each, slots in turn among them.
#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

TEST(Lanes, share_the_slots_in_turn) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive(1, "a");
  for (const RequestId id : {10, 11, 12}) yard.arrive(id, "a");
  for (const RequestId id : {20, 21, 22}) yard.arrive(id, "b");
  for (const RequestId id : {30, 31}) yard.arrive(id, "c");
  Ids order{1};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const RequestId id : yard.land(order[i])) order.push_back(id);
  }
  EXPECT_THAT(order, ElementsAre(1, 10, 20, 30, 11, 21, 31, 12, 22));
}

TEST(Lanes, a_busy_one_does_not_starve_a_quiet_one) {
  SchedulerFixture yard({.max_concurrent = 2});
  yard.arrive_all({1, 2, 3, 4, 5, 6, 7, 8, 9}, "busy");
  yard.arrive(100, "quiet");
  EXPECT_THAT(yard.land(1), ElementsAre(3));
  EXPECT_THAT(yard.land(2), ElementsAre(100));
  EXPECT_THAT(yard.land(3), ElementsAre(4));
}

TEST(Lanes, never_fly_more_than_max_concurrent_together) {
  SchedulerFixture yard({.max_concurrent = 2});
  EXPECT_THAT(yard.arrive(1, "a"), ElementsAre(1));
  EXPECT_THAT(yard.arrive(2, "b"), ElementsAre(2));
  EXPECT_THAT(yard.arrive(3, "c"), IsEmpty());
  EXPECT_THAT(yard.arrive(4), IsEmpty());
  EXPECT_EQ(yard.upstream.in_flight(), 2u);
}

TEST(Lanes, several_free_slots_are_divided_among_those_that_want_them) {
  SchedulerFixture yard({.max_concurrent = 4}, limits(FixedWindow(4, kSecond)));
  yard.arrive_all({1, 2, 3, 4});
  for (const RequestId id : {1, 2, 3, 4}) yard.land(id);
  for (const RequestId id : {10, 11, 12, 13, 14}) yard.arrive(id, "a");
  for (const RequestId id : {20, 21, 22, 23, 24}) yard.arrive(id, "b");
  yard.advance_to(yard.now + kSecond - kHorizon);
  EXPECT_EQ(yard.upstream.slots_held(), 4u);
  EXPECT_THAT(yard.advance_to(yard.now + kHorizon), testing::UnorderedElementsAre(10, 11, 20, 21));
}

TEST(Lanes, told_to_wait_by_a_limit_take_its_departures_in_turn) {
  SchedulerFixture yard({.max_concurrent = 8}, limits(Spacing(kSecond)));
  yard.arrive(1, "a");
  std::map<RequestId, std::string> lane_of;
  for (RequestId id = 10; id < 19; ++id) {
    lane_of[id] = std::string(1, static_cast<char>('a' + id % 3));
    yard.arrive(id, lane_of[id]);
  }
  std::vector<std::string> order;
  for (const Time end = yard.now + 6 * kSecond; yard.now < end;) {
    for (const RequestId id : yard.advance_to(*yard.upstream.wake_at())) order.push_back(lane_of[id]);
  }
  ASSERT_EQ(order.size(), 6u);
  EXPECT_THAT(std::vector(order.begin(), order.begin() + 3), testing::UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(std::vector(order.begin() + 3, order.end()), testing::ElementsAreArray(order.begin(), order.begin() + 3));
}

TEST(Lanes, a_newcomers_lane_does_not_overtake_those_told_to_wait) {
  SchedulerFixture yard({.max_concurrent = 8}, limits(Spacing(kSecond)));
  const Time start = yard.now;
  yard.arrive(1, "a");
  yard.arrive(2, "a");
  yard.advance_to(start + kSecond - kHorizon);  // 2 is booked now
  yard.now += kHorizon / 2;
  yard.arrive(3, "b");
  EXPECT_THAT(yard.advance_to(start + kSecond), ElementsAre(2));
}

TEST(Lanes, a_departure_given_back_by_one_is_anothers_sooner_than_it_was_told) {
  SchedulerFixture yard({.max_concurrent = 8, .max_wait = 100 * kSecond}, limits(FixedWindow(1, 10 * kSecond)));
  const Time edge = yard.now + 10 * kSecond;
  yard.arrive(1, "a");
  yard.advance_to(edge - 40 * kMs);
  yard.arrive(2, "a");  // booked at the edge
  yard.arrive(3, "b");  // told to wait for the one after it
  yard.cancel(2);
  EXPECT_THAT(yard.advance_to(edge), ElementsAre(3));
}

TEST(Lanes, come_and_go_with_their_requests) {
  SchedulerFixture yard({.max_concurrent = 1});
  for (RequestId id = 1; id < 1000; ++id) {
    yard.arrive(id, "group " + std::to_string(id));
    yard.land(id);
  }
  EXPECT_TRUE(idle(yard.upstream));
  yard.arrive(1000, "a");
  yard.arrive(1001, "b");
  yard.cancel(1001);
  EXPECT_THAT(yard.land(1000), IsEmpty());
  EXPECT_THAT(yard.arrive(1002, "b"), ElementsAre(1002));
}

TEST(Lanes, one_whose_requests_all_fly_still_takes_one_of_them_back) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive(1, "a");
  EXPECT_THAT(yard.requeue(1), ElementsAre(1));
  EXPECT_THAT(yard.land(1), IsEmpty());
  EXPECT_TRUE(idle(yard.upstream));
}

// ---- a full queue ---------------------------------------------------------------------------------------------------

TEST(FullQueue, makes_room_for_a_quiet_group_by_the_newest_of_the_longest_lane) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 4});
  yard.arrive_all({1, 2, 3, 4}, "busy");
  yard.arrive(5, "other");
  yard.now += kSecond;
  yard.arrive(6, "quiet");
  EXPECT_THAT(yard.refused, ElementsAre(4));
  EXPECT_EQ(yard.refusals.at(4).why, Refused::queue_full);
  EXPECT_EQ(yard.refusals.at(4).waited, kSecond);
  EXPECT_EQ(yard.refusals.at(4).limited_by, kSlots);
  EXPECT_EQ(yard.upstream.pending(), 4u);
  EXPECT_THAT(yard.land(1), ElementsAre(2));
  EXPECT_THAT(yard.land(2), ElementsAre(5));
  EXPECT_THAT(yard.land(5), ElementsAre(6)) << "in turn";
}

TEST(FullQueue, refuses_a_newcomer_whose_lane_would_be_as_long_as_any_other) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 4});
  yard.arrive_all({1, 2, 3}, "a");
  yard.arrive_all({4, 5}, "b");
  for (const auto& [id, group] : {std::pair(6, "a"), std::pair(7, "b")}) {
    yard.arrive(id, group);
    EXPECT_EQ(yard.refusals.at(id).why, Refused::queue_full);
    EXPECT_EQ(yard.refusals.at(id).waited, 0);
  }
  yard.arrive(8, "c");
  EXPECT_THAT(yard.refused, ElementsAre(6, 7, 5)) << "of two of the same length, the one that became so last";
  yard.arrive(9, "b");
  EXPECT_THAT(yard.refused, ElementsAre(6, 7, 5, 9)) << "2 and 1: nobody would gain by it";
}

TEST(FullQueue, of_one_lane_refuses_newcomers) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 2});
  yard.arrive_all({1, 2, 3, 4});
  EXPECT_THAT(yard.refused, ElementsAre(4));
}

TEST(FullQueue, loses_nobody_for_a_newcomer_that_cannot_wait_anyhow) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 2});
  yard.arrive_all({1, 2, 3}, "busy");
  yard.arrive(4, "quiet", 0);
  EXPECT_THAT(yard.refused, ElementsAre(4));
  EXPECT_EQ(yard.refusals.at(4).why, Refused::wait_over);
}

TEST(FullQueue, takes_back_what_was_booked_for_the_one_that_makes_room) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 8, .max_pending = 2}, limiter);
  yard.arrive_all({1, 2}, "busy");
  yard.answer({yard.now + 5 * kMs}, {}, "busy");
  yard.answer({yard.now + 6 * kMs}, {}, "busy");
  yard.arrive(3, "quiet");
  EXPECT_THAT(yard.refused, ElementsAre(2));
  EXPECT_THAT(limiter.given_back, ElementsAre(yard.now + 6 * kMs));
}

// An answer of a shared limiter takes its time: who was let in to hear it, and must wait, gets a place likewise.
TEST(FullQueue, makes_room_for_one_that_has_heard_the_answer) {
  SlowLimiter limiter;
  limiter.its_patience = 50 * kMs;
  SchedulerFixture yard({.max_concurrent = 8, .max_pending = 3}, limiter);
  yard.arrive_all({1, 2, 3}, "busy");
  yard.answer(turn(Booking::Scope::group, yard.now + kSecond), "busy");
  yard.arrive(4, "quiet");
  EXPECT_THAT(yard.refused, IsEmpty());
  yard.answer(turn(Booking::Scope::group, yard.now + kSecond), "quiet");
  EXPECT_THAT(yard.refused, ElementsAre(3));
  EXPECT_EQ(yard.upstream.pending(), 3u);
}

TEST(FullQueue, takes_a_newcomer_in_the_place_of_one_that_its_owner_names) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 2});
  yard.arrive_all({1, 2, 3});
  yard.now += kSecond;
  yard.arrive({.id = 4, .max_wait = 0, .in_place_of = yard.ticket(2)});
  EXPECT_EQ(yard.refusals.at(4).why, Refused::wait_over) << "it could not wait anyhow";
  yard.arrive({.id = 5, .in_place_of = yard.ticket(2)});
  EXPECT_THAT(yard.refused, ElementsAre(4, 2));
  EXPECT_EQ(yard.refusals.at(2).why, Refused::queue_full);
  EXPECT_EQ(yard.refusals.at(2).waited, kSecond);
  yard.arrive({.id = 6, .in_place_of = yard.ticket(1)});
  EXPECT_THAT(yard.refused, ElementsAre(4, 2, 6)) << "one in flight has no place to give";
  EXPECT_THAT(yard.land(1), ElementsAre(3));
}

TEST(FullQueue, takes_a_newcomer_in_the_place_of_the_last_of_its_own_lane) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 1});
  yard.arrive(1, "other");
  yard.arrive(2, "lane");
  yard.arrive({.id = 3, .group = "lane", .in_place_of = yard.ticket(2)});
  EXPECT_THAT(yard.refused, ElementsAre(2));
  yard.arrive(4, "more");  // its lane would take the memory of one that was deleted
  EXPECT_THAT(yard.land(1), ElementsAre(3));
  EXPECT_THAT(yard.land(3), IsEmpty());
}

TEST(FullQueue, of_no_places_has_none_to_give) {
  SlowLimiter limiter;
  limiter.its_patience = 50 * kMs;
  SchedulerFixture yard({.max_concurrent = 2, .max_pending = 0}, limiter);
  yard.arrive_all({1, 2});  // let in to hear the answer
  yard.arrive({.id = 3, .in_place_of = yard.ticket(2)});
  EXPECT_THAT(yard.refused, ElementsAre(3));
}

// One that was let in to hear the answer holds no place either, and a newcomer that is let in likewise needs none.
TEST(FullQueue, of_those_that_wait_to_hear_the_answer_loses_nobody_before_it) {
  SlowLimiter limiter;
  limiter.its_patience = 50 * kMs;
  SchedulerFixture yard({.max_concurrent = 8, .max_pending = 1}, limiter);
  yard.arrive_all({1, 2});
  yard.arrive({.id = 3, .in_place_of = yard.ticket(2)});
  yard.arrive({.id = 4, .in_place_of = yard.ticket(1)});
  EXPECT_THAT(yard.refused, IsEmpty());
  yard.answer(turn(Booking::Scope::group, yard.now + kSecond));
  EXPECT_EQ(yard.upstream.pending(), 1u);
}

// With 100 000 lanes in a full queue each newcomer finds the longest at once: it is not looked for.
TEST(FullQueue, of_many_lanes_finds_the_longest_without_looking) {
  constexpr RequestId kLanes = 100'000;
  const auto fill = [](RequestId lanes) {
    auto yard = std::make_unique<SchedulerFixture>(Settings{.max_concurrent = 1, .max_pending = lanes + 20'000});
    for (RequestId id = 0; id < 20'001; ++id) yard->arrive(id, "busy");
    for (RequestId id = 0; id < lanes; ++id) yard->arrive(kLanes + id, std::to_string(id));
    return yard;
  };
  const auto time_of = [&](RequestId lanes) {
    auto yard = fill(lanes);
    const auto begun = std::chrono::steady_clock::now();
    for (RequestId id = 0; id < 10'000; ++id) yard->arrive(10 * kLanes + id, "new" + std::to_string(id));
    const auto took = std::chrono::steady_clock::now() - begun;
    EXPECT_EQ(yard->refused.size(), 10'000u);
    EXPECT_EQ(yard->refused.front(), 20'000u);
    EXPECT_EQ(yard->refused.back(), 10'001u);
    return took;
  };
  const auto few = time_of(10), many = time_of(kLanes);
  EXPECT_LT(many, 30 * few + std::chrono::seconds(1)) << "10 000 looks at each of them would take a minute";
}

}  // namespace
}  // namespace penstock::flow
