// SPDX-License-Identifier: Apache-2.0
// What is said of the departure of a request that comes now, against its departure.
#include "flow/rehearsal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

using namespace std::chrono_literals;

constexpr Time kInTheAir = 30 * kMs;

std::vector<LimitConfig> only(LimitConfig::Kind kind) { return {{.kind = std::move(kind)}}; }

LimitConfig in_each_group(LimitConfig::Kind kind) {
  return {.kind = std::move(kind), .name = "each", .per = LimitConfig::Per::group};
}
LimitConfig of_search(LimitConfig::Kind kind) {
  return {.kind = std::move(kind), .name = "search:rate", .route = "search"};
}

/// Requests of any lane and weight come faster than the limits let them go, for a while; some clients give up. Then one
/// comes that is foretold, and after it none.
class Course {
 public:
  struct What {
    std::vector<LimitConfig> limits;
    int slots = 500;
    int groups = 0;
    bool routed = false, weighted = false;
    int dearest = 1;
    double rate = 100;  // a second
  };
  Course(const What& what, std::uint64_t seed)
      : what_(what),
        dice_(seed),
        limiter_(what.limits),
        scheduler_({.max_concurrent = what.slots, .max_pending = 5'000, .max_wait = 86'400 * kSecond}, limiter_) {}

