// SPDX-License-Identifier: Apache-2.0
// A pause of requests without credentials alone: they wait apart, nobody waits behind them, and afterwards they stand
// where they would have stood.
#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"
#include "support/scenario.h"

namespace penstock::flow {
namespace {

using scenarios::limit;

class Apartness : public testing::Test {
 protected:
  Ids anonymous(RequestId id, std::string_view group = {}, std::optional<Time> max_wait = {}) {
    return yard_->arrive({.id = id, .group = group, .max_wait = max_wait, .anonymous = true});
  }
  /// Until so long after the beginning.
  void pause(Time length, std::string_view group = {}) { limiter_.pause_anonymous(yard_->now, group, start_ + length); }
  void begin(const Settings& settings, const std::vector<LimitConfig>& limits = {}) {
    limiter_.set_limits(limits);
    yard_.emplace(settings, limiter_);
    start_ = yard_->now;
  }
  Ids advance_to(Time after_start) { return yard_->advance_to(start_ + after_start); }

  LocalLimiter limiter_;
  std::optional<SchedulerFixture> yard_;
  Time start_ = 0;
};

TEST_F(Apartness, holds_newcomers_without_credentials_until_the_end_of_the_pause_and_nobody_else) {
  begin({.max_concurrent = 4});
  pause(kSecond);
  EXPECT_THAT(anonymous(1), IsEmpty());
  EXPECT_THAT(yard_->arrive(2), ElementsAre(2));
  EXPECT_EQ(yard_->upstream.wake_at(), start_ + kSecond);
  EXPECT_EQ(yard_->upstream.limited_by(yard_->now, yard_->ticket(1)), kPause);
  EXPECT_THAT(advance_to(kSecond - 1), IsEmpty());
  EXPECT_EQ(yard_->upstream.oldest_wait(yard_->now), kSecond - 1);
  EXPECT_THAT(advance_to(kSecond), ElementsAre(1));
  EXPECT_EQ(yard_->limited.at(1), kPause);
  EXPECT_THAT(anonymous(3), ElementsAre(3)) << "it is over";
}

TEST_F(Apartness, lets_who_waits_behind_them_pass_and_puts_them_back_in_the_order_of_arrival) {
  begin({.max_concurrent = 1});
  yard_->arrive(1);
  anonymous(2);
  yard_->now += kMs;
  yard_->arrive(3);
  yard_->now += kMs;
  anonymous(4);
  yard_->now += kMs;
  yard_->arrive_all({5, 6, 7});
  pause(kSecond);
  EXPECT_THAT(yard_->land(1), ElementsAre(3));
  EXPECT_THAT(yard_->land(3), ElementsAre(5));
  yard_->now += kMs;
  EXPECT_THAT(anonymous(8), IsEmpty());
  advance_to(kSecond);
  Ids order;
  for (RequestId flying = 5; order.size() < 5; flying = order.back()) {
    for (const RequestId next : yard_->land(flying)) order.push_back(next);
  }
  EXPECT_THAT(order, ElementsAre(2, 4, 6, 7, 8));
}

TEST_F(Apartness, keeps_the_order_of_those_that_came_before_the_pause_and_after_it) {
  begin({.max_concurrent = 1});
  yard_->arrive(1);
  anonymous(2);
  yard_->now += kMs;
  pause(kSecond);
  anonymous(3);
  EXPECT_THAT(advance_to(kSecond), IsEmpty());
  EXPECT_THAT(yard_->land(1), ElementsAre(2));
  EXPECT_THAT(yard_->land(2), ElementsAre(3));
}

TEST_F(Apartness, puts_tunnels_that_waited_outside_behind_those_that_came_in_before_them) {
  const auto tunnel = [](RequestId id, bool is_anonymous) {
    return Arrival{.id = id, .tunnel = true, .anonymous = is_anonymous};
  };
  begin({.max_concurrent = 1, .max_tunnels = 1});
  yard_->arrive(tunnel(1, false));
  yard_->arrive(tunnel(2, false));
  yard_->arrive(tunnel(3, true));
  yard_->now += kMs;
  yard_->arrive_all({4, 5});
  yard_->change({.max_concurrent = 1, .max_tunnels = 3});  // 2 and 3 come in behind them
  pause(kSecond);
  EXPECT_THAT(yard_->land(1), ElementsAre(4));  // and 3 is set apart
  advance_to(kSecond);
  EXPECT_THAT(yard_->land(4), ElementsAre(5));
  EXPECT_THAT(yard_->land(5), ElementsAre(2));
  EXPECT_THAT(yard_->land(2), ElementsAre(3));
}

TEST_F(Apartness, is_longer_where_another_refusal_comes_meanwhile_and_never_shorter) {
  begin({.max_concurrent = 4, .max_wait = 3 * kSecond});
  pause(kSecond);
  anonymous(1);
  anonymous(2, {}, 1'500 * kMs);
  pause(2 * kSecond);
  pause(kSecond);
  EXPECT_THAT(advance_to(kSecond), IsEmpty());
  EXPECT_THAT(yard_->refused, ElementsAre(2)) << "its wait is sure to be over before";
  EXPECT_EQ(yard_->refusals.at(2).limited_by, kPause);
  EXPECT_EQ(yard_->refusals.at(2).retry_after, kSecond);
  EXPECT_THAT(advance_to(2 * kSecond), ElementsAre(1));
}

TEST_F(Apartness, refuses_at_once_whose_patience_is_shorter_and_says_when_to_come_back) {
  begin({.max_concurrent = 4, .max_wait = 3 * kSecond});
  pause(5 * kSecond);
  anonymous(1);
  EXPECT_THAT(yard_->refused, ElementsAre(1));
  EXPECT_EQ(yard_->refusals.at(1).why, Refused::wait_over);
  EXPECT_EQ(yard_->refusals.at(1).limited_by, kPause);
  EXPECT_EQ(yard_->refusals.at(1).retry_after, 5 * kSecond);
  EXPECT_TRUE(yard_->upstream.idle());
}

TEST_F(Apartness, refuses_whoever_waited_before_the_pause_and_cannot_outlast_it_when_its_lane_asks) {
  begin({.max_concurrent = 1, .max_wait = 3 * kSecond});
  yard_->arrive(1);
  anonymous(2);
  yard_->arrive(3);
  pause(10 * kSecond);
  EXPECT_THAT(yard_->land(1), ElementsAre(3));
  EXPECT_THAT(yard_->refused, ElementsAre(2));
}

TEST_F(Apartness, takes_places_in_the_queue_and_gives_them_back) {
  begin({.max_concurrent = 1, .max_pending = 1});
  pause(kSecond);
  anonymous(1);
  anonymous(2);
  EXPECT_EQ(yard_->refusals.at(2).why, Refused::queue_full);
  EXPECT_THAT(yard_->arrive(3), ElementsAre(3)) << "it waits for nobody";
  yard_->cancel(1);
  EXPECT_EQ(yard_->upstream.pending(), 0u);
  EXPECT_EQ(yard_->upstream.wake_at(), std::nullopt);
  anonymous(4);
  yard_->land(3);
  EXPECT_THAT(advance_to(kSecond), ElementsAre(4));
}

TEST_F(Apartness, is_of_its_group_alone) {
  begin({.max_concurrent = 4});
  pause(kSecond, "a");
  EXPECT_THAT(anonymous(1, "a"), IsEmpty());
  EXPECT_THAT(anonymous(2, "b"), ElementsAre(2));
  EXPECT_THAT(yard_->arrive(3, "a"), ElementsAre(3));
  yard_->land(3);
  EXPECT_THAT(advance_to(kSecond), ElementsAre(1)) << "its lane has outlived the flight of the other";
}

TEST_F(Apartness, of_the_whole_upstream_is_of_each_group) {
  begin({.max_concurrent = 4});
  pause(kSecond);
  EXPECT_THAT(anonymous(1, "a"), IsEmpty());
}

TEST_F(Apartness, leaves_the_limits_to_those_who_may_leave) {
  begin({.max_concurrent = 4}, {limit(PacerConfig{.qps = 10})});
  yard_->arrive(1);
  anonymous(2);
  anonymous(3);
  yard_->arrive(4);
  pause(kSecond);
  EXPECT_THAT(advance_to(50 * kMs), IsEmpty()) << "the lane asks: 4 is booked";
  EXPECT_THAT(advance_to(100 * kMs), ElementsAre(4));
  EXPECT_THAT(advance_to(kSecond), ElementsAre(2));
  EXPECT_EQ(yard_->limited.at(2), kPause);
  EXPECT_THAT(advance_to(1'050 * kMs), IsEmpty());
  EXPECT_THAT(advance_to(1'100 * kMs), ElementsAre(3));
  EXPECT_EQ(yard_->limited.at(3), 0);
}

TEST_F(Apartness, does_not_hold_one_that_is_sent_once_more) {
  begin({.max_concurrent = 2});
  EXPECT_THAT(anonymous(1), ElementsAre(1));
  pause(kSecond);
  EXPECT_THAT(yard_->requeue(1), ElementsAre(1));
}

TEST_F(Apartness, lets_heavier_ones_stand_before_lighter_ones_again) {
  begin({.max_concurrent = 9}, {limit(PacerConfig{.qps = 10})});
  yard_->arrive(1);
  yard_->arrive({.id = 2, .weight = 3, .anonymous = true});
  yard_->now += kMs;
  yard_->arrive_all({3, 4, 5, 6});
  pause(250 * kMs);
  Ids order;
  for (Time at = 10 * kMs; at <= kSecond; at += kMs) {
    for (const RequestId id : advance_to(at)) order.push_back(id);
  }
  EXPECT_THAT(order, ElementsAre(3, 4, 2, 5, 6)) << "4 had left before the pause was over";
}

}  // namespace
}  // namespace penstock::flow
