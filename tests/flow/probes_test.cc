// SPDX-License-Identifier: Apache-2.0
// Which request may be the probe behind a pause, and for how long the right to send it is this process's.
#include <algorithm>

#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

using What = Commands::Probe::What;

constexpr Time kLasts = 5 * kSecond;  // a pause

class Probes : public testing::Test {
 protected:
  explicit Probes(std::size_t max_pending = 1'000) : yard_({.max_concurrent = 64, .max_pending = max_pending}) {}

  /// The first request is refused; the others arrive behind its pause, which is over then.
  void begin(std::initializer_list<RequestId> others) {
    yard_.arrive(1);
    until_ = yard_.pause(1, kLasts);
    yard_.land(1);
    yard_.arrive_all(others);
    yard_.advance_to(until_);
  }
  Ids may_probe() { return yard_.may_probe(true, yard_.now + kProbeRight); }
  std::size_t told(What what) const {
    return static_cast<std::size_t>(std::ranges::count(yard_.probes, what, &Commands::Probe::what));
  }

  SchedulerFixture yard_;
  Time until_ = 0;
};

class ProbesWithoutQueue : public Probes {
 protected:
  ProbesWithoutQueue() : Probes(0) {}
};

// ---- one that may not wait ------------------------------------------------------------------------------------------

TEST_F(Probes, may_be_requests_that_may_not_wait) {
  begin({});
  yard_.advance_to(until_ + 10 * kSecond);
  EXPECT_THAT(yard_.arrive(2, {}, 0), IsEmpty());
  EXPECT_THAT(yard_.refused, IsEmpty()) << "it is asked for it whether this process may probe";
  EXPECT_THAT(may_probe(), ElementsAre(2));
  EXPECT_THAT(yard_.arrive(3, {}, 0), IsEmpty());
  EXPECT_THAT(yard_.refused, ElementsAre(3)) << "one goes at a time";
  yard_.answered(2);
  EXPECT_THAT(yard_.arrive(4, {}, 0), ElementsAre(4));
}

TEST_F(Probes, that_may_not_wait_are_refused_where_another_process_probes) {
  begin({});
  yard_.arrive(2, {}, 0);
  const Time asked = yard_.now;
  EXPECT_THAT(yard_.may_probe(false, until_ + kSecond), IsEmpty());
  yard_.advance_to(asked + 100 * kMs);
  EXPECT_THAT(yard_.refused, ElementsAre(2));
  yard_.arrive(3, {}, 0);
  EXPECT_THAT(yard_.refused, ElementsAre(2, 3)) << "that is known by now";
}

TEST_F(Probes, that_may_not_wait_wait_for_the_limiter_as_well) {
  SlowLimiter slow;
  slow.its_patience = 200 * kMs;
  SchedulerFixture yard({.max_concurrent = 8}, slow);
  yard.arrive(1);
  yard.answer({yard.now});
  const Time until = yard.pause(1, kLasts);
  yard.advance_to(until);
  yard.arrive(2, {}, 0);
  yard.advance_to(until + 90 * kMs);
  yard.may_probe(true, yard.now + kProbeRight);
  yard.advance_to(until + 250 * kMs);
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(2));
}

TEST_F(ProbesWithoutQueue, may_be_requests_that_arrive) {
  begin({});
  EXPECT_THAT(yard_.arrive(2), IsEmpty());
  EXPECT_THAT(may_probe(), ElementsAre(2));
  EXPECT_THAT(yard_.refused, IsEmpty());
}

TEST_F(ProbesWithoutQueue, do_not_wait_there_for_another_process) {
  begin({});
  yard_.arrive(2);
  yard_.may_probe(false, until_ + kSecond);
  yard_.advance_to(until_ + 100 * kMs);
  EXPECT_THAT(yard_.refused, ElementsAre(2));
}

TEST(LatePauses, of_which_the_limiter_tells_when_they_are_over_are_probed) {
  SlowLimiter slow;
  SchedulerFixture yard({.max_concurrent = 8}, slow);
  yard.arrive_all({1, 2, 3});
  yard.answer(turn(Booking::Scope::upstream, yard.now - kSecond, kPause));
  yard.advance_to(yard.now + 1);
  EXPECT_EQ(slow.asks.size(), 1u);
  yard.may_probe(true, yard.now + kProbeRight);
  ASSERT_EQ(slow.asks.size(), 2u);
  EXPECT_EQ(slow.asks.back().count, 1u);
}