  struct Result {
    Outlook outlook;
    Time asked = 0, left = 0;
    LimitIndex limited_by = kNoLimit;
    bool waited() const { return left > asked; }
    /// Within 50 ms, or 2 %.
    bool right() const {
      const Time allowed = std::max(50 * kMs, (left - asked) / 50);
      return outlook.leaves && std::abs(*outlook.leaves - left) <= allowed;
    }
  };
  Result run() {
    const Time until = now_ + kSecond * (1 + static_cast<Time>(dice_() % 6)) + static_cast<Time>(dice_() % 1'000'000);
    while (now_ < until) {
      if (!tickets_.empty() && dice_() % 50 == 0) cancel();
      arrive();
      pass_to(now_ + 1 + static_cast<Time>(std::exponential_distribution(what_.rate)(dice_) * 1e6));
    }
    const Arrival asked = any_arrival();
    Result result{.outlook = rehearse(now_, scheduler_, asked), .asked = now_};
    asked_ = asked.id;
    tickets_.push_back(scheduler_.arrive(now_, asked, commands_));
    carry_out();
    for (int left = 1'000'000; left > 0 && asked_left_ == 0; --left) {
      if (!step(now_ + 86'400 * kSecond)) break;
    }
    result.left = asked_left_;
    result.limited_by = limited_by_;
    return result;
  }

 private:
  Arrival any_arrival() {
    names_.push_back(what_.groups > 0 ? std::to_string(dice_() % static_cast<std::uint64_t>(what_.groups)) : "");
    return {.id = tickets_.size(),
            .weight = what_.weighted && dice_() % 4 == 0 ? 3 : 1,
            .group = names_.back(),
            .route = what_.routed && dice_() % 3 == 0 ? "search" : "",
            .cost = what_.dearest > 1 ? 1 + static_cast<int>(dice_() % static_cast<std::uint64_t>(what_.dearest)) : 1};
  }
  void arrive() {
    const Arrival arrival = any_arrival();
    tickets_.emplace_back();
    tickets_.back() = scheduler_.arrive(now_, arrival, commands_);
    carry_out();
  }
  void cancel() {
    const Ticket ticket = tickets_[dice_() % tickets_.size()];
    if (std::ranges::find(flying_, ticket) == flying_.end()) scheduler_.cancel(now_, ticket, commands_);
    carry_out();
  }
  void pass_to(Time at) {
    while (step(at)) continue;
    now_ = at;
  }
  bool step(Time until) {
    const auto wakes = scheduler_.wake_at();
    const Time lands = landings_.empty() ? until + 1 : landings_.top().first;
    const Time next = std::min(lands, wakes.value_or(lands));
    if (next > until) return false;
    now_ = std::max(now_, next);
    if (wakes && *wakes <= now_) {
      scheduler_.advance(now_, commands_);
    } else {
      const std::size_t id = landings_.top().second;
      landings_.pop();
      std::erase(flying_, tickets_[id]);
      scheduler_.land(now_, tickets_[id], commands_);
    }
    carry_out();
    return true;
  }
  void carry_out() {
    for (const auto& start : commands_.start) {
      landings_.push({now_ + kInTheAir, start.id});
      flying_.push_back(tickets_[start.id]);
      if (start.id == asked_) asked_left_ = now_, limited_by_ = start.limited_by;
    }
    commands_.clear();
  }

  const What what_;
  std::mt19937_64 dice_;
  LocalLimiter limiter_;
  Scheduler scheduler_;
  Commands commands_;
  Time now_ = 1'000 * kSecond;
  std::vector<std::string> names_;
  std::vector<Ticket> tickets_, flying_;
  std::priority_queue<std::pair<Time, std::size_t>, std::vector<std::pair<Time, std::size_t>>, std::greater<>>
      landings_;
  std::size_t asked_ = static_cast<std::size_t>(-1);
  Time asked_left_ = 0;
  LimitIndex limited_by_ = kNoLimit;
};

/// Of a hundred that wait, 99 leave when they were told; each waits for what was said.
void expect_right(const std::string& name, const Course::What& what) {
  int waited = 0, right = 0, named = 0;
  Time worst = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Course::Result result = Course(what, seed).run();
    ASSERT_GT(result.left, 0) << name << ", seed " << seed;
    if (!result.waited()) continue;
    ++waited;
    right += result.right() ? 1 : 0;
    named += result.outlook.limited_by == result.limited_by ? 1 : 0;
    worst = std::max(worst, std::abs(result.outlook.leaves.value_or(0) - result.left));
  }
  EXPECT_GE(waited, 100) << name;
  EXPECT_GE(right * 100, waited * 99) << name << ": " << right << " of " << waited << ", the worst is off by " << worst;
  EXPECT_GE(named * 100, waited * 95) << name << ": " << named << " of " << waited;
}

TEST(Rehearsal, is_right_for_each_kind_of_limit) {
  expect_right("pacer", {.limits = only(PacerConfig{.qps = 40, .max_burst = 10})});
  expect_right("window", {.limits = only(WindowConfig{.reservoir = 40, .interval = 1s})});
  expect_right("spread window", {.limits = only(WindowConfig{.reservoir = 200, .interval = 5s, .spread = true})});
  expect_right("slidingWindow", {.limits = only(SlidingWindowConfig{.max = 40, .interval = 1s})});
  expect_right("tokenBucket",
               {.limits = only(TokenBucketConfig{.capacity = 50, .refill_amount = 4, .refill_frequency = 100ms})});
  expect_right("counter", {.limits = only(CounterConfig{.max = 40, .period = 1s})});
  expect_right("semaphore", {.limits = only(SemaphoreConfig{.capacity = 2, .lease = 30s})});
  expect_right("adaptive", {.limits = only(AdaptiveConfig{.min = 20, .max = 50})});
  expect_right("slots", {.limits = {}, .slots = 2});
}

TEST(Rehearsal, is_right_for_several_limits_and_lanes) {
  const LimitConfig pacer{.kind = PacerConfig{.qps = 40}},
      sliding{.kind = SlidingWindowConfig{.max = 90, .interval = 3s}};
  expect_right("pacer and slidingWindow", {.limits = {pacer, sliding}});
  expect_right("groups", {.limits = {pacer, sliding}, .groups = 4});
  expect_right("groups with weights", {.limits = {pacer, sliding}, .groups = 4, .weighted = true});
  expect_right("each group", {.limits = {pacer, in_each_group(PacerConfig{.qps = 8})}, .groups = 4});
  expect_right("a route",
               {.limits = {pacer, of_search(SlidingWindowConfig{.max = 5, .interval = 1s})}, .routed = true});
  expect_right("route and groups", {.limits = {pacer, of_search(WindowConfig{.reservoir = 5, .interval = 1s}),
                                               in_each_group(PacerConfig{.qps = 15})},
                                    .groups = 3,
                                    .routed = true,
                                    .weighted = true});
  expect_right("slots and a pacer", {.limits = {pacer}, .slots = 1, .groups = 3});
}

LimitConfig with_cost(LimitConfig::Kind kind) { return {.kind = std::move(kind), .name = "tokens", .unit = "tokens"}; }

TEST(Rehearsal, is_right_where_limits_count_the_cost) {
  expect_right("pacer", {.limits = {with_cost(PacerConfig{.qps = 400})}, .dearest = 20});
  expect_right("slidingWindow",
               {.limits = {with_cost(SlidingWindowConfig{.max = 400, .interval = 1s})}, .dearest = 20});
  const LimitConfig of_requests{.kind = PacerConfig{.qps = 60}};
  expect_right("beside a pacer",
               {.limits = {of_requests, with_cost(WindowConfig{.reservoir = 400, .interval = 1s})}, .dearest = 20});
}

TEST(Rehearsal, spends_nothing) {
  LocalLimiter limiter(only(PacerConfig{.qps = 10}));
  SchedulerFixture yard({}, limiter);
  yard.arrive_all({1, 2, 3});
  const auto state = [&] { return limiter.limits().limit(0, {}).state(); };
  const std::string before = state();
  const std::size_t held = yard.upstream.slots_held();
  for (int i = 0; i < 100; ++i) rehearse(yard.now, yard.upstream, {.group = "new"});
  EXPECT_EQ(state(), before);
  EXPECT_EQ(yard.upstream.pending(), 2u);
  EXPECT_EQ(yard.upstream.slots_held(), held);
  EXPECT_EQ(limiter.limits().groups(), 0u);
}

TEST(Rehearsal, of_a_request_that_leaves_at_once_names_no_limit) {
  LocalLimiter limiter(only(PacerConfig{.qps = 10}));
  SchedulerFixture yard({}, limiter);
  const Outlook outlook = rehearse(yard.now, yard.upstream, {});
  EXPECT_EQ(outlook.leaves, yard.now);
  EXPECT_EQ(outlook.limited_by, kNoLimit);
  EXPECT_FALSE(outlook.refused);
}

TEST(Rehearsal, says_what_would_be_refused_and_when_there_is_a_place) {
  LocalLimiter limiter(only(PacerConfig{.qps = 1}));
  SchedulerFixture yard({.max_concurrent = 64, .max_pending = 2}, limiter);
  yard.arrive_all({1, 2, 3});
  const Outlook full = rehearse(yard.now, yard.upstream, {.max_wait = kSecond});
  EXPECT_EQ(full.refused, Refused::queue_full);
  EXPECT_EQ(full.leaves, yard.now + 3 * kSecond);
  EXPECT_EQ(full.limited_by, 0);
  yard.cancel(3);
  const Outlook late = rehearse(yard.now, yard.upstream, {.max_wait = kSecond});
  EXPECT_EQ(late.refused, Refused::wait_over);
  EXPECT_EQ(late.leaves, yard.now + 2 * kSecond);
  EXPECT_FALSE(rehearse(yard.now, yard.upstream, {.max_wait = 2 * kSecond}).refused);
}

TEST(Rehearsal, knows_a_limit_in_refuse_mode) {
  LocalLimiter limiter({{.kind = WindowConfig{.reservoir = 1, .interval = 10s}, .mode = LimitConfig::Mode::refuse}});
  SchedulerFixture yard({}, limiter);
  yard.arrive(1);
  const Outlook outlook = rehearse(yard.now, yard.upstream, {});
  EXPECT_EQ(outlook.refused, Refused::limited);
  EXPECT_EQ(outlook.limited_by, 0);
}

TEST(Rehearsal, says_nothing_of_slots_as_long_as_no_flight_is_known) {
  LocalLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1);
  EXPECT_EQ(rehearse(yard.now, yard.upstream, {}).leaves, std::nullopt);
  yard.now += 100 * kMs;
  yard.land(1);
  yard.arrive(2);
  EXPECT_EQ(rehearse(yard.now, yard.upstream, {}).leaves, yard.now + 100 * kMs);
}

