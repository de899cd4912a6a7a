// SPDX-License-Identifier: Apache-2.0
// Behind a pause one request goes as a probe, then twice as many with each round of answers. A request that was refused
// waits again in its old place.
#include <algorithm>

#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

using What = Commands::Probe::What;

constexpr Time kPauses = 5 * kSecond;

/// Of this process alone: whoever asks may probe.
class Paused : public testing::Test {
 protected:
  /// `count` requests of which `flying` have started; the first is refused with a pause of five seconds.
  void begin(RequestId count) {
    for (RequestId id = 1; id <= count; ++id) yard_.arrive(id);
    until_ = yard_.pause(1, kPauses);
    yard_.land(1);
  }
  Ids probe() {
    Ids started = yard_.advance_to(until_);
    EXPECT_THAT(started, IsEmpty()) << "it asks first whether it may";
    return yard_.may_probe(true, yard_.now + kProbeRight);
  }
  std::size_t told(What what) const {
    return static_cast<std::size_t>(std::ranges::count(yard_.probes, what, &Commands::Probe::what));
  }

  SchedulerFixture yard_{{.max_concurrent = 64, .max_wait = 100 * kSecond}};
  Time until_ = 0;
};

TEST_F(Paused, nothing_leaves_before_the_end_and_then_one) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  EXPECT_THAT(yard_.arrive_all({2, 3, 4}), IsEmpty());
  EXPECT_EQ(yard_.upstream.wake_at(), until_);
  EXPECT_THAT(yard_.advance_to(until_ - 1), IsEmpty());
  EXPECT_EQ(told(What::ask), 0u);
  EXPECT_THAT(probe(), ElementsAre(2));
  EXPECT_EQ(told(What::ask), 1u);
  EXPECT_EQ(yard_.limited.at(2), kPause);
}

TEST_F(Paused, each_round_of_answers_doubles_the_number_in_flight) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  for (RequestId id = 2; id <= 40; ++id) yard_.arrive(id);
  Ids round = probe();
  for (const std::size_t expected : {1u, 2u, 4u, 8u, 16u}) {
    EXPECT_EQ(round.size(), expected);
    Ids next;
    for (const RequestId id : round) {
      for (const RequestId other : yard_.answered(id)) next.push_back(other);
    }
    round = next;
  }
  EXPECT_EQ(round.size(), 8u) << "39 wait, 31 went before";
  EXPECT_EQ(told(What::opened), 1u) << "other processes are told once";
}

TEST_F(Paused, it_holds_nothing_back_once_an_answer_comes_and_nothing_waits_for_it) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive(2);
  ASSERT_THAT(probe(), ElementsAre(2));
  EXPECT_THAT(yard_.answered(2), IsEmpty());
  EXPECT_THAT(yard_.arrive(3), ElementsAre(3));
  EXPECT_THAT(yard_.answered(3), IsEmpty()) << "one more might have gone: nothing is held back";
  EXPECT_THAT(yard_.arrive_all({4, 5, 6, 7, 8, 9}), ElementsAre(4, 5, 6, 7, 8, 9));
}

TEST_F(Paused, a_refused_probe_closes_it_again_and_one_goes_after_that) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive_all({2, 3, 4});
  ASSERT_THAT(probe(), ElementsAre(2));
  until_ = yard_.pause(2, kPauses);
  EXPECT_THAT(yard_.send_back(2, yard_.now + 60 * kSecond), IsEmpty());
  EXPECT_EQ(told(What::ended), 1u);
  EXPECT_THAT(yard_.advance_to(until_ - 1), IsEmpty());
  EXPECT_THAT(probe(), ElementsAre(2)) << "the longest waiting one";
}

/// Those behind the probe have been told to wait a second for its answer.
TEST_F(Paused, a_refused_probe_may_close_it_for_less_than_a_second) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive_all({2, 3, 4});
  ASSERT_THAT(probe(), ElementsAre(2));
  until_ = yard_.pause(2, kSecond / 10);
  EXPECT_THAT(yard_.send_back(2, yard_.now + 60 * kSecond), IsEmpty());
  EXPECT_EQ(yard_.upstream.wake_at(), until_);
  EXPECT_THAT(probe(), ElementsAre(2));
  until_ = yard_.pause(2, kSecond / 10);
  EXPECT_THAT(yard_.land(2), IsEmpty());
  EXPECT_EQ(yard_.upstream.wake_at(), until_) << "likewise where the refusal is passed on";
  EXPECT_THAT(probe(), ElementsAre(3));
}