TEST(LatePauses, are_probed_by_a_request_that_may_not_wait) {
  PlainLimiter limiter({});
  SchedulerFixture yard({.max_concurrent = 8}, limiter);
  limiter.tells_of_pause = yard.now - kSecond;
  EXPECT_THAT(yard.arrive(1, {}, 0), IsEmpty());
  EXPECT_THAT(yard.refused, IsEmpty());
  EXPECT_THAT(yard.may_probe(true, yard.now + kProbeRight), ElementsAre(1));
}

// ---- the right to send it -------------------------------------------------------------------------------------------

/// Its connection may be slow, and nothing else may wait here.
TEST_F(Probes, in_flight_have_the_right_prolonged) {
  begin({2});
  ASSERT_THAT(may_probe(), ElementsAre(2));
  for (std::size_t asks = 2; asks < 6; ++asks) {
    const Time ends = yard_.now + kProbeRight;
    while (told(What::ask) < asks) {
      const auto wakes = yard_.upstream.wake_at();
      ASSERT_TRUE(wakes && *wakes < ends) << "in time";
      yard_.advance_to(*wakes);
    }
    EXPECT_THAT(may_probe(), IsEmpty()) << "one is out";
  }
  yard_.arrive(3);
  EXPECT_THAT(yard_.land(2), ElementsAre(3)) << "it failed, and the right is still held";
}

TEST_F(Probes, that_were_sent_open_it_a_second_later_though_nothing_waits_here) {
  begin({2});
  may_probe();
  yard_.now += 300 * kMs;
  yard_.sent(2);
  const Time proved = yard_.now + kSecond;
  while (told(What::opened) == 0) {
    const auto wakes = yard_.upstream.wake_at();
    ASSERT_TRUE(wakes && *wakes <= proved + 50 * kMs) << "other processes wait for it";
    if (*wakes > yard_.now) may_probe();
    yard_.advance_to(*wakes);
  }
  EXPECT_GE(yard_.now, proved);
  EXPECT_THAT(yard_.arrive_all({3, 4, 5}), ElementsAre(3, 4));
}

TEST_F(Probes, do_not_follow_a_failed_one_without_the_right) {
  begin({2, 3, 4});
  ASSERT_THAT(may_probe(), ElementsAre(2));
  yard_.advance_to(until_ + 2 * kProbeRight);  // the process stood still
  ASSERT_EQ(told(What::ask), 2u);
  yard_.may_probe(false, yard_.now + kSecond);
  EXPECT_THAT(yard_.land(2), IsEmpty()) << "another process probes by now";
  yard_.advance_to(yard_.now + kSecond);
  EXPECT_THAT(may_probe(), ElementsAre(3));
}

TEST_F(Probes, do_not_follow_where_the_right_was_not_prolonged) {
  begin({2, 3});
  ASSERT_THAT(may_probe(), ElementsAre(2));
  while (told(What::ask) < 2) {
    const auto wakes = yard_.upstream.wake_at();
    ASSERT_TRUE(wakes && *wakes < until_ + kProbeRight) << "in time";
    yard_.advance_to(*wakes);
  }
  yard_.may_probe(false, yard_.now + kSecond);
  EXPECT_THAT(yard_.land(2), IsEmpty());
}

// ---- what was heard before ------------------------------------------------------------------------------------------

TEST_F(Probes, of_other_processes_open_no_pause_that_began_since) {
  yard_.arrive_all({1, 2});
  until_ = yard_.pause(1, kLasts);
  yard_.arrive_all({3, 4, 5});
  yard_.advance_to(until_);
  yard_.may_probe(false, until_ + kSecond);
  until_ = yard_.pause(2, kLasts);
  EXPECT_THAT(yard_.opened(), IsEmpty());
  EXPECT_THAT(yard_.advance_to(until_), IsEmpty());
  EXPECT_EQ(told(What::ask), 2u) << "it is probed as any other";
}

// ---- gates that are needed ------------------------------------------------------------------------------------------

TEST(NeededGates, are_those_behind_which_requests_wait_for_a_slot) {
  for (const std::string group : {"a", ""}) {
    SchedulerFixture yard({.max_concurrent = 1, .max_wait = 100 * kSecond});
    yard.arrive(1, "a");
    yard.pause(1, kSecond, group);
    yard.arrive_all({2, 3}, "a");
    yard.now += 10 * kSecond;
    EXPECT_FALSE(yard.upstream.gates().has_room(yard.now, 1));
    EXPECT_THAT(yard.land(1), IsEmpty()) << "it is probed first";
    EXPECT_THAT(yard.may_probe(true, yard.now + kProbeRight, group), ElementsAre(2));
  }
}

}  // namespace
}  // namespace penstock::flow