TEST(Rehearsal, waits_for_the_end_of_a_pause) {
  LocalLimiter limiter;
  SchedulerFixture yard({}, limiter);
  yard.arrive(1);
  yard.pause(1, 5 * kSecond);
  const Outlook outlook = rehearse(yard.now, yard.upstream, {});
  ASSERT_TRUE(outlook.leaves);
  EXPECT_GE(*outlook.leaves, yard.now + 5 * kSecond);
  EXPECT_EQ(outlook.limited_by, kPause);
}

TEST(Rehearsal, is_an_estimate_where_too_much_waits) {
  LocalLimiter limiter(only(PacerConfig{.qps = 100}));
  SchedulerFixture yard({.max_concurrent = 10'000, .max_pending = 10'000}, limiter);
  for (RequestId id = 1; id <= kMostRehearsed + 500; ++id) yard.arrive(id);
  const Outlook outlook = rehearse(yard.now, yard.upstream, {});
  ASSERT_TRUE(outlook.leaves);
  EXPECT_NEAR(static_cast<double>(*outlook.leaves - yard.now), 25e6, 0.5e6);
}

TEST(Rehearsal, knows_what_is_booked_and_what_returned) {
  LocalLimiter limiter(only(PacerConfig{.qps = 100}));
  SchedulerFixture yard({}, limiter);
  for (RequestId id = 1; id <= 30; ++id) yard.arrive(id);
  yard.requeue(1);
  EXPECT_EQ(rehearse(yard.now, yard.upstream, {}).leaves, yard.now + 310 * kMs);
}

