// SPDX-License-Identifier: Apache-2.0
// An upstream that cannot be reached: what counts as a failure, what happens to requests meanwhile, how it ends.
#include "proxy/exchange/breaker.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <limits>

#include "flow/scheduler_fixture.h"
#include "proxy/dispatcher_fixture.h"
#include "support/held_port.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

TEST(Breaker, failures_of_dials_that_began_together_are_one) {
  Breaker breaker;
  for (flow::Time at = 10; at < 74; ++at) EXPECT_FALSE(breaker.failed(at, 0, 2)) << at;
  EXPECT_TRUE(breaker.failed(100, 10, 2)) << "it began when the first had failed";
}

TEST(Breaker, a_connection_between_two_failures_separates_them) {
  Breaker breaker;
  EXPECT_FALSE(breaker.failed(1, 0, 2));
  breaker.connected();
  EXPECT_FALSE(breaker.failed(2, 1, 2));
  EXPECT_TRUE(breaker.failed(3, 2, 2));
  EXPECT_TRUE(breaker.broken());
}

TEST(Breaker, once_broken_each_failure_stops_the_upstream_until_a_connection_comes_about) {
  Breaker breaker;
  breaker.failed(1, 0, 2);
  breaker.failed(2, 1, 2);
  EXPECT_TRUE(breaker.failed(3, 2, 2));
  EXPECT_FALSE(breaker.failed(4, 2, 2)) << "it dialled together with the last one";
  breaker.connected();
  EXPECT_FALSE(breaker.broken());
  EXPECT_FALSE(breaker.failed(5, 4, 2));
}

TEST(Breaker, none_is_wanted) {
  Breaker breaker;
  for (flow::Time at = 1; at < 100; ++at) EXPECT_FALSE(breaker.failed(at, at - 1, 0));
  EXPECT_FALSE(breaker.broken());
}

/// In virtual time: a host that drops whatever comes, until `back`, with connections that are given up after a second.
class BlackHole : public testing::Test {
 protected:
  static constexpr flow::Time kConnect = flow::kSecond;
  static constexpr int kFailures = 5;

  struct Dial {
    flow::RequestId id;
    flow::Time began;
  };

  void take_off(const flow::Ids& started) {
    for (const auto id : started) {
      dials_.push_back({id, yard_.now});
      most_at_once_ = std::max(most_at_once_, breaker_.broken() ? dials_.size() : 0);
      if (breaker_.broken()) tries_.push_back(yard_.now);
    }
  }
  void end(const Dial& dial) {
    if (dial.began >= back_) {
      breaker_.connected();
      ++served_, last_served_ = yard_.now;
      yard_.sent(dial.id);
      take_off(yard_.answered(dial.id));
    } else if (breaker_.failed(yard_.now, dial.began, kFailures)) {
      yard_.pause_alone(dial.id);
    }
    take_off(yard_.land(dial.id));
  }
  /// To the next thing that happens; false: nothing will.
  bool step() {
    flow::Time next = yard_.upstream.wake_at().value_or(std::numeric_limits<flow::Time>::max());
    for (const Dial& dial : dials_) next = std::min(next, end_of(dial));
    if (next == std::numeric_limits<flow::Time>::max()) return false;
    take_off(yard_.advance_to(next));
    while (!dials_.empty() && end_of(dials_.front()) <= yard_.now) {
      const Dial dial = dials_.front();
      dials_.pop_front();
      end(dial);
    }
    return true;
  }

