// SPDX-License-Identifier: Apache-2.0
// Limits that come, go and change where they are kept in this process: those that stay remember what has left, those
// that are new count nothing of before but what is in flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "flow/keeps.h"
#include "flow/limit_remap.h"
#include "flow/local_limiter.h"
#include "flow/scheduler.h"
#include "support/scenario.h"

namespace penstock::flow {
namespace {

using namespace scenarios;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Stop = Booking::Stop;

class Changing : public testing::Test {
 protected:
  Booking ask(Time now, std::size_t count = 1, std::string_view group = {}) {
    Booking booking;
    EXPECT_TRUE(limiter_.ask(now, {.group = group, .count = count}, booking));
    return booking;
  }
  std::vector<Departure> cancel(Time now, std::size_t count = 1, std::string_view group = {}) {
    return ask(now, count, group).departures;
  }
  void start_with(std::vector<LimitConfig> limits) { limiter_.set_limits(std::move(limits)); }
  void change(Time now, const std::vector<LimitConfig>& limits) { limiter_.change(now, limits); }

  LocalLimiter limiter_{{}, kStart};
};

// ---- which is which -------------------------------------------------------------------------------------------------

TEST(MovedLimits, are_those_of_the_same_name_kind_and_scope) {
  const std::vector<LimitConfig> before{pacer(1), named("x", window(1, sec(1))), per_group(counter(1, sec(1)))};
  EXPECT_THAT(limit_remap(before, before), ElementsAre(0, 1, 2));
  EXPECT_THAT(limit_remap(before, {before[2], named("x", window(9, sec(9))), refusing(pacer(7))}),
              ElementsAre(2, 1, 0));
  EXPECT_THAT(limit_remap(before, {named("other", pacer(1)), named("x", sliding(1, sec(1))),
                                   named("counter-of-group", counter(1, sec(1)))}),
              ElementsAre(kNoLimit, kNoLimit, kNoLimit));
  EXPECT_THAT(limit_remap({limit(PacerConfig{.qps = 1})}, {{.kind = PacerConfig{.qps = 2}}}), ElementsAre(0))
      << "a limit without a name is called by its kind";
}

// ---- those that stay ------------------------------------------------------------------------------------------------

TEST_F(Changing, a_limit_stays_though_another_comes_before_it) {
  start_with({bucket(1, 1, sec(10))});
  cancel(0);
  change(1, {pacer(1'000), bucket(1, 1, sec(10))});
  const Booking booking = ask(2);
  EXPECT_EQ(booking.not_before, sec(10));
  EXPECT_EQ(booking.limited_by, 1);
}

TEST_F(Changing, a_limit_stays_though_another_goes) {
  start_with({pacer(1'000), bucket(1, 1, sec(10)), window(5, sec(1))});
  cancel(0);
  change(1, {bucket(1, 1, sec(10))});
  EXPECT_EQ(ask(2).not_before, ms(10'001)) << "the first kept off the edge of a window";
}

TEST_F(Changing, limits_stay_in_another_order_with_other_parameters) {
  start_with({bucket(1, 1, sec(10)), counter(5, sec(3))});
  cancel(0);
  change(1, {counter(1, sec(3)), bucket(4, 1, sec(10))});
  EXPECT_EQ(ask(2).limited_by, 0) << "the counter remembers one";
  EXPECT_THAT(cancel(sec(3) + ms(1)), SizeIs(1));
  change(sec(4), {bucket(4, 1, sec(10))});
  EXPECT_THAT(cancel(sec(4), 9), SizeIs(2)) << "the bucket remembers two";
}

TEST_F(Changing, a_raised_limit_lets_more_leave_at_once) {
  start_with({window(1, sec(3'600))});
  cancel(ms(5));
  EXPECT_THAT(cancel(ms(5)), IsEmpty());
  change(ms(5), {window(3, sec(3'600))});
  EXPECT_THAT(cancel(ms(5), 9), SizeIs(2));
}

TEST_F(Changing, a_lowered_limit_counts_what_has_left) {
  start_with({window(5, sec(1))});
  cancel(ms(5), 3);
  change(ms(5), {window(3, sec(1))});
  EXPECT_EQ(ask(ms(5)).not_before, ms(1'001));
}

TEST_F(Changing, groups_remember_what_stays_in_another_order) {
  start_with({per_group(bucket(1, 1, sec(10))), pacer(1'000), per_group(window(5, sec(1)))});
  cancel(ms(5), 1, "a");
  change(ms(6), {per_group(window(1, sec(1))), per_group(counter(9, sec(5))), per_group(bucket(2, 1, sec(10)))});
  EXPECT_EQ(ask(ms(7), 1, "a").limited_by, 0);
  EXPECT_EQ(ask(ms(7), 1, "a").not_before, ms(1'001));
  cancel(ms(1'001), 1, "a");
  EXPECT_EQ(ask(ms(2'001), 1, "a").limited_by, 2) << "two tokens are gone";
  EXPECT_THAT(cancel(ms(7), 1, "b"), SizeIs(1));
}

TEST_F(Changing, a_limit_that_was_gone_starts_anew) {
  start_with({bucket(1, 1, sec(10)), per_group(bucket(1, 1, sec(10)))});
  cancel(0, 1, "a");
  change(1, {});
  EXPECT_THAT(cancel(1, 50, "a"), SizeIs(50));
  change(2, {bucket(1, 1, sec(10)), per_group(bucket(1, 1, sec(10)))});
  EXPECT_THAT(cancel(3, 1, "a"), SizeIs(1));
}

TEST_F(Changing, another_scope_is_another_limit) {
  start_with({named("x", bucket(1, 1, sec(10)))});
  cancel(0, 1, "a");
  change(1, {named("x", per_group(bucket(1, 1, sec(10))))});
  EXPECT_THAT(cancel(2, 1, "a"), SizeIs(1));
}

TEST_F(Changing, pauses_stay_whatever_the_limits) {
  start_with({per_group(pacer(1'000))});
  limiter_.pause(0, "a", sec(5));
  limiter_.pause(0, {}, sec(2));
  change(1, {bucket(1, 1, sec(10))});
  EXPECT_EQ(ask(2, 1, "b").not_before, sec(2));
  EXPECT_EQ(ask(2, 1, "a").not_before, sec(5));
  change(3, {per_group(counter(1, sec(1)))});
  EXPECT_EQ(ask(4, 1, "a").not_before, sec(5));
}

// ---- what was booked before -----------------------------------------------------------------------------------------

TEST_F(Changing, what_was_booked_before_is_given_back_to_those_that_it_counted_in_alone) {
  start_with({counter(2, sec(10))});
  const auto before = cancel(0);
  change(1, {counter(2, sec(10)), named("new", counter(1, sec(10)))});
  EXPECT_THAT(cancel(ms(1)), SizeIs(1)) << "the new one has counted nothing";
  limiter_.give_back(ms(2), {}, before.front());
  EXPECT_EQ(ask(ms(3)).limited_by, 1) << "nor does it take back what it has not counted";
  change(ms(3), {counter(2, sec(10))});
  EXPECT_THAT(cancel(ms(3)), SizeIs(1)) << "the old one has";
  EXPECT_THAT(cancel(ms(3)), IsEmpty());
}

TEST_F(Changing, what_another_limiter_has_booked_is_given_back_to_none_of_these) {
  start_with({counter(1, sec(10))});
  cancel(0);
  limiter_.give_back(1, {}, {.at = 0, .epoch = kNoEpoch});
  EXPECT_THAT(cancel(2), IsEmpty());
}

TEST_F(Changing, in_groups_too) {
  start_with({per_group(counter(5, sec(10)))});
  const auto before = cancel(0, 1, "a");
  change(1, {per_group(counter(5, sec(10))), per_group(named("new", counter(1, sec(10))))});
  cancel(ms(1), 1, "a");
  limiter_.give_back(ms(2), "a", before.front());
  EXPECT_THAT(cancel(ms(3), 1, "a"), IsEmpty());
}

// ---- permits --------------------------------------------------------------------------------------------------------

TEST_F(Changing, a_permit_stays_held_whatever_else_changes) {
  start_with({permits_of(2), pacer(1'000)});
  cancel(0, 2);
  change(ms(1), {window(9, sec(1)), permits_of(2)});
  EXPECT_EQ(ask(ms(2)).stop, Stop::permit);
  EXPECT_TRUE(limiter_.landed(ms(3), {}));
  EXPECT_THAT(cancel(ms(4), 5), SizeIs(1));
}

TEST_F(Changing, a_new_semaphore_counts_those_in_flight_as_its_holders) {
  cancel(0, 3);
  change(1, {permits_of(2)});
  limiter_.count_existing(1, {}, 3);
  EXPECT_EQ(ask(2).stop, Stop::permit);
  EXPECT_FALSE(limiter_.landed(3, {}));
  EXPECT_EQ(ask(4).stop, Stop::permit);
  EXPECT_TRUE(limiter_.landed(5, {}));
  EXPECT_THAT(cancel(6, 5), SizeIs(1));
}

TEST_F(Changing, a_semaphore_that_stays_counts_nobody_twice) {
  start_with({permits_of(3)});
  cancel(0, 2);
  change(1, {permits_of(3), named("new", permits_of(3))});
  limiter_.count_existing(1, {}, 2);
  EXPECT_THAT(cancel(2, 5), SizeIs(1));
  change(3, {permits_of(3), named("new", permits_of(3))});
  limiter_.count_existing(3, {}, 3);
  limiter_.landed(4, {});
  EXPECT_THAT(cancel(5, 5), SizeIs(1)) << "both have it back";
}

TEST_F(Changing, a_new_semaphore_of_groups_counts_those_in_flight_of_each) {
  cancel(0, 2, "a");
  cancel(0, 1, "b");
  change(1, {per_group(permits_of(2)), permits_of(5)});
  limiter_.count_existing(1, "a", 2);
  limiter_.count_existing(1, "b", 1);
  EXPECT_EQ(ask(2, 1, "a").limited_by, 0);
  EXPECT_THAT(cancel(2, 5, "b"), SizeIs(1));
  EXPECT_THAT(cancel(2, 5, "c"), SizeIs(1)) << "five are in flight";
  EXPECT_TRUE(limiter_.landed(3, "a"));
  EXPECT_THAT(cancel(3, 5, "a"), SizeIs(1));
}

TEST_F(Changing, what_is_booked_before_a_semaphore_came_holds_a_permit_until_it_is_given_back) {
  const auto before = cancel(0, 2);
  change(0, {permits_of(2)});
  limiter_.count_existing(0, {}, 2);
  EXPECT_EQ(ask(1).stop, Stop::permit);
  limiter_.give_back(2, {}, before.back());
  EXPECT_THAT(cancel(3, 5), SizeIs(1));
}

TEST_F(Changing, a_semaphore_that_goes_and_comes_back_loses_and_invents_no_permit) {
  start_with({permits_of(2)});
  cancel(0, 2);
  change(1, {});
  cancel(2, 2);
  limiter_.landed(3, {});
  change(4, {permits_of(2)});
  limiter_.count_existing(4, {}, 3);
  for (int flying = 3; flying > 2; --flying) limiter_.landed(5, {});
  EXPECT_EQ(ask(6).stop, Stop::permit);
  limiter_.landed(7, {});
  limiter_.landed(7, {});
  EXPECT_THAT(cancel(8, 5), SizeIs(2));
}

// ---- an upstream under semaphores that come and go ------------------------------------------------------------------

/// Random arrivals and landings in groups, and random changes. What each semaphore counts is never more than it has,
/// but for what flew when it came or was lowered; and when all have landed, it has all its permits.
class Flights {
 public:
  explicit Flights(std::uint64_t seed) : chance_(seed), heart_({.max_concurrent = 1'000}, limiter_) {}

  void run() {
    for (int step = 0; step < 400 && !testing::Test::HasFailure(); ++step, ++now_) {
      switch (chance_.from_to(0, 9)) {
        case 0: change(); break;
        case 1:
        case 2:
        case 3:
        case 4: land(); break;
        default: arrive();
      }
    }
    while (!flying_.empty() && !testing::Test::HasFailure()) land();
    EXPECT_TRUE(idle(heart_));
    for (int n = 0; n < 40; ++n) arrive();
    EXPECT_GE(flying_.size(), std::min<std::size_t>(40, std::min(least(LimitConfig::Per::upstream), least(kPerGroup))));
  }

 private:
  struct Known {
    LimitConfig limit;
    std::map<std::string, int> most;  // by group; what may fly now
  };

  void arrive() {
    groups_.push_back(kNames[static_cast<std::size_t>(chance_.from_to(0, 2))]);
    tickets_.push_back({});
    tickets_.back() = heart_.arrive(now_, {.id = groups_.size() - 1, .group = groups_.back()}, commands_);
    look();
  }
  void land() {
    if (flying_.empty()) return;
    const auto one = flying_.begin() + chance_.from_to(0, static_cast<int>(flying_.size()) - 1);
    const std::size_t id = *one;
    flying_.erase(one);
    heart_.land(now_, tickets_[id], commands_);
    look();
  }
  void change() {
    std::vector<LimitConfig> limits;
    for (const auto name : {"x", "y", "z"}) {
      if (chance_.one_in(2)) continue;
      LimitConfig one = named(name, permits_of(chance_.from_to(1, 6)));
      if (chance_.one_in(2)) one = named(name, per_group(one));
      limits.push_back(one);
    }
    if (limits.size() > 1 && chance_.one_in(2)) std::swap(limits.front(), limits.back());
    std::vector<LimitConfig> before;
    for (const Known& one : known_) before.push_back(one.limit);
    limiter_.change(now_, limits);
    known_.clear();
    for (const LimitConfig& limit : limits) {
      Known& one = known_.emplace_back(limit);
      for (const std::string name : kNames) one.most[name] = count(one, name);
    }
    heart_.change(now_, {.max_concurrent = 1'000}, limit_remap(before, limits), commands_);
    look();
  }

  void look() {
    for (const auto& start : commands_.start) flying_.push_back(start.id);
    EXPECT_THAT(commands_.refuse, IsEmpty());
    commands_.clear();
    for (Known& one : known_) {
      for (auto& [name, most] : one.most) {
        const int capacity = std::get<SemaphoreConfig>(one.limit.kind).capacity;
        EXPECT_LE(count(one, name), std::max(capacity, most)) << one.limit.name << " of '" << name << "'";
        most = std::min(most, count(one, name));
      }
    }
  }

  int count(const Known& one, const std::string& group) const {
    const auto counts = [&](std::size_t id) { return one.limit.per != kPerGroup || groups_[id] == group; };
    return static_cast<int>(std::ranges::count_if(flying_, counts));
  }
  std::size_t least(LimitConfig::Per per) const {
    int least = 1'000;
    for (const Known& one : known_) {
      if (one.limit.per == per) least = std::min(least, std::get<SemaphoreConfig>(one.limit.kind).capacity);
    }
    return static_cast<std::size_t>(least);
  }

  static constexpr LimitConfig::Per kPerGroup = LimitConfig::Per::group;
  static constexpr std::array<const char*, 3> kNames{"", "a", "b"};

  Chance chance_;
  LocalLimiter limiter_{{}, kStart};
  Scheduler heart_;
  Commands commands_;
  Time now_ = 0;
  std::vector<std::string> groups_;
  std::vector<Ticket> tickets_;
  std::vector<std::size_t> flying_;
  std::vector<Known> known_;
};

TEST(Flights, keep_to_semaphores_that_come_and_go_and_no_permit_is_lost) {
  for (std::uint64_t seed = 0; seed < 500 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Flights(seed).run();
  }
}

}  // namespace
}  // namespace penstock::flow
