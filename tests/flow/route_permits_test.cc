// SPDX-License-Identifier: Apache-2.0
// Permits that come free where there are routes: a lane that waits for such a permit learns of it, whichever lane had
// it, and whatever holds the lane that was the first to wait.
#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "flow/routes_fixture.h"

namespace penstock::flow {
namespace {

const LaneKey kA("a");
LimitConfig permits_of_all(int count) { return {.kind = SemaphoreConfig{.capacity = count}}; }
LimitConfig permits_of_group(int count) { return of_group(SemaphoreConfig{.capacity = count}); }
LimitConfig one_in_each(Time gap) {
  return of_route(PacerConfig{.qps = static_cast<double>(kSecond) / static_cast<double>(gap)});
}

TEST(RoutePermits, one_that_comes_free_is_not_kept_by_a_lane_that_others_of_its_route_hold_back) {
  Routes all({permits_of_all(2), one_in_each(100 * kMs)});
  const auto plain = all.arrive(kPlain), returns = all.arrive(kSearch);
  all.run_to(100 * kMs);
  const auto waits = all.arrive(kA);
  all.arrive(kSearchOfA);
  all.requeue(returns);  // takes its permit and the route's departure again: from now on kSearchOfA waits first
  all.arrive(kSearchOfB);
  ASSERT_EQ(all.left(), 3u);
  all.land(plain);
  EXPECT_TRUE(all.left(waits)) << "the route makes the lane that has waited longest for a permit wait on";
}

/// Its turn to ask had not come yet, as other asks are under way and few are allowed.
TEST(RoutePermits, one_that_was_offered_to_a_lane_goes_on_when_others_of_its_route_hold_it_back) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  limiter.frees_permits = true;
  SchedulerFixture yard(kRoomy, limiter);
  const Booking no_permit{.stop = Booking::Stop::permit};
  const auto arrive = [&](RequestId id, LaneKey lane) {
    yard.arrive({.id = id, .group = lane.group, .route = lane.route});
  };
  arrive(1, LaneKey("x"));
  yard.answer({yard.now}, {}, "x");
  arrive(2, kSearchOfA);
  yard.answer(no_permit, kSearchOfA);
  arrive(3, LaneKey("p"));
  yard.answer(no_permit, LaneKey("p"));
  arrive(4, LaneKey("c")), arrive(5, kSearchOfB), arrive(6, LaneKey("d"));
  yard.answer(turn(Booking::Scope::upstream, yard.now + 20 * kMs), LaneKey("c"));
  yard.advance_to(yard.now + 20 * kMs);
  yard.land(1);  // its permit is for kSearchOfA
  yard.answer(turn(Booking::Scope::route, yard.now + kSecond), kSearchOfB);
  arrive(7, kSearchOfA);
  limiter.asks.clear();
  yard.answer({yard.now}, {}, "d");
  EXPECT_THAT(limiter.asks, ElementsAre(SlowLimiter::Asked{"c", 1}, SlowLimiter::Asked{"p", 1}));
}

TEST(RoutePermits, one_of_a_group_that_is_given_back_is_for_its_lane_of_another_route) {
  Routes all({permits_of_group(1), one_in_each(40 * kMs)});
  all.land(all.arrive(kSearchOfA));
  const auto booked = all.arrive(kSearchOfA);
  all.limiter.pause(all.yard.now, "b", all.yard.now + kSecond);
  all.arrive(LaneKey("b"));  // waits on its own, too, and was told to before
  const auto waits = all.arrive(kA);
  ASSERT_EQ(all.left(), 1u);
  all.cancel(booked);
  EXPECT_TRUE(all.left(waits));
}

TEST(RoutePermits, those_of_a_group_go_round_among_its_lanes) {
  Routes all({permits_of_group(1), {.kind = kWide}, of_route(kWide)});
  auto last = all.arrive(kA);
  std::vector<RequestId> ids = all.arrive(3, kA), of_route = all.arrive(3, kSearchOfA);
  for (int i = 0; i < 4; ++i) {
    all.land(last);
    last = all.order.back();
  }
  EXPECT_EQ(all.left(), 5u);
  EXPECT_TRUE(all.left(ids[1]) && all.left(of_route[1])) << "each lane had two of four";
}

/// A tunnel of kSearchOfA that rested resumes with a permit that a request of the other lane had.
void expect_tunnel_resumes_after(LaneKey other, LimitConfig permits) {
  Routes all({std::move(permits)});
  SchedulerFixture& yard = all.yard;
  ASSERT_THAT(yard.arrive({.id = 1, .group = "a", .route = "search", .tunnel = true}), ElementsAre(1));
  yard.park(1);
  ASSERT_THAT(yard.arrive({.id = 2, .group = other.group, .route = other.route}), ElementsAre(2));
  yard.resume(1);
  ASSERT_THAT(yard.resumed, IsEmpty());
  yard.land(2);
  EXPECT_THAT(yard.resumed, ElementsAre(1));
}

TEST(RoutePermits, one_that_a_lane_had_is_for_a_tunnel_of_another_lane_of_the_route) {
  expect_tunnel_resumes_after(kSearchOfB, of_route(SemaphoreConfig{.capacity = 1}));
}

TEST(RoutePermits, one_that_a_lane_had_is_for_a_tunnel_of_another_lane_of_the_group) {
  expect_tunnel_resumes_after(kA, permits_of_group(1));
}

}  // namespace
}  // namespace penstock::flow