  void run() {
    for (int steps = 0; step(); ++steps) ASSERT_LT(steps, 10'000);
  }

  flow::SchedulerFixture yard_{{.max_concurrent = 64, .max_wait = 60 * flow::kSecond}};
  const flow::Time begin_ = yard_.now;
  Breaker breaker_;
  flow::Time back_ = std::numeric_limits<flow::Time>::max();
  std::deque<Dial> dials_;
  std::vector<flow::Time> tries_;  // dials begun while it was broken
  std::size_t most_at_once_ = 0;
  int served_ = 0;
  flow::Time last_served_ = 0;

 private:
  /// A connection that comes about takes no time here.
  flow::Time end_of(const Dial& dial) const { return dial.began >= back_ ? dial.began : dial.began + kConnect; }
};

TEST_F(BlackHole, after_five_failures_one_dial_at_a_time_after_pauses_that_double) {
  for (flow::RequestId id = 1; id <= 500; ++id) take_off(yard_.arrive(id));
  run();
  const flow::Time broke = begin_ + kFailures * kConnect;
  std::vector<flow::Time> expected{broke + flow::kSecond};
  for (flow::Time pause = 2 * flow::kSecond; expected.back() + kConnect + pause <= begin_ + 60 * flow::kSecond;
       pause *= 2)
    expected.push_back(expected.back() + kConnect + pause);
  EXPECT_EQ(tries_, expected);
  EXPECT_EQ(most_at_once_, 1u);
}

TEST_F(BlackHole, when_the_host_is_back_the_first_dial_serves_and_all_that_wait_follow) {
  back_ = begin_ + 8 * flow::kSecond;
  for (flow::RequestId id = 1; id <= 500; ++id) take_off(yard_.arrive(id));
  run();
  EXPECT_EQ(served_, 500 - kFailures * 64 - 1) << "all but those that dialled before, the first probe among them";
  ASSERT_GE(tries_.size(), 2u);
  EXPECT_EQ(tries_[1], begin_ + 9 * flow::kSecond) << "the second probe";
  EXPECT_FALSE(breaker_.broken());
  EXPECT_EQ(last_served_, begin_ + 9 * flow::kSecond);
}

class UnreachableTest : public DispatcherTest {
 protected:
  UnreachableTest() {
    config_.unmatched.queue.max_wait = 20s;
    config_.unmatched.breaker = {.failures = 3, .max_pause = 200ms};
  }
  http::Reason ask_in_vain(const std::string& path = "/") {
    Asker& asker = askers_.emplace_back();
    get(asker, host_, path);
    EXPECT_TRUE(finish(asker));
    return asker.refusals.empty() ? http::Reason::internal_error : asker.refusals.back().why;
  }
  void break_it() {
    for (int i = 0; i < config_.unmatched.breaker.failures; ++i)
      ASSERT_EQ(ask_in_vain(), http::Reason::connection_refused) << i;
  }
  bool is_paused() {
    Asker asker;
    get(asker, host_);
    const bool paused = !asker.refusals.empty() && asker.refusals[0].why == http::Reason::unreachable;
    if (!paused) leave(asker);
    return paused;
  }