TEST_F(Paused, a_probe_that_ends_without_an_answer_lets_the_next_one_go) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive_all({2, 3, 4});
  ASSERT_THAT(probe(), ElementsAre(2));
  EXPECT_THAT(yard_.land(2), ElementsAre(3));
  EXPECT_THAT(yard_.cancel(3), ElementsAre(4));
}

TEST_F(Paused, a_probe_that_is_not_refused_for_a_second_after_it_was_sent_opens_it) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive_all({2, 3, 4, 5});
  ASSERT_THAT(probe(), ElementsAre(2));
  yard_.sent(2);
  EXPECT_THAT(yard_.advance_to(until_ + kSecond - 1), IsEmpty());
  EXPECT_EQ(yard_.upstream.wake_at(), until_ + kSecond);
  EXPECT_THAT(yard_.advance_to(until_ + kSecond), ElementsAre(3, 4));
  EXPECT_EQ(told(What::opened), 1u);
}

TEST_F(Paused, a_probe_that_waits_for_a_connection_proves_nothing_until_it_is_sent) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive_all({2, 3, 4, 5});
  ASSERT_THAT(probe(), ElementsAre(2));
  EXPECT_THAT(yard_.advance_to(until_ + 10 * kSecond), IsEmpty());
  yard_.sent(2);
  yard_.sent(2);  // counts once
  EXPECT_THAT(yard_.advance_to(until_ + 11 * kSecond - 1), IsEmpty());
  EXPECT_THAT(yard_.advance_to(until_ + 11 * kSecond), ElementsAre(3, 4));
}

TEST_F(Paused, a_probe_whose_answer_is_judged_does_not_open_it_until_a_second_after_that) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive_all({2, 3, 4, 5});
  ASSERT_THAT(probe(), ElementsAre(2));
  yard_.sent(2);
  yard_.advance_to(until_ + kSecond / 2);
  yard_.await_judgement(2);
  EXPECT_THAT(yard_.advance_to(until_ + kSecond + kSecond / 2 - 1), IsEmpty());
  EXPECT_THAT(yard_.answered(2), ElementsAre(3, 4));
}

TEST_F(Paused, that_others_do_not_have_is_probed_at_once_and_others_do_not_open_it) {
  yard_.arrive(1);
  until_ = yard_.pause_alone(1);
  yard_.arrive_all({2, 3, 4});
  EXPECT_FALSE(yard_.upstream.gates().is_tried());
  EXPECT_THAT(yard_.opened(), IsEmpty());
  EXPECT_THAT(yard_.advance_to(until_), ElementsAre(2));
  EXPECT_TRUE(yard_.upstream.gates().is_tried());
  EXPECT_THAT(yard_.opened(), IsEmpty()) << "that of another process";
  until_ = yard_.pause_alone(2);
  EXPECT_THAT(yard_.land(2), IsEmpty());
  EXPECT_EQ(until_, yard_.now + 2 * kSecond);
  EXPECT_THAT(yard_.advance_to(until_), ElementsAre(3));
  EXPECT_THAT(yard_.answered(3), ElementsAre(4));
  EXPECT_TRUE(yard_.probes.empty()) << "nobody is asked or told";
}

TEST_F(Paused, of_an_answer_is_everybodys_after_one_that_others_did_not_have) {
  yard_.arrive(1);
  until_ = yard_.pause_alone(1);
  yard_.arrive_all({2, 3, 4, 5});
  ASSERT_THAT(yard_.advance_to(until_), ElementsAre(2));
  ASSERT_THAT(yard_.answered(2), ElementsAre(3, 4));
  until_ = yard_.pause(3, kPauses);
  yard_.advance_to(until_);
  EXPECT_EQ(told(What::ask), 1u);
}

TEST_F(Paused, of_the_answer_to_a_probe_is_everybodys_though_others_did_not_have_the_one_before) {
  yard_.arrive(1);
  until_ = yard_.pause_alone(1);
  yard_.arrive_all({2, 3});
  ASSERT_THAT(yard_.advance_to(until_), ElementsAre(2));
  until_ = yard_.pause(2, kPauses);
  yard_.land(2);
  EXPECT_THAT(yard_.advance_to(until_), IsEmpty());
  EXPECT_EQ(told(What::ask), 1u);
}

