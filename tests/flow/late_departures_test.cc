// SPDX-License-Identifier: Apache-2.0
// Who has departed and has not left keeps its place under a limit that looks back, however long that takes.
#include "flow/late_departures.h"

#include <gtest/gtest.h>

#include <list>
#include <optional>

#include "flow/keeps.h"
#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"
#include "support/scenario.h"

namespace penstock::flow {
namespace {

using namespace scenarios;
using testing::ElementsAre;
using testing::IsEmpty;

// ---- how late one may be --------------------------------------------------------------------------------------------

/// A request that departs at a moment.
struct Departed {
  explicit Departed(LateDepartures& late, Time at = 0, std::string_view group = {})
      : departure{at}, leaving(late, LaneKey(group), departure) {}
  Departure departure;
  LateDepartures::Leaving leaving;
};

TEST(LateDepartures, expects_nothing_where_all_have_left) {
  LateDepartures late;
  EXPECT_EQ(late.to_expect(sec(1)), 0);
  Departed(late).leaving.left(ms(5));
  EXPECT_EQ(late.to_expect(sec(1)), 0);
}

TEST(LateDepartures, expects_a_second_of_those_who_leave_before_any_has) {
  LateDepartures late;
  const Departed departed(late);
  EXPECT_EQ(late.to_expect(sec(1)), LateDepartures::kAssumed);
}

TEST(LateDepartures, expects_the_latest_of_the_last_minute) {
  LateDepartures late;
  const Departed departed(late, sec(59));
  Departed(late, sec(59)).leaving.left(sec(59) + ms(5));
  Departed(late, sec(61)).leaving.left(sec(61) + kOnTime);
  EXPECT_EQ(late.to_expect(sec(119)), ms(5));
  EXPECT_EQ(late.to_expect(sec(121)), 0) << "on time is something to go by";
  EXPECT_EQ(late.to_expect(sec(181)), LateDepartures::kAssumed);
}

TEST(LateDepartures, is_counted_from_the_booking_however_often_a_departure_was_counted_anew) {
  LateDepartures late;
  LocalLimiter limiter({sliding(1, ms(500))}, kStart);
  Departed departed(late);
  const Departed another(late);
  for (Time now = 0; now <= sec(2); now += ms(10)) late.count_anew(now, ms(500), limiter);
  departed.leaving.left(sec(2));
  EXPECT_EQ(late.to_expect(sec(2)), sec(2));
}

// ---- counted as if they left now ------------------------------------------------------------------------------------

TEST(LateDepartures, keeps_its_place_for_an_interval_from_when_it_leaves) {
  constexpr Time kInterval = ms(500);
  LocalLimiter limiter({sliding(1, kInterval)}, kStart);
  Booking booking;
  ASSERT_TRUE(limiter.ask(0, {}, booking));
  LateDepartures late;
  std::optional<Departed> departed(std::in_place, late);
  std::optional<Time> next = late.due_for_newest(kInterval, limiter);
  for (Time now = 0; now < sec(3); now += ms(1)) {
    if (next && *next <= now) next = late.count_anew(now, kInterval, limiter);
    booking.clear();
    limiter.ask(now, {}, booking);
    ASSERT_TRUE(booking.departures.empty()) << now;
  }
  limiter.report_late({}, departed->departure, sec(3));
  departed.reset();
  EXPECT_EQ(late.count_anew(sec(4), kInterval, limiter), std::nullopt) << "nobody is left";
  EXPECT_EQ(limiter.ahead(sec(3), {}, 0, 0), sec(3) + kInterval + static_cast<Time>(2 * kGuard));
}

TEST(LateDepartures, is_not_counted_anew_before_its_place_is_about_to_become_free) {
  LocalLimiter limiter({sliding(1, sec(60))}, kStart);
  LateDepartures late;
  Departed departed(late);
  EXPECT_EQ(late.count_anew(sec(58), sec(60), limiter), late.due_for_newest(sec(60), limiter));
  EXPECT_EQ(departed.departure.at, 0);
  late.count_anew(sec(59), sec(60), limiter);
  EXPECT_EQ(departed.departure.at, sec(59));
}

/// Requests of one upstream: each departs in its time, and leaves when its connection stands.
class Crowd {
 public:
  Crowd(int seed, int max, Time interval) : chance_(seed), max_(max), interval_(interval) {}

