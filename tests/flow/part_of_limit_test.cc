// SPDX-License-Identifier: Apache-2.0
// One process alone, by its part of a limit: what it takes of what was left when it last heard, what afterwards, and
// what the whole limit remembers of it.
#include "flow/part_of_limit.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "flow/local_limiter.h"
#include "flow/make_limit.h"

namespace penstock::flow {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::SizeIs;

constexpr Instant kHour = 50'400'000'000'000;  // a whole one: windows that divide it have an edge there
constexpr Instant kNow = kHour + 400'000;
constexpr Instant kEdge = kHour + 1'000'000;

/// A limit of two processes: `whole` is 10 a second, or as much as that.
struct Halved {
  LimitConfig::Kind whole, part;

  PartOfLimit alone(const Remaining& left, Instant now = kNow) const { return {make_limit(whole), part, left, 2, now}; }
};

const Halved kWindow{WindowConfig{.reservoir = 10, .interval = 1s}, WindowConfig{.reservoir = 5, .interval = 1s}};
const Halved kSliding{SlidingWindowConfig{.max = 10, .interval = 1s}, SlidingWindowConfig{.max = 5, .interval = 1s}};
const Halved kCounter{CounterConfig{.max = 10, .period = 1s}, CounterConfig{.max = 5, .period = 1s}};
const Halved kPacer{PacerConfig{.qps = 10, .max_burst = 8}, PacerConfig{.qps = 5, .max_burst = 4}};
const Halved kBucket{TokenBucketConfig{.capacity = 10, .refill_amount = 2, .refill_frequency = 1s},
                     TokenBucketConfig{.capacity = 5, .refill_amount = 1, .refill_frequency = 1s}};

/// When the next leaves that asks at `now`.
Instant next(Limit& limit, Instant now, int weight = 1) {
  limit.refresh(now);
  while (limit.frontier(weight) == kNever) limit.refresh(now = limit.reset_at());
  return limit.after_guard(std::max(now, limit.frontier(weight)));
}

/// So many ask at `now`, one behind the other; when they leave, counted from then on.
std::vector<Instant> cancel(Limit& limit, std::size_t count, Instant now = kNow) {
  std::vector<Instant> times;
  for (Instant at = now; times.size() < count; times.push_back(at - now)) limit.commit(at = next(limit, at), 1);
  return times;
}

std::vector<Instant> operator+(std::vector<Instant> first, const std::vector<Instant>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
std::vector<Instant> times(std::size_t count, Instant at) { return std::vector<Instant>(count, at); }

// ---- counts ---------------------------------------------------------------------------------------------------------

TEST(PartOfLimit, of_a_window_is_that_of_what_was_left_until_it_ends_and_then_of_the_whole) {
  auto part = kWindow.alone({.until = kEdge, .units = 7});
  EXPECT_THAT(cancel(part, 9), ElementsAreArray(times(3, 0) + times(5, 601'000) + times(1, 1'601'000)));
}

TEST(PartOfLimit, of_a_sliding_window_is_that_of_what_was_left_until_all_is_free_and_then_of_the_whole) {
  auto part = kSliding.alone({.until = kNow + 600'000, .units = 7});
  EXPECT_THAT(cancel(part, 8), ElementsAreArray(times(3, 0) + times(2, 600'000) + times(3, 1'002'000)));
}

/// A busy pacer's window has nothing left, and would hold all up for an interval.
TEST(PartOfLimit, of_a_sliding_window_beside_a_pacer_is_its_own_whatever_was_left) {
  const LimitConfig::Kind whole = SlidingWindowConfig{.max = 10, .interval = 1s, .beside_pacer = true};
  const LimitConfig::Kind part = SlidingWindowConfig{.max = 10, .interval = 2s, .beside_pacer = true};
  for (const Remaining left : {Remaining{kNow + 900'000, 0}, Remaining{kNow - 1, 3}}) {
    PartOfLimit limit(make_limit(whole), part, left, 2, kNow);
    EXPECT_THAT(cancel(limit, 12), ElementsAreArray(times(10, 0) + times(2, 2'002'000)));
  }
}

TEST(PartOfLimit, of_a_counter_is_that_of_what_was_left_until_it_is_reset_and_then_of_the_whole) {
  auto part = kCounter.alone({.until = kNow + 2'000'000, .units = 7});
  EXPECT_THAT(cancel(part, 3), ElementsAreArray(times(3, 0)));
  EXPECT_GE(next(part, kNow), kNow + 2'000'000);
  EXPECT_THAT(cancel(part, 6, kNow + 2'500'000), ElementsAreArray(times(5, 0) + times(1, 500'000)))
      << "its resets keep the phase of its first departure";
}

TEST(PartOfLimit, of_a_count_is_its_whole_part_where_nothing_was_heard) {
  for (const auto* kind : {&kWindow, &kSliding, &kCounter}) {
    auto part = kind->alone({});
    const auto left = cancel(part, 6);
    EXPECT_THAT(std::vector(left.begin(), left.end() - 1), Each(0)) << kind->part.index();
    EXPECT_GE(left.back(), 600'000) << kind->part.index();
  }
}

TEST(PartOfLimit, of_a_count_is_nothing_where_nothing_was_left_or_less) {
  for (const auto* kind : {&kWindow, &kSliding, &kCounter}) {
    for (const int units : {1, 0, -3}) {
      auto part = kind->alone({.until = kEdge, .units = units});
      EXPECT_GE(next(part, kNow), kEdge) << kind->part.index() << ", of " << units;
    }
  }
}

TEST(PartOfLimit, of_a_count_is_used_up_by_weights) {
  for (const auto* kind : {&kWindow, &kSliding, &kCounter}) {
    auto part = kind->alone({.until = kEdge, .units = 6});
    part.commit(next(part, kNow, 2), 2);
    EXPECT_EQ(next(part, kNow, 1), kNow) << kind->part.index();
    EXPECT_GE(next(part, kNow, 2), kEdge) << kind->part.index();
  }
}

TEST(PartOfLimit, of_a_count_is_expected_when_it_is_free) {
  for (const auto* kind : {&kWindow, &kSliding, &kCounter}) {
    auto part = kind->alone({.until = kEdge, .units = 4});
    part.refresh(kNow);
    EXPECT_EQ(part.ahead(kNow, 1), kNow) << kind->part.index();
    EXPECT_GE(part.ahead(kNow, 2), kEdge) << kind->part.index();
    EXPECT_EQ(part.expected(kNow, 0, 2, {}), kNow) << kind->part.index();
    EXPECT_GE(part.expected(kNow, 1, 2, {}), kEdge) << kind->part.index();
  }
}

TEST(PartOfLimit, of_a_count_stays_off_the_edge_of_the_whole) {
  const Halved kinds[] = {
      {WindowConfig{.reservoir = 1, .interval = 1s}, WindowConfig{.reservoir = 1, .interval = 7s}},
      {CounterConfig{.max = 10, .period = 1s}, CounterConfig{.max = 5, .period = 1s}},
  };
  for (const auto& kind : kinds) {
    auto told = kind.alone({.until = kEdge, .units = 0});
    EXPECT_EQ(next(told, kNow), kEdge + kGuard) << kind.part.index();
  }
}

TEST(PartOfLimit, of_a_count_is_as_it_was_where_one_did_not_leave) {
  for (const auto* kind : {&kWindow, &kSliding, &kCounter}) {
    auto part = kind->alone({.until = kEdge, .units = 2});
    cancel(part, 1);
    ASSERT_GE(next(part, kNow), kEdge) << kind->part.index();
    part.give_back(kNow, 1);
    EXPECT_EQ(next(part, kNow), kNow) << kind->part.index();
  }
}

TEST(PartOfLimit, of_a_count_may_be_forgotten_only_when_what_was_left_counts_no_more) {
  for (const auto* kind : {&kWindow, &kSliding, &kCounter}) {
    EXPECT_GE(kind->alone({.until = kEdge, .units = 0}).forgettable_at(), kEdge) << kind->part.index();
  }
}

// ---- counts of which an older period was heard ----------------------------------------------------------------------

TEST(PartOfLimit, of_a_period_that_nobody_has_told_of_begins_with_the_next) {
  for (const auto* kind : {&kWindow, &kCounter}) {
    for (const Instant until : {kHour, kHour - 3'000'000}) {
      auto part = kind->alone({.until = until, .units = 10});
      const Instant first = next(part, kNow);
      EXPECT_GE(first, kEdge) << kind->part.index();
      EXPECT_LE(first, kEdge + kGuard) << kind->part.index();
      EXPECT_THAT(cancel(part, 5, kEdge + kGuard), Each(0)) << kind->part.index();
    }
  }
}

TEST(PartOfLimit, of_a_sliding_window_that_nobody_has_told_of_begins_when_all_of_it_is_over) {
  auto part = kSliding.alone({.until = kHour, .units = 10});
  EXPECT_EQ(next(part, kNow), kNow + 1'000'000);
  EXPECT_THAT(cancel(part, 5, kNow + 1'000'000), Each(0));
}

TEST(PartOfLimit, of_a_long_period_that_nobody_has_told_of_begins_at_once) {
  const auto waits = [](const LimitConfig::Kind& whole, const LimitConfig::Kind& part) {
    PartOfLimit alone(make_limit(whole), part, {.until = kHour, .units = 0}, 2, kNow);
    return next(alone, kNow) > kNow;
  };
  for (const Duration length : {10s, 12s}) {
    const bool is_short = length == 10s;
    EXPECT_EQ(
        waits(WindowConfig{.reservoir = 10, .interval = length}, WindowConfig{.reservoir = 5, .interval = length}),
        is_short);
    EXPECT_EQ(
        waits(SlidingWindowConfig{.max = 10, .interval = length}, SlidingWindowConfig{.max = 5, .interval = length}),
        is_short);
    EXPECT_EQ(waits(CounterConfig{.max = 10, .period = length}, CounterConfig{.max = 5, .period = length}), is_short);
  }
}

// ---- what flows -----------------------------------------------------------------------------------------------------

TEST(PartOfLimit, of_a_pacer_goes_on_at_its_rate_from_where_the_whole_was) {
  auto part = kPacer.alone({.until = kNow + 70'000, .units = 1});
  EXPECT_THAT(cancel(part, 3), ElementsAre(70'000, 270'000, 470'000));
}

TEST(PartOfLimit, of_a_pacer_has_its_part_of_the_burst_that_was_left) {
  auto some = kPacer.alone({.until = kNow + 70'000, .units = 5});
  EXPECT_THAT(cancel(some, 5), ElementsAre(70'000, 70'000, 70'000, 270'000, 470'000));
  auto all = kPacer.alone({.until = kNow, .units = 8});
  EXPECT_THAT(cancel(all, 6), ElementsAreArray(times(5, 0) + times(1, 200'000)));
  auto unheard = kPacer.alone({});
  EXPECT_THAT(cancel(unheard, 6), ElementsAreArray(times(5, 0) + times(1, 200'000)));
}

TEST(PartOfLimit, of_a_bucket_is_that_of_the_tokens_that_were_left_and_of_those_that_come) {
  auto part = kBucket.alone({.until = kNow - 300'000, .units = 5});
  EXPECT_THAT(cancel(part, 5), ElementsAre(0, 0, 700'000, 1'700'000, 2'700'000));
}

TEST(PartOfLimit, of_a_bucket_is_empty_where_no_token_was_left_and_full_where_nothing_was_heard) {
  auto empty = kBucket.alone({.until = kNow, .units = 1});
  EXPECT_THAT(cancel(empty, 1), ElementsAre(1'000'000));
  auto unheard = kBucket.alone({});
  EXPECT_THAT(cancel(unheard, 6), ElementsAreArray(times(5, 0) + times(1, 1'000'000)));
}

/// Redis refills what it has of the bucket meanwhile, and what is told is added to that.
TEST(PartOfLimit, of_a_bucket_tells_what_its_departures_took_but_not_what_was_missing_before) {
  auto empty = kBucket.alone({.until = kNow, .units = 0});
  EXPECT_EQ(empty.taken(), "1b " + std::to_string(static_cast<long long>(kNow)) + ".0000 0");
  const auto left = cancel(empty, 10);
  EXPECT_EQ(left.back(), 10'000'000);
  EXPECT_EQ(empty.taken(), "1b " + std::to_string(static_cast<long long>(kNow + left.back())) + ".0000 5")
      << "five have been refilled and five are missing, as at first";
}

TEST(PartOfLimit, of_a_semaphore_is_no_matter_of_time) {
  const Halved permits{SemaphoreConfig{.capacity = 1}, SemaphoreConfig{.capacity = 2}};
  auto part = permits.alone({.until = kEdge, .units = 0});
  EXPECT_THAT(cancel(part, 2), ElementsAre(0, 0));
  EXPECT_TRUE(part.full(0));
  part.landed();
  EXPECT_FALSE(part.full(0));
  part.count_existing(1);
  EXPECT_TRUE(part.full(0));
  part.landed(), part.landed();
  EXPECT_FALSE(part.release()->full(0)) << "all three have landed";
}

// ---- what becomes of it ---------------------------------------------------------------------------------------------

const std::vector<const Halved*> kAllRates{&kWindow, &kSliding, &kCounter, &kPacer, &kBucket};

/// A limit that was whole all the time, in which the same departures were committed.
std::unique_ptr<Limit> that_had(const Halved& kind, const std::vector<Instant>& departures) {
  auto limit = make_limit(kind.whole);
  for (const Instant at : departures) limit->commit(kNow + at, 1);
  return limit;
}

TEST(PartOfLimit, gives_the_whole_back_with_all_that_left_before_and_alone) {
  for (const auto* kind : kAllRates) {
    auto known = make_limit(kind->whole);
    known->commit(kNow, 1);
    const bool flows = kind == &kPacer || kind == &kBucket;
    PartOfLimit part(std::move(known), kind->part, {.until = flows ? kNow : kEdge, .units = 9}, 2, kNow);
    const auto alone = cancel(part, 4);
    ASSERT_THAT(alone, Each(0));
    const auto whole = part.release();
    EXPECT_EQ(whole->state(), that_had(*kind, times(1, 0) + alone)->state());
    EXPECT_NE(whole->state(), that_had(*kind, alone)->state()) << "the one before counts";
  }
}

TEST(PartOfLimit, takes_back_what_did_not_leave_from_the_whole_too) {
  for (const auto* kind : kAllRates) {
    auto part = kind->alone({});
    const auto alone = cancel(part, 2, kNow);
    part.give_back(kNow + alone.back(), 1);
    auto expected = that_had(*kind, alone);
    expected->give_back(kNow + alone.back(), 1);
    EXPECT_EQ(part.release()->state(), expected->state());
  }
}

TEST(PartOfLimit, has_what_left_late_counted_then) {
  auto part = kSliding.alone({});
  cancel(part, 5, kNow);
  for (int i = 0; i < 5; ++i) part.moved(kNow, kNow + 30'000, 1);
  EXPECT_EQ(next(part, kNow), kNow + 30'000 + 1'002'000) << "by the part";
  EXPECT_EQ(next(*part.release(), kNow, 6), kNow + 30'000 + 1'002'000) << "by the whole";
}

TEST(PartOfLimit, of_a_pacer_tells_by_its_own_rate_when_the_last_left) {
  auto part = kPacer.alone({.until = kNow, .units = 0});
  cancel(part, 2);
  const auto paced = make_limit(kPacer.part);
  paced->commit(kNow, 4), paced->commit(kNow, 1), paced->commit(kNow + 200'000, 1);
  EXPECT_EQ(part.state(), paced->state());
}

TEST(PartOfLimit, of_others_tells_what_the_whole_remembers) {
  for (const auto* kind : {&kWindow, &kSliding, &kCounter, &kBucket}) {
    auto part = kind->alone({.until = kEdge, .units = 4});
    EXPECT_EQ(part.state(), "");
    EXPECT_EQ(part.state(), that_had(*kind, {})->state());
    const auto alone = cancel(part, 3);
    EXPECT_EQ(part.state(), that_had(*kind, alone)->state());
  }
}

// ---- lost once more, and nothing was heard in between ---------------------------------------------------------------

TEST(PartOfLimit, of_a_count_is_not_taken_twice_in_one_period) {
  for (const auto* kind : {&kWindow, &kSliding, &kCounter}) {
    for (const std::size_t taken : {0U, 2U, 4U}) {
      auto first = kind->alone({.until = kEdge, .units = 8});
      ASSERT_THAT(cancel(first, taken), Each(0));
      auto second = kind->alone(first.left_alone(kNow + 1'000), kNow + 1'000);
      EXPECT_GE(next(second, kNow + 1'000), kEdge) << kind->part.index() << " after " << taken;
    }
  }
}

TEST(PartOfLimit, of_a_count_is_not_taken_twice_in_a_later_period) {
  for (const auto* kind : {&kWindow, &kSliding, &kCounter}) {
    auto first = kind->alone({.until = kHour - 1'000'000, .units = 8});
    const Instant later = kNow + 1'100'000;
    ASSERT_THAT(cancel(first, 5, later), Each(0)) << kind->part.index();
    auto second = kind->alone(first.left_alone(later + 1), later + 1);
    const Instant end = kind == &kWindow ? kHour + 2'000'000 : later + 1'000'000;
    EXPECT_GE(next(second, later + 1), end - kGuard) << kind->part.index();
    EXPECT_LE(next(second, later + 1), end + 2 * kGuard) << kind->part.index();
  }
}

TEST(PartOfLimit, that_flows_is_not_taken_twice) {
  for (const auto* kind : {&kPacer, &kBucket}) {
    auto first = kind->alone({.until = kNow, .units = 6});
    cancel(first, 4);
    const Instant free = next(first, kNow);
    ASSERT_GT(free, kNow + 1'000);
    auto second = kind->alone(first.left_alone(kNow + 1'000), kNow + 1'000);
    const auto left = cancel(second, 2, kNow + 1'000);
    EXPECT_GE(left.front() + kNow + 1'000, free) << kind->part.index();
    EXPECT_GE(left.back() - left.front(), kind == &kPacer ? 200'000 : 1'000'000) << "the burst is gone";
  }
}

// ---- in a limiter
// ----------------------------------------------------------------------------------------------------

class PartsInALimiter : public testing::Test {
 protected:
  std::size_t granted(std::string_view group, std::size_t count = 10) {
    Booking booking;
    limiter_.ask(400'000, {.group = group, .count = count}, booking);
    return booking.departures.size();
  }
  void go_alone() {
    limiter_.exchange([this](LimitIndex limit, std::unique_ptr<Limit> known, Remaining& left) {
      heard_.push_back({limit, left.units});
      return std::make_unique<PartOfLimit>(std::move(known), kWindow.part, left, 2, kNow);
    });
  }
  void come_back() {
    limiter_.exchange([](LimitIndex, std::unique_ptr<Limit> known, Remaining& left) {
      auto& part = dynamic_cast<PartOfLimit&>(*known);
      left = part.left_alone(kNow);
      return part.release();
    });
  }

  static std::vector<LimitConfig> of_the_upstream() { return {{.kind = kWindow.whole, .name = "all"}}; }
  static std::vector<LimitConfig> of_both() {
    return {{.kind = kPacer.whole, .name = "first", .per = LimitConfig::Per::group},
            {.kind = SlidingWindowConfig{.max = 1'000, .interval = 1s}, .name = "wide"},
            {.kind = kWindow.whole, .name = "each", .per = LimitConfig::Per::group}};
  }
  struct Heard {
    LimitIndex limit;
    std::int64_t units;
    bool operator==(const Heard&) const = default;
  };
  LocalLimiter limiter_{of_the_upstream(), kHour};
  std::vector<Heard> heard_;
};

TEST_F(PartsInALimiter, have_what_was_noted_of_the_upstream) {
  EXPECT_EQ(limiter_.left_of(0, "")->until, kAlways);
  limiter_.note_left(0, "", {.until = kEdge, .units = 9});
  limiter_.left_of(0, "")->units -= 2;
  go_alone();
  EXPECT_THAT(heard_, ElementsAre(Heard{0, 7}));
  EXPECT_EQ(granted(""), 3U);
}

TEST_F(PartsInALimiter, have_what_was_noted_of_each_group) {
  limiter_.set_limits({{.kind = kWindow.whole, .name = "each", .per = LimitConfig::Per::group}});
  EXPECT_EQ(limiter_.left_of(0, "a"), nullptr);
  limiter_.note_left(0, "a", {.until = kEdge, .units = 4});
  limiter_.note_left(0, "b", {.until = kEdge, .units = 8});
  EXPECT_EQ(limiter_.limits().groups(), 2U);
  go_alone();
  EXPECT_EQ(granted("a"), 2U);
  EXPECT_EQ(granted("b"), 4U);
}

TEST_F(PartsInALimiter, are_found_by_their_place_among_limits_of_groups_and_others) {
  limiter_.set_limits(of_both());
  limiter_.note_left(2, "a", {.until = kEdge, .units = 4});
  EXPECT_EQ(limiter_.left_of(2, "a")->units, 4);
  EXPECT_EQ(limiter_.left_of(0, "a")->until, kAlways) << "of the other nothing was noted";
  EXPECT_EQ(limiter_.left_of(1, "a")->until, kAlways) << "nor of the upstream's";
  EXPECT_EQ(limiter_.left_of(2, "b"), nullptr);
}

TEST_F(PartsInALimiter, are_those_of_groups_that_are_remembered_later) {
  limiter_.set_limits({{.kind = kWindow.whole, .name = "each", .per = LimitConfig::Per::group}});
  go_alone();
  EXPECT_EQ(granted("new"), 5U) << "its part";
  come_back();
  EXPECT_EQ(granted("new"), 5U) << "the rest of the whole";
  EXPECT_EQ(granted("new"), 0U);
  go_alone();
  EXPECT_EQ(granted("new"), 0U) << "not its part again";
}

TEST_F(PartsInALimiter, are_not_taken_twice_by_a_group_that_is_lost_twice) {
  limiter_.set_limits({{.kind = kWindow.whole, .name = "each", .per = LimitConfig::Per::group}});
  limiter_.note_left(0, "a", {.until = kEdge, .units = 4});
  go_alone();
  EXPECT_EQ(granted("a"), 2U);
  come_back();
  go_alone();
  EXPECT_EQ(granted("a"), 0U);
}

TEST_F(PartsInALimiter, of_a_group_are_forgotten_where_the_limits_of_groups_change) {
  limiter_.set_limits(of_both());
  limiter_.note_left(2, "a", {.until = kEdge, .units = 4});
  auto limits = of_both();
  limits.push_back({.kind = kBucket.whole, .name = "too", .per = LimitConfig::Per::group});
  limiter_.set_limits(limits);
  EXPECT_EQ(limiter_.left_of(2, "a"), nullptr);
  EXPECT_EQ(limiter_.left_of(3, "a"), nullptr);
}

}  // namespace
}  // namespace penstock::flow