  test::HeldPort port_;
  const std::string host_ = "127.0.0.1:" + std::to_string(port_.number());
  std::deque<Asker> askers_;
};

TEST_F(UnreachableTest, newcomers_are_refused_at_once_and_told_when_the_next_try_is) {
  config_.unmatched.breaker.max_pause = 10s;  // no busy machine is as late as the first pause lasts, a second
  break_it();
  Asker late;
  get(late, host_);
  ASSERT_EQ(late.refusals.size(), 1u) << "without a turn of the loop";
  EXPECT_EQ(late.refusals[0].why, http::Reason::unreachable);
  EXPECT_EQ(late.refusals[0].status_code(), 502);
  EXPECT_THAT(late.refusals[0].details, AllOf(HasSubstr(host_ + " cannot be reached"), HasSubstr("retry in ")));
  EXPECT_LE(*late.refusals[0].retry_after, 1s);
  EXPECT_GT(*late.refusals[0].retry_after, 0ms);
  EXPECT_EQ(told_.back().kind, EventKind::refused);
  EXPECT_EQ(told_.back().refusal, "unreachable");
  EXPECT_TRUE(upstream(host_).unreachable);
  expect_at_rest();
}

TEST_F(UnreachableTest, many_that_fail_together_are_one_failure) {
  std::array<Asker, 40> all;
  for (Asker& asker : all) get(asker, host_);
  for (Asker& asker : all) ASSERT_TRUE(finish(asker));
  EXPECT_FALSE(upstream(host_).unreachable);
  EXPECT_EQ(ask_in_vain(), http::Reason::connection_refused);
}

TEST_F(UnreachableTest, after_the_pause_one_tries_and_a_connection_lets_all_go) {
  break_it();
  test::Origin origin(test::always(kOk), {}, port_.number());
  ASSERT_TRUE(run_.run_until([&] { return !is_paused(); }));
  Asker first, second;
  get(first, host_);
  ASSERT_TRUE(finish(first));
  EXPECT_EQ(first.status, 200);
  EXPECT_FALSE(upstream(host_).unreachable);
  get(second, host_);
  ASSERT_TRUE(finish(second));
  EXPECT_EQ(second.status, 200);
}

TEST_F(UnreachableTest, what_waited_before_waits_on_and_is_served_when_it_is_back) {
  config_.unmatched.max_concurrent = 1;
  config_.unmatched.breaker.failures = 1;
  std::array<Asker, 5> waiting;
  for (Asker& asker : waiting) get(asker, host_);
  ASSERT_TRUE(finish(waiting[0]));
  EXPECT_EQ(waiting[0].refusals[0].why, http::Reason::connection_refused);
  Asker late;
  get(late, host_);
  ASSERT_EQ(late.refusals.size(), 1u);
  ASSERT_TRUE(finish(waiting[1])) << "the probe";
  EXPECT_EQ(waiting[1].refusals[0].why, http::Reason::connection_refused);
  test::Origin origin(test::always(kOk), {}, port_.number());
  for (std::size_t i = 2; i < waiting.size(); ++i) {
    ASSERT_TRUE(finish(waiting[i])) << i;
    EXPECT_EQ(waiting[i].status, 200) << i;
  }
  expect_at_rest();
}

TEST_F(UnreachableTest, the_pauses_double_up_to_the_longest) {
  config_.unmatched.breaker = {.failures = 1, .max_pause = 5s};
  config_.unmatched.max_concurrent = 1;
  std::array<Asker, 3> waiting;
  for (Asker& asker : waiting) get(asker, host_);
  std::array<std::int64_t, 3> waited{}, failed{};  // when it was last seen to wait, and first seen to have failed
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    ASSERT_TRUE(run_.run_until([&] {
      if (!waiting[i].over()) waited[i] = run_.loop.now();
      return waiting[i].over();
    }));
    failed[i] = run_.loop.now();
  }
  EXPECT_GE(failed[1] - waited[0], 1'000'000);
  EXPECT_GE(failed[2] - waited[1], 2'000'000);
}

TEST_F(UnreachableTest, newcomers_are_refused_too_while_one_tries) {
  test::ListeningSocket hole(0);
  const test::Socket in_its_way = test::connect_to(hole.port());
  const std::string there = "127.0.0.1:" + std::to_string(hole.port());
  config_.unmatched.timeouts.connect = 200ms;
  config_.unmatched.breaker = {.failures = 1, .max_pause = 100ms};
  Asker first, second, third;
  get(first, there);
  ASSERT_TRUE(finish(first));
  ASSERT_TRUE(run_.run_until([&] { return upstream(there).next_try == 0ms; }));
  get(second, there);
  EXPECT_FALSE(second.over()) << "it tries";
  get(third, there);
  ASSERT_EQ(third.refusals.size(), 1u);
  EXPECT_EQ(third.refusals[0].why, http::Reason::unreachable);
  leave(second);
}

TEST_F(UnreachableTest, requests_that_cannot_try_do_not_keep_others_from_it) {
  config_.unmatched.group = parse_group("path:/{kind}").value();
  config_.unmatched.limits = {{CounterConfig{.max = 3, .period = 1h}, "", LimitConfig::Per::group}};
  config_.unmatched.queue.max_wait = 2h;
  for (int i = 0; i < 3; ++i) ASSERT_EQ(ask_in_vain("/a"), http::Reason::connection_refused);
  EXPECT_TRUE(upstream(host_).unreachable);
  ASSERT_TRUE(run_.run_until([&] { return upstream(host_).next_try == 0ms; }));
  Asker stuck;
  get(stuck, host_, "/a");
  ASSERT_FALSE(stuck.over()) << "its group has spent its limit";
  test::Origin origin(test::always(kOk), {}, port_.number());
  Asker other;
  get(other, host_, "/b");
  ASSERT_TRUE(finish(other));
  EXPECT_EQ(other.status, 200);
  leave(stuck);
}