  std::vector<Left> play(Time until) {
    for (; now_ < until; now_ += ms(1)) {
      if (next_ && *next_ <= now_) next_ = late_.count_anew(now_, interval_, limiter_);
      cancel();
      depart();
      ask();
    }
    std::ranges::stable_sort(left_, {}, &Left::at);
    return left_;
  }

 private:
  struct Request {
    Departure departure;
    std::optional<LateDepartures::Leaving> leaving;
    Time leaves;
  };

  void ask() {
    Booking booking;
    limiter_.ask(now_, {.count = static_cast<std::size_t>(chance_.from_to(1, max_))}, booking);
    for (const Departure& departure : booking.departures) booked_.push_back(departure);
  }

  void depart() {
    while (!booked_.empty() && booked_.front().at <= now_) {
      Request& request = requests_.emplace_back(booked_.front());
      booked_.pop_front();
      request.leaving.emplace(late_, "", request.departure);
      request.leaves = request.departure.at + (chance_.one_in(3) ? chance_.from_to(0, 2'000'000) : 0);
      const Time due = late_.due_for_newest(interval_, limiter_);
      next_ = std::min(next_.value_or(due), due);
    }
  }

  void cancel() {
    std::erase_if(requests_, [&](Request& request) {
      if (request.leaves > now_) return false;
      if (now_ > request.departure.at + kOnTime) limiter_.report_late({}, request.departure, now_);
      request.leaving->left(now_);
      left_.push_back({static_cast<Instant>(now_), 1});
      return true;
    });
  }

  Chance chance_;
  const int max_;
  const Time interval_;
  LocalLimiter limiter_{{sliding(max_, interval_)}, kStart};
  LateDepartures late_;
  std::list<Request> requests_;
  std::list<Departure> booked_;
  std::vector<Left> left_;
  std::optional<Time> next_;
  Time now_ = 0;
};

TEST(LateDepartures, never_lets_more_leave_in_any_interval_however_late_some_are) {
  for (int seed = 0; seed < 60; ++seed) {
    Chance chance(seed);
    const int max = chance.from_to(1, 20);
    const Time interval = ms(chance.one_in(2) ? chance.from_to(5, 120) : chance.from_to(120, 1'500));
    const auto left = Crowd(seed, max, interval).play(sec(8));
    EXPECT_GT(left.size(), 3u);
    const auto bound = [&](Instant length) { return length < static_cast<Instant>(interval) ? max : 1e9; };
    expect_at_most(left, bound);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed << ": " << max << " per " << interval << " us";
  }
}

// ---- where the process stood still ----------------------------------------------------------------------------------

TEST(LateDepartures, that_missed_its_departure_is_counted_before_anybody_asks_for_its_place) {
  LocalLimiter limiter({sliding(1, ms(100))}, kStart);
  SchedulerFixture yard({.max_concurrent = 10}, limiter);
  const Time begin = yard.now;
  EXPECT_THAT(yard.arrive_all({1, 2, 3}), ElementsAre(1));
  yard.advance_to(begin + ms(60));  // the second has a departure now
  EXPECT_THAT(yard.advance_to(begin + ms(300)), ElementsAre(2));
  EXPECT_THAT(yard.advance_to(begin + ms(402) - 1), IsEmpty());
  EXPECT_THAT(yard.advance_to(begin + ms(402)), ElementsAre(3));
}

}  // namespace
}  // namespace penstock::flow