/// When that request takes off, if each that does is answered, and lands.
Time left_at(SchedulerFixture& yard, RequestId asked) {
  std::multimap<Time, RequestId> landings;
  for (int steps = 10'000; steps > 0; --steps) {
    const Time lands = landings.empty() ? Gate::kNever : landings.begin()->first;
    const Time next = std::min(yard.upstream.wake_at().value_or(Gate::kNever), lands);
    if (next == Gate::kNever) break;
    yard.now = std::max(yard.now, next);
    Ids started;
    if (lands <= yard.now) {
      const RequestId id = landings.extract(landings.begin()).mapped();
      started = yard.answered(id);
      for (const RequestId other : yard.land(id)) started.push_back(other);
    } else {
      started = yard.advance_to(yard.now);
    }
    for (const RequestId id : started) {
      if (id == asked) return yard.now;
      yard.sent(id);
      landings.emplace(yard.now + kInTheAir, id);
    }
  }
  return 0;
}

class BesideManyFlights : public testing::Test {
 protected:
  static constexpr int kFlights = 2'500;
  static_assert(kFlights > kMostRehearsed);

  static void fly(SchedulerFixture& yard) {
    for (RequestId id = 1; id <= kFlights; ++id) ASSERT_THAT(yard.arrive(id), ElementsAre(id));
  }
};

TEST_F(BesideManyFlights, a_request_leaves_at_once_that_may) {
  LocalLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2 * kFlights}, limiter);
  fly(yard);
  const Outlook outlook = rehearse(yard.now, yard.upstream, {.max_wait = 0});
  EXPECT_EQ(outlook.leaves, yard.now);
  EXPECT_EQ(outlook.limited_by, kNoLimit);
  EXPECT_FALSE(outlook.refused);
}