TEST_F(Paused, answers_to_requests_that_flew_before_prove_nothing) {
  yard_.arrive_all({1, 2, 3});
  until_ = yard_.pause(1, kPauses);
  yard_.arrive_all({4, 5});
  EXPECT_THAT(yard_.answered(2), IsEmpty());
  yard_.land(2);
  ASSERT_THAT(probe(), ElementsAre(4));
  EXPECT_THAT(yard_.answered(3), IsEmpty());
  EXPECT_THAT(yard_.land(3), IsEmpty());
}

TEST_F(Paused, while_another_process_probes_nothing_goes_until_that_is_heard_of) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive_all({2, 3, 4, 5});
  yard_.advance_to(until_);
  EXPECT_THAT(yard_.may_probe(false, until_ + kSecond), IsEmpty());
  EXPECT_EQ(yard_.upstream.wake_at(), until_ + kSecond);
  EXPECT_THAT(yard_.opened(), ElementsAre(2, 3));
  EXPECT_EQ(told(What::opened), 0u) << "it was the other that opened it";
}

TEST_F(Paused, when_the_other_is_not_heard_of_it_asks_again) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive_all({2, 3});
  yard_.advance_to(until_);
  yard_.may_probe(false, until_ + kSecond);
  EXPECT_THAT(yard_.advance_to(until_ + kSecond), IsEmpty());
  EXPECT_EQ(told(What::ask), 2u);
  EXPECT_THAT(yard_.may_probe(true, yard_.now + kProbeRight), ElementsAre(2));
}

TEST_F(Paused, a_right_that_nobody_used_in_time_is_asked_for_again) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive(2);
  yard_.advance_to(until_);
  yard_.cancel(2);
  yard_.may_probe(true, yard_.now + kProbeRight);
  yard_.advance_to(until_ + 2 * kProbeRight);
  EXPECT_THAT(yard_.arrive(3), IsEmpty());
  EXPECT_EQ(told(What::ask), 2u);
}

TEST_F(Paused, refusals_that_name_no_time_double_the_pause_but_not_those_of_requests_sent_together) {
  yard_.arrive_all({1, 2, 3});
  EXPECT_EQ(yard_.pause(1, {}), yard_.now + kSecond);
  yard_.now += 20 * kMs;
  until_ = yard_.pause(2, {});
  EXPECT_EQ(until_, yard_.now + kSecond) << "it was sent before the pause";
  yard_.arrive_all({4, 5});
  for (const Time length : {2 * kSecond, 4 * kSecond, 8 * kSecond}) {
    ASSERT_THAT(probe(), ElementsAre(4));
    until_ = yard_.pause(4, {});
    EXPECT_EQ(until_, yard_.now + length);
    yard_.send_back(4, yard_.now + 100 * kSecond);
  }
  ASSERT_THAT(probe(), ElementsAre(4));
  yard_.answered(4);
  EXPECT_EQ(yard_.pause(5, {}), yard_.now + kSecond) << "an answer came between";
}

TEST_F(Paused, a_pause_lasts_no_longer_than_allowed) {
  yard_.arrive(1);
  EXPECT_EQ(yard_.pause(1, 3'600 * kSecond), yard_.now + 300 * kSecond);
}

TEST_F(Paused, that_of_a_group_holds_no_other_group) {
  yard_.arrive(1, "a");
  until_ = yard_.pause(1, kPauses, "a");
  EXPECT_THAT(yard_.arrive_all({2, 3}, "a"), IsEmpty());
  EXPECT_THAT(yard_.arrive_all({4, 5}, "b"), ElementsAre(4, 5));
  yard_.advance_to(until_);
  ASSERT_EQ(told(What::ask), 1u);
  EXPECT_EQ(yard_.probes.front().group, "a");
  EXPECT_THAT(yard_.may_probe(true, yard_.now + kProbeRight, "a"), ElementsAre(2));
  EXPECT_THAT(yard_.answered(2), ElementsAre(3));
}

TEST_F(Paused, one_that_may_not_wait_passes_where_another_group_is_paused) {
  yard_.arrive(1, "a");
  yard_.pause(1, kPauses, "a");
  EXPECT_THAT(yard_.arrive(2, "b", 0), ElementsAre(2));
  EXPECT_THAT(yard_.refused, IsEmpty());
}

TEST_F(Paused, one_that_arrives_behind_it_may_be_the_probe) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.advance_to(until_ + kSecond);
  yard_.arrive(2);
  EXPECT_THAT(yard_.may_probe(true, yard_.now + kProbeRight), ElementsAre(2));
  EXPECT_THAT(yard_.arrive(3), IsEmpty());
  EXPECT_THAT(yard_.answered(2), ElementsAre(3));
}

TEST_F(Paused, holds_a_light_request_that_is_next_after_a_heavy_one) {
  yard_.arrive({.id = 1, .weight = 3});
  until_ = yard_.pause(1, kPauses);
  yard_.land(1);
  EXPECT_THAT(yard_.arrive({.id = 2, .weight = 1}), IsEmpty());
  yard_.arrive({.id = 3, .weight = 3});
  yard_.cancel(2);
  yard_.arrive({.id = 4, .weight = 1});
  yard_.cancel(3);
  EXPECT_THAT(probe(), ElementsAre(4));
}

TEST_F(Paused, one_that_cannot_wait_so_long_is_refused_at_once) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive(2, {}, kPauses - 1);
  EXPECT_THAT(yard_.refused, ElementsAre(2));
  EXPECT_EQ(yard_.refusals.at(2).limited_by, kPause);
  yard_.arrive(3, {}, kPauses + kSecond);
  EXPECT_THAT(yard_.refused, ElementsAre(2));
}