TEST_F(UnreachableTest, a_try_that_ends_in_another_way_before_it_is_sent_stops_it_again) {
  test::ListeningSocket hole(0);
  const test::Socket in_its_way = test::connect_to(hole.port());
  const std::string there = "127.0.0.1:" + std::to_string(hole.port());
  config_.unmatched.timeouts.connect = 10s;
  config_.unmatched.timeouts.total = 50ms;
  config_.unmatched.max_concurrent = 1;
  config_.unmatched.breaker = {.failures = 2, .max_pause = 10s};
  std::array<Asker, 4> waiting;
  for (Asker& asker : waiting) get(asker, there);
  for (std::size_t i = 0; i < 3; ++i) ASSERT_TRUE(finish(waiting[i])) << i;
  EXPECT_EQ(waiting[2].refusals[0].why, http::Reason::read_timeout) << "timeouts.total is over";
  EXPECT_TRUE(upstream(there).unreachable);
  EXPECT_GT(upstream(there).next_try, 1s) << "the second pause";
  EXPECT_FALSE(waiting[3].over());
  leave(waiting[3]);
}

TEST_F(UnreachableTest, a_host_that_drops_connection_attempts_is_tried_by_one_at_a_time) {
  test::ListeningSocket hole(0);
  const test::Socket in_its_way = test::connect_to(hole.port());  // the kernel drops attempts beyond its queue
  const std::string there = "127.0.0.1:" + std::to_string(hole.port());
  config_.unmatched.timeouts.connect = 100ms;
  config_.unmatched.max_concurrent = 20;
  config_.unmatched.breaker = {.failures = 5, .max_pause = 300ms};
  std::deque<Asker> waiting(200);
  for (Asker& asker : waiting) get(asker, there);
  std::int64_t before = run_.loop.now();
  ASSERT_TRUE(run_.run_until([&] {
    const bool broken = upstream(there).unreachable;
    if (!broken) before = run_.loop.now();
    return broken;
  }));
  EXPECT_EQ(upstream(there).totals.dispatched, 100u) << "five times twenty at once";
  Asker late;
  get(late, there);
  ASSERT_EQ(late.refusals.size(), 1u);
  EXPECT_EQ(late.refusals[0].why, http::Reason::unreachable);
  ASSERT_TRUE(run_.run_until([&] { return upstream(there).in_flight == 0; })) << "the rest of the last twenty";
  std::size_t most = 0;
  ASSERT_TRUE(run_.run_until([&] {
    most = std::max(most, upstream(there).in_flight);
    return upstream(there).totals.dispatched == 103;
  }));
  EXPECT_EQ(most, 1u);
  EXPECT_GE(run_.loop.now() - before, 3 * 300'000 + 2 * 100'000 - 100'000) << "three pauses, and two dials between";
  for (Asker& asker : waiting) {
    if (!asker.over()) leave(asker);
  }
}

TEST_F(UnreachableTest, a_reload_without_a_breaker_lets_newcomers_in) {
  break_it();
  config_.unmatched.breaker = BreakerConfig::off();
  dispatcher_->change();
  Asker late;
  get(late, host_);
  EXPECT_FALSE(late.over());
  ASSERT_TRUE(finish(late));
  EXPECT_EQ(late.refusals[0].why, http::Reason::connection_refused);
}

TEST_F(UnreachableTest, a_connection_that_is_closed_before_an_answer_is_no_failure_to_connect) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) { peer.read_until("\r\n\r\n"); }, {}, port_.number());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(ask_in_vain(), http::Reason::connection_terminated) << i;
}

TEST_F(UnreachableTest, hosts_without_an_entry_have_none_unless_it_is_set) {
  config_.unmatched = unmatched_from({});
  for (int i = 0; i < 8; ++i) EXPECT_EQ(ask_in_vain(), http::Reason::connection_refused) << i;
}

}  // namespace
}  // namespace penstock::proxy