TEST_F(BesideManyFlights, what_waits_is_rehearsed_in_turns) {
  LocalLimiter limiter(only(PacerConfig{.qps = 100, .max_burst = kFlights}));
  SchedulerFixture yard({.max_concurrent = 2 * kFlights}, limiter);
  fly(yard);
  for (RequestId id = 5'000; id < 5'100; ++id) yard.arrive(id, "other");
  yard.advance_to(yard.now + 200 * kMs);
  const Outlook outlook = rehearse(yard.now, yard.upstream, {.group = "new"});
  EXPECT_EQ(outlook.limited_by, 0);
  yard.arrive(9'999, "new");
  ASSERT_TRUE(outlook.leaves);
  EXPECT_EQ(*outlook.leaves, left_at(yard, 9'999));
}

TEST_F(BesideManyFlights, slots_are_an_estimate_that_is_named) {
  LocalLimiter limiter;
  SchedulerFixture yard({.max_concurrent = kFlights}, limiter);
  fly(yard);
  EXPECT_EQ(rehearse(yard.now, yard.upstream, {}).leaves, std::nullopt) << "no flight is known";
  yard.now += 10 * kSecond;
  for (RequestId id = 1; id <= kFlights; ++id) yard.land(id), yard.arrive(id);
  const Outlook outlook = rehearse(yard.now, yard.upstream, {});
  EXPECT_EQ(outlook.limited_by, kSlots);
  ASSERT_TRUE(outlook.leaves);
  EXPECT_NEAR(static_cast<double>(*outlook.leaves - yard.now), 10e6 / kFlights, 1);
}

TEST_F(BesideManyFlights, nobody_knows_when_a_permit_comes_free) {
  LocalLimiter limiter(only(SemaphoreConfig{.capacity = kFlights, .lease = 30s}));
  SchedulerFixture yard({.max_concurrent = 2 * kFlights}, limiter);
  fly(yard);
  EXPECT_EQ(rehearse(yard.now, yard.upstream, {}).leaves, std::nullopt);
  yard.land(1);
  EXPECT_EQ(rehearse(yard.now, yard.upstream, {}).leaves, yard.now);
}

TEST(Rehearsal, of_a_tunnel_says_what_it_waits_for) {
  LocalLimiter limiter;
  SchedulerFixture yard({.max_pending = 1, .max_tunnels = 1}, limiter);
  EXPECT_EQ(rehearse(yard.now, yard.upstream, {.tunnel = true}).leaves, yard.now);
  yard.arrive({.id = 1, .tunnel = true});
  const auto expect_wait = [&](std::optional<Time> max_wait, std::optional<Refused> refused) {
    const Outlook outlook = rehearse(yard.now, yard.upstream, {.max_wait = max_wait, .tunnel = true});
    EXPECT_EQ(outlook.leaves, std::nullopt);
    EXPECT_EQ(outlook.limited_by, kTunnels);
    EXPECT_EQ(outlook.refused, refused);
  };
  expect_wait({}, {});
  expect_wait(kSecond, {});
  expect_wait(0, Refused::wait_over);
  EXPECT_EQ(rehearse(yard.now, yard.upstream, {}).leaves, yard.now) << "no tunnel";
  yard.arrive({.id = 2, .tunnel = true});
  expect_wait(kSecond, Refused::queue_full);
  yard.cancel(2);
  yard.park(1);
  expect_wait({}, {});
  yard.now += kMinute;
  EXPECT_EQ(rehearse(yard.now, yard.upstream, {.tunnel = true}).leaves, yard.now) << "a tunnel that rests makes room";
}

TEST(Rehearsal, plays_pauses_of_which_the_limiter_knows_nothing) {
  LocalLimiter limiter(only(PacerConfig{.qps = 10}));
  SchedulerFixture yard({}, limiter);
  for (RequestId id = 1; id <= 101; ++id) yard.arrive(id);
  yard.now += kInTheAir;
  yard.land(1);
  yard.upstream.pause(yard.now, {}, 5 * kSecond, 300 * kSecond, yard.ticket(1), true);
  const Outlook outlook = rehearse(yard.now, yard.upstream, {});
  EXPECT_EQ(outlook.limited_by, 0);
  yard.arrive(102);
  ASSERT_TRUE(outlook.leaves);
  EXPECT_EQ(*outlook.leaves, left_at(yard, 102));
  EXPECT_NEAR(static_cast<double>(yard.now), 1'015e6, 0.1e6) << "5 s, and 100 that leave before";
}

TEST(Rehearsal, lets_other_groups_pass_while_one_is_paused) {
  LocalLimiter limiter(only(PacerConfig{.qps = 10}));
  SchedulerFixture yard({}, limiter);
  yard.arrive(1, "paused");
  for (RequestId id = 2; id <= 41; ++id) yard.arrive(id, id % 2 == 0 ? "paused" : "other");
  yard.now += kInTheAir;
  yard.land(1);
  yard.upstream.pause(yard.now, "paused", 3 * kSecond, 300 * kSecond, yard.ticket(1), true);
  const Outlook of_other = rehearse(yard.now, yard.upstream, {.group = "other"}),
                of_paused = rehearse(yard.now, yard.upstream, {.group = "paused"});
  yard.arrive(100, "other");
  ASSERT_TRUE(of_other.leaves && of_paused.leaves);
  EXPECT_GE(*of_paused.leaves, yard.now + 4 * kSecond) << "40 that leave in 4 s";
  EXPECT_EQ(*of_other.leaves, left_at(yard, 100));
}

TEST(Rehearsal, knows_nothing_where_the_limiter_waits_for_redis) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_pending = 1}, limiter);
  const auto ahead = [&](std::optional<Time> max_wait) {
    return rehearse(yard.now, yard.upstream, {.max_wait = max_wait});
  };
  EXPECT_EQ(ahead(kSecond).leaves, std::nullopt);
  EXPECT_EQ(ahead(kSecond).limited_by, kRedis);
  EXPECT_FALSE(ahead(kSecond).refused);
  EXPECT_EQ(ahead(0).refused, Refused::wait_over);
  yard.arrive(1);
  EXPECT_EQ(ahead(kSecond).refused, Refused::queue_full);
}

}  // namespace
}  // namespace penstock::flow