TEST(LearnedPause, of_which_the_limiter_tells_is_probed_too) {
  SlowLimiter slow;
  SchedulerFixture yard({.max_concurrent = 8}, slow);
  yard.arrive_all({1, 2, 3});
  const Time until = yard.now + kSecond;
  yard.answer(turn(Booking::Scope::upstream, until, kPause));
  yard.advance_to(until);
  EXPECT_EQ(slow.asks.size(), 1u) << "the limiter is not asked before this process may probe";
  yard.may_probe(true, until + kProbeRight);
  ASSERT_EQ(slow.asks.size(), 2u);
  EXPECT_EQ(slow.asks.back().count, 1u);
  EXPECT_THAT(yard.answer(std::vector<Time>{until, until, until}), ElementsAre(1));
  EXPECT_THAT(slow.given_back, ElementsAre(until, until)) << "more than one was granted";
}

TEST(LearnedPause, that_ends_so_soon_that_departures_are_booked_behind_it_holds_them) {
  SlowLimiter slow;
  SchedulerFixture yard({.max_concurrent = 8}, slow);
  yard.arrive_all({1, 2});
  const Time until = yard.now + 20 * kMs;
  Booking booking;
  booking.departures = {{.at = until, .limited_by = kPause}};
  yard.answer(booking);
  EXPECT_THAT(slow.given_back, ElementsAre(until));
  EXPECT_THAT(yard.advance_to(until), IsEmpty());
}

TEST(LearnedPause, of_a_group_by_a_departure_holds_no_other_group) {
  SlowLimiter slow;
  SchedulerFixture yard({.max_concurrent = 8}, slow);
  yard.arrive(1, "a");
  Booking booking;
  booking.departures = {{.at = yard.now + 20 * kMs, .limited_by = kPause}};
  yard.answer(booking, "a");
  EXPECT_FALSE(yard.upstream.gates().has({}));
  EXPECT_TRUE(yard.upstream.gates().has("a"));
  yard.arrive(2, "b");
  ASSERT_EQ(slow.asks.size(), 2u);
  EXPECT_THAT(yard.answer({yard.now}, {}, "b"), ElementsAre(2));
}

TEST_F(Paused, a_tunnel_that_rests_was_let_through_and_holds_nobody_back) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive({.id = 2, .tunnel = true});
  yard_.arrive_all({3, 4, 5});
  ASSERT_THAT(probe(), ElementsAre(2));
  EXPECT_THAT(yard_.park(2), ElementsAre(3, 4));
  yard_.land(2);
  EXPECT_THAT(yard_.answered(3), ElementsAre(5));
}

// ---- pauses that end early ------------------------------------------------------------------------------------------

TEST_F(Paused, one_that_ends_early_is_probed_and_opens_round_by_round_as_any_other) {
  yard_.arrive(1);
  until_ = yard_.pause(1, kPauses);
  yard_.arrive_all({2, 3, 4, 5, 6});
  yard_.now += kSecond;
  EXPECT_THAT(yard_.shorten(yard_.now), IsEmpty());
  ASSERT_EQ(told(What::ask), 1u);
  EXPECT_THAT(yard_.may_probe(true, yard_.now + kProbeRight), ElementsAre(2));
  EXPECT_THAT(yard_.answered(2), ElementsAre(3, 4));
  EXPECT_THAT(yard_.answered(3), ElementsAre(5, 6));
}

TEST_F(Paused, one_that_is_shortened_ends_then_and_none_is_prolonged) {
  yard_.arrive(1, "a"), yard_.arrive(2, "b");
  yard_.pause(1, kPauses, "a");
  const Time soon = yard_.pause(2, kSecond, "b");
  until_ = yard_.now + 2 * kSecond;
  yard_.shorten(until_);
  EXPECT_EQ(yard_.upstream.gates().until("a"), until_);
  EXPECT_EQ(yard_.upstream.gates().until("b"), soon);
  Commands commands;
  EXPECT_FALSE(yard_.upstream.shorten_pauses(yard_.now, until_, commands)) << "none is longer";
}

TEST(LearnedPause, that_ends_early_is_asked_for_again_at_once) {
  SlowLimiter slow;
  SchedulerFixture yard({.max_concurrent = 8}, slow);
  yard.arrive(1, "a");
  yard.answer(turn(Booking::Scope::group, yard.now + kPauses, kPause), "a");
  yard.shorten(yard.now);
  yard.may_probe(true, yard.now + kProbeRight, "a");
  EXPECT_THAT(yard.answer({yard.now}, {}, "a"), ElementsAre(1));
}

// ---- sent back ------------------------------------------------------------------------------------------------------

TEST(SentBack, it_waits_in_its_old_place_without_a_slot) {
  SchedulerFixture yard({.max_concurrent = 2}, limits(Spacing(10 * kMs)));
  const Time start = yard.now;
  yard.arrive_all({1, 2, 3, 4});
  yard.advance_to(start + 10 * kMs);
  ASSERT_EQ(yard.upstream.in_flight(), 2u);
  yard.send_back(2, start + kSecond);
  yard.send_back(1, start + kSecond);
  EXPECT_EQ(yard.upstream.in_flight(), 0u);
  EXPECT_EQ(yard.upstream.pending(), 4u);
  EXPECT_THAT(yard.advance_to(start + 20 * kMs), ElementsAre(1));
  EXPECT_THAT(yard.advance_to(start + 30 * kMs), ElementsAre(2));
  yard.land(1);
  EXPECT_THAT(yard.advance_to(start + 40 * kMs), ElementsAre(3));
}

TEST(SentBack, it_is_refused_at_its_deadline) {
  SchedulerFixture yard({.max_concurrent = 1}, limits(Spacing(10 * kSecond)));
  const Time start = yard.now;
  yard.arrive_all({1, 2});
  yard.send_back(1, start + kSecond);
  EXPECT_THAT(yard.refused, ElementsAre(1)) << "the next departure is too late for it";
  yard.land(1);
  EXPECT_EQ(yard.upstream.in_flight(), 0u);
  EXPECT_EQ(yard.upstream.pending(), 1u);
}

TEST(SentBack, it_may_be_refused_at_once_as_the_last_of_its_lane) {
  SchedulerFixture yard({.max_concurrent = 1}, limits(Spacing(10 * kSecond)));
  yard.arrive(1, "a");
  yard.send_back(1, yard.now + kSecond, "a");
  EXPECT_THAT(yard.refused, ElementsAre(1)) << "its lane is gone with it";
  EXPECT_TRUE(idle(yard.upstream));
}

TEST(SentBack, one_that_was_let_in_beyond_a_full_queue_has_a_place_now) {
  SlowLimiter slow;
  slow.its_patience = kSecond;
  SchedulerFixture yard({.max_concurrent = 2, .max_pending = 0}, slow);
  yard.arrive(1);
  yard.answer({yard.now});
  ASSERT_EQ(yard.upstream.in_flight(), 1u);
  yard.send_back(1, yard.now + 60 * kSecond);
  yard.change({.max_concurrent = 1, .max_pending = 0});
  yard.answer({yard.now});
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
  EXPECT_THAT(yard.refused, IsEmpty());
}

TEST(SentBack, it_may_be_cancelled_and_its_place_is_free) {
  SchedulerFixture yard({.max_concurrent = 1}, limits(Spacing(10 * kMs)));
  yard.arrive_all({1, 2});
  yard.send_back(1, yard.now + kSecond);
  yard.cancel(1);
  EXPECT_THAT(yard.advance_to(yard.now + 10 * kMs), ElementsAre(2));
}

TEST(SentBack, again_and_again_it_does_not_slow_the_queue_down) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 2'000, .max_wait = 1'000 * kSecond});
  for (RequestId id = 1; id <= 1'000; ++id) yard.arrive(id);
  const Time deadline = yard.now + 1'000 * kSecond;
  for (int i = 0; i < 100'000; ++i) ASSERT_THAT(yard.send_back(1, deadline), ElementsAre(1));
}

}  // namespace
}  // namespace penstock::flow
