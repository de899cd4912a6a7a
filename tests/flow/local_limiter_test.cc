// SPDX-License-Identifier: Apache-2.0
// How limits compose in one process: the latest frontier decides, all commit or none, nothing beyond the horizon. What
// each kind does, and which limit is named, is in the table of scenarios.
#include "flow/local_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scenario.h"

namespace penstock::flow {
namespace {

using namespace scenarios;
using testing::ElementsAre;
using testing::IsEmpty;
using Stop = Booking::Stop;
using Scope = Booking::Scope;

Booking ask(LocalLimiter& limiter, Time now, std::size_t count = 1, std::string_view group = {}, int weight = 1) {
  Booking booking;
  EXPECT_TRUE(limiter.ask(now, {.group = group, .count = count, .weight = weight}, booking));
  return booking;
}

std::vector<Time> cancel(LocalLimiter& limiter, Time now, std::size_t count = 1, std::string_view group = {}) {
  std::vector<Time> times;
  for (const Departure& departure : ask(limiter, now, count, group).departures) times.push_back(departure.at);
  return times;
}

LocalLimiter local(std::vector<LimitConfig> limits) { return LocalLimiter(std::move(limits), kStart); }

// ---- who leaves late ------------------------------------------------------------------------------------------------

TEST(LocalLimiter, lets_all_limits_that_look_back_count_from_when_it_left) {
  LocalLimiter limiter = local({sliding(1, ms(100)), per_group(sliding(1, ms(200)))});
  cancel(limiter, 0, 1, "a");
  EXPECT_EQ(limiter.report_late("a", {.at = 0}, ms(30)).at, ms(30));
  EXPECT_EQ(ask(limiter, ms(40), 1, "b").not_before, ms(132)) << "the upstream's";
  EXPECT_EQ(ask(limiter, ms(40), 1, "a").not_before, ms(232)) << "the group's";
}

// ---- times ----------------------------------------------------------------------------------------------------------

TEST(LocalLimiter, without_limits_grants_everything_now) {
  LocalLimiter limiter;
  const Booking booking = ask(limiter, 77, 3);
  EXPECT_THAT(booking.departures, ElementsAre(Departure{77}, Departure{77}, Departure{77}));
  EXPECT_EQ(limiter.ahead(77, "", 1'000, 1'000), 77);
  EXPECT_EQ(limiter.forbids(1'000'000), kNoLimit);
}

TEST(LocalLimiter, commits_up_to_the_horizon_and_not_beyond) {
  LocalLimiter limiter = local({pacer(40)});
  const Booking booking = ask(limiter, sec(1), 9);
  EXPECT_THAT(booking.departures,
              ElementsAre(Departure{sec(1)}, Departure{ms(1'025), 1, 0}, Departure{ms(1'050), 1, 0}));
  EXPECT_EQ(booking.stop, Stop::turn);
  EXPECT_EQ(booking.scope, Scope::upstream);
  EXPECT_EQ(booking.limited_by, 0);
  EXPECT_EQ(booking.not_before, ms(1'075));
  EXPECT_EQ(booking.ask_again, ms(1'025));
  EXPECT_THAT(cancel(limiter, ms(1'025)), ElementsAre(ms(1'075))) << "nothing beyond it was committed";
}

TEST(LocalLimiter, books_at_the_moment_that_it_named_and_not_sooner) {
  LocalLimiter limiter = local({pacer(3)});
  cancel(limiter, 0);
  const Booking told = ask(limiter, 1);
  EXPECT_EQ(told.not_before, 333'334);
  EXPECT_THAT(cancel(limiter, told.ask_again - 1), IsEmpty());
  EXPECT_THAT(cancel(limiter, told.ask_again), ElementsAre(told.not_before));
}

TEST(LocalLimiter, maps_the_clock_of_its_caller) {
  // The caller's 0 is 0.4 s into a second.
  LocalLimiter limiter({window(1, sec(1))}, kStart + 400'000.25);
  EXPECT_THAT(cancel(limiter, 0), ElementsAre(0));
  EXPECT_EQ(ask(limiter, 0).not_before, ms(601));
}

// The model estimated: newcomers overtook those who had been told a time.
TEST(LocalLimiter, asking_again_and_again_neither_costs_nor_gains_anything) {
  LocalLimiter limiter =
      local({window(2, sec(1)), pacer(100), bucket(50, 1, sec(1)), sliding(40, sec(60)), counter(30, sec(60))});
  for (int second = 0; second < 5; ++second) {
    const Time now = sec(second) + ms(100);
    EXPECT_THAT(cancel(limiter, now, 2), ElementsAre(now, now + ms(10))) << second;
    for (int i = 0; i < 1'000; ++i) ASSERT_THAT(cancel(limiter, now + ms(20) + i), IsEmpty());
  }
}

TEST(LocalLimiter, names_a_reset_as_the_moment_to_ask_again) {
  LocalLimiter limiter = local({counter(1, sec(1))});
  cancel(limiter, ms(100));
  const Booking told = ask(limiter, ms(200));
  EXPECT_EQ(told.ask_again, ms(1'099));
  EXPECT_EQ(told.not_before, ms(1'100));
  EXPECT_THAT(cancel(limiter, told.ask_again - 1), IsEmpty());
  EXPECT_THAT(cancel(limiter, told.ask_again), ElementsAre(ms(1'100)));
}

// ---- groups ---------------------------------------------------------------------------------------------------------

TEST(LocalLimiter, stops_only_the_group_where_the_limit_of_the_group_is_further_than_its_reach) {
  LocalLimiter limiter = local({pacer(1'000), per_group(bucket(1, 1, sec(1)))});
  const Booking booking = ask(limiter, 0, 2, "a");
  EXPECT_THAT(booking.departures, ElementsAre(Departure{0}));
  EXPECT_EQ(booking.scope, Scope::group);
  EXPECT_EQ(booking.limited_by, 1);
  EXPECT_EQ(booking.not_before, sec(1));
  EXPECT_EQ(booking.ask_again, sec(1) - kNarrowReach);
  EXPECT_THAT(cancel(limiter, booking.ask_again - 1, 1, "a"), IsEmpty());
  EXPECT_THAT(cancel(limiter, booking.ask_again, 1, "a"), ElementsAre(sec(1)));
}

TEST(LocalLimiter, a_group_never_commits_the_upstream_beyond_its_reach) {
  LocalLimiter near = local({pacer(1'000), per_group(bucket(1, 1, ms(6)))});
  EXPECT_THAT(cancel(near, 0, 2, "a"), ElementsAre(0, ms(6))) << "the upstream would have allowed it at 1 ms";
  EXPECT_THAT(cancel(near, 0, 1, "b"), ElementsAre(ms(7)));
  LocalLimiter far = local({pacer(1'000), per_group(bucket(1, 1, 6'001))});
  EXPECT_THAT(cancel(far, 0, 2, "a"), ElementsAre(0));
  EXPECT_THAT(cancel(far, 0, 1, "b"), ElementsAre(ms(1))) << "no hole";
}

TEST(LocalLimiter, where_only_groups_have_limits_stops_only_the_group) {
  LocalLimiter limiter = local({per_group(pacer(10))});
  const Booking booking = ask(limiter, 0, 2, "a");
  EXPECT_EQ(booking.scope, Scope::group);
  EXPECT_EQ(booking.not_before, ms(100));
  EXPECT_EQ(booking.ask_again, ms(50));
  EXPECT_THAT(cancel(limiter, ms(50), 1, "a"), ElementsAre(ms(100)));
}

TEST(LocalLimiter, where_only_groups_have_limits_stops_only_the_group_after_departures_too) {
  LocalLimiter limiter = local({per_group(pacer(50))});
  const Booking booking = ask(limiter, 0, 9, "a");
  EXPECT_EQ(booking.departures.size(), 3u);
  EXPECT_EQ(booking.scope, Scope::group);
  EXPECT_EQ(booking.ask_again, ms(10));
}

TEST(LocalLimiter, where_only_groups_have_limits_a_pause_stops_every_lane_all_the_same) {
  LocalLimiter limiter = local({per_group(pacer(50))});
  limiter.pause(0, {}, sec(1));
  EXPECT_EQ(ask(limiter, 0, 1, "a").scope, Scope::upstream);
  EXPECT_EQ(ask(limiter, 0, 1, "a").ask_again, ms(950));
}

TEST(LocalLimiter, remembers_no_group_without_limits_of_its_own) {
  LocalLimiter limiter = local({pacer(1'000)});
  cancel(limiter, 0, 1, "a");
  EXPECT_EQ(limiter.limits().groups(), 0u);
}

TEST(LocalLimiter, remembers_no_group_that_was_refused) {
  LocalLimiter limiter = local({refusing(per_group(window(1, sec(1)))), pacer(1)});
  cancel(limiter, ms(100), 1, "a");
  cancel(limiter, ms(100), 1, "b");
  EXPECT_EQ(limiter.limits().groups(), 1u);
}

// ---- weights --------------------------------------------------------------------------------------------------------

TEST(LocalLimiter, forbids_a_weight_that_a_limit_can_never_admit) {
  const std::vector<LimitConfig> limits{
      pacer(10, 2), window(9, sec(1)), sliding(8, sec(1)), bucket(7, 1, sec(1)), per_group(counter(6, sec(1))),
      permits_of(1)};
  LocalLimiter limiter = local(limits);
  EXPECT_EQ(limiter.forbids(6), kNoLimit) << "a pacer paces, and a permit is one request's";
  EXPECT_EQ(limiter.forbids(7), 4);
  EXPECT_EQ(local({limits[0], limits[3]}).forbids(8), 1);
  EXPECT_EQ(local({limits[2]}).forbids(9), 0);
  EXPECT_EQ(local({limits[1]}).forbids(10), 0);
}

TEST(LocalLimiter, who_became_too_heavy_while_waiting_does_not_stop_the_others) {
  LocalLimiter limiter = local({window(9, sec(1))});
  limiter.set_limits({window(2, sec(1))});
  const Booking booking = ask(limiter, ms(100), 1, "a", 3);
  EXPECT_THAT(booking.departures, IsEmpty());
  EXPECT_EQ(booking.scope, Scope::group);
  EXPECT_EQ(booking.limited_by, 0);
  EXPECT_GT(booking.ask_again, ms(100));
}

// ---- permits --------------------------------------------------------------------------------------------------------

TEST(LocalLimiter, a_semaphore_lets_so_many_fly) {
  LocalLimiter limiter = local({permits_of(2)});
  const Booking booking = ask(limiter, 0, 3);
  EXPECT_EQ(booking.departures.size(), 2u);
  EXPECT_EQ(booking.stop, Stop::permit);
  EXPECT_EQ(booking.scope, Scope::upstream);
  EXPECT_EQ(booking.limited_by, 0);
  EXPECT_TRUE(limiter.landed(sec(1), {})) << "lanes may ask again";
  EXPECT_TRUE(limiter.landed(sec(1), {})) << "for whoever was called before may not have found a slot";
  EXPECT_THAT(cancel(limiter, sec(1), 3), ElementsAre(sec(1), sec(1)));
}

TEST(LocalLimiter, who_finds_no_permit_has_spent_nothing) {
  LocalLimiter limiter = local({permits_of(1), pacer(10)});
  cancel(limiter, 0);
  for (int i = 1; i < 10; ++i) EXPECT_EQ(ask(limiter, ms(100) * i).stop, Stop::permit);
  limiter.landed(ms(950), {});
  EXPECT_THAT(cancel(limiter, ms(960)), ElementsAre(ms(960)));
}

TEST(LocalLimiter, names_the_first_limit_without_a_permit) {
  LocalLimiter limiter = local({pacer(1'000), permits_of(2), named("other", permits_of(2))});
  EXPECT_EQ(ask(limiter, 0, 3).limited_by, 1);
}

TEST(LocalLimiter, looks_at_times_before_permits) {
  LocalLimiter limiter = local({permits_of(1), pacer(10)});
  cancel(limiter, 0);
  EXPECT_EQ(ask(limiter, ms(1)).stop, Stop::turn);
}

TEST(LocalLimiter, a_departure_given_back_frees_its_permit) {
  LocalLimiter limiter = local({permits_of(1)});
  const Booking booking = ask(limiter, 0);
  limiter.give_back(0, {}, booking.departures.front());
  EXPECT_THAT(cancel(limiter, 0), ElementsAre(0));
}

TEST(LocalLimiter, a_full_semaphore_in_refuse_mode_refuses) {
  LimitConfig one = permits_of(1);
  one.mode = LimitConfig::Mode::refuse;
  LocalLimiter limiter = local({pacer(1'000), one});
  const Booking booking = ask(limiter, 0, 2);
  EXPECT_EQ(booking.departures.size(), 1u);
  EXPECT_EQ(booking.stop, Stop::refused);
  EXPECT_EQ(booking.limited_by, 1);
  EXPECT_EQ(booking.ask_again, 0) << "no moment is sure";
}
TEST(LocalLimiter, a_semaphore_of_a_group_stops_that_group) {
  LocalLimiter limiter = local({per_group(permits_of(1))});
  cancel(limiter, 0, 1, "a");
  const Booking booking = ask(limiter, 0, 1, "a");
  EXPECT_EQ(booking.stop, Stop::permit);
  EXPECT_EQ(booking.scope, Scope::group);
  EXPECT_THAT(cancel(limiter, 0, 1, "b"), ElementsAre(0));
  EXPECT_TRUE(limiter.landed(0, "b"));
  EXPECT_EQ(ask(limiter, 0, 1, "a").stop, Stop::permit);
  EXPECT_TRUE(limiter.landed(0, "a"));
  EXPECT_THAT(cancel(limiter, 0, 1, "a"), ElementsAre(0));
}

TEST(LocalLimiter, a_changed_capacity_cuts_nobody_and_holds_from_the_next_on) {
  LocalLimiter limiter = local({permits_of(3)});
  cancel(limiter, 0, 3);
  limiter.set_limits({permits_of(2)});
  EXPECT_FALSE(limiter.landed(0, {})) << "two still fly";
  EXPECT_EQ(ask(limiter, 0).stop, Stop::permit);
  EXPECT_TRUE(limiter.landed(0, {}));
  EXPECT_THAT(cancel(limiter, 0, 2), ElementsAre(0));
  limiter.set_limits({permits_of(4)});
  EXPECT_THAT(cancel(limiter, 0, 9), ElementsAre(0, 0));
}

// ---- refusals, pauses, estimates ------------------------------------------------------------------------------------

TEST(LocalLimiter, a_refusal_says_until_when) {
  LocalLimiter limiter = local({pacer(1'000), refusing(window(1, sec(1)))});
  const Booking booking = ask(limiter, ms(100), 2);
  EXPECT_EQ(booking.departures.size(), 1u);
  EXPECT_EQ(booking.stop, Stop::refused);
  EXPECT_EQ(booking.limited_by, 1);
  EXPECT_EQ(booking.ask_again, sec(1));
}

TEST(LocalLimiter, a_refusal_before_a_reset_says_until_when_too) {
  LocalLimiter limiter = local({refusing(counter(1, sec(1)))});
  cancel(limiter, ms(100));
  EXPECT_EQ(ask(limiter, ms(200)).ask_again, ms(1'100));
}

TEST(LocalLimiter, a_pause_stops_every_lane_and_that_of_a_group_only_its_own) {
  LocalLimiter limiter = local({pacer(1'000)});
  limiter.pause(0, "a", sec(2));
  EXPECT_EQ(ask(limiter, 0, 1, "a").scope, Scope::group);
  EXPECT_EQ(ask(limiter, 0, 1, "a").limited_by, kPause);
  EXPECT_THAT(cancel(limiter, 0, 1, "b"), ElementsAre(0));
  limiter.pause(0, "", sec(1));
  EXPECT_EQ(ask(limiter, 0, 1, "b").scope, Scope::upstream);
  EXPECT_EQ(ask(limiter, 0, 1, "b").not_before, sec(1));
}

/// 4 of its own units wait: with two others that is 12, less 3 that these had more; a limit of this process counts 4.
TEST(LocalLimiter, expects_others_to_have_as_much_waiting_for_the_limits_that_are_shared) {
  LimitConfig own = pacer(1);
  own.shared = false;
  const OtherProcesses others{.count = 2, .had_less = -3};
  EXPECT_EQ(local({pacer(10)}).expected(0, "", 1, 3, 1, others), ms(900));
  EXPECT_EQ(local({pacer(10), own}).expected(0, "", 1, 3, 1, others), sec(4));
  EXPECT_EQ(local({pacer(10)}).expected(0, "", 5, 3, 1, others), ms(900)) << "only those behind wait for its weight";
  EXPECT_EQ(local({bucket(10, 2, sec(1))}).expected(0, "", 1, 3, 1, others), 0);
  EXPECT_EQ(local({bucket(10, 2, sec(1))}).expected(0, "", 5, 3, 1, others), sec(2)) << "the weight is its own";
}

TEST(LocalLimiter, expects_by_how_limits_were_said_to_stand) {
  const auto heard = [](LimitConfig limit, Time since, std::int64_t much) {
    LocalLimiter limiter = local({limit});
    limiter.heard(0, kStart + static_cast<Instant>(since), much);
    return limiter.expected(0, "", 1, 5, 0, {});
  };
  EXPECT_EQ(heard(pacer(10, 4), ms(100), 2), ms(400)) << "2 of the 5 fit into the burst, and the rest is paced";
  EXPECT_EQ(heard(counter(10, sec(1)), -ms(400), 6), ms(601)) << "after the next reset";
  EXPECT_EQ(heard(bucket(10, 2, sec(1)), -ms(400), 8), ms(1'600)) << "4 are missing: two refills";
}

/// 40 leave in the window of now, and of the 30 behind them 20 at once with the burst.
TEST(LocalLimiter, expects_what_a_window_lets_go_at_once_to_be_paced) {
  const LocalLimiter limiter = local({pacer(100, 20), window(40, sec(10))});
  EXPECT_EQ(limiter.expected(0, "", 1, 39, 0, {}), ms(190));
  EXPECT_EQ(limiter.expected(0, "", 1, 60, 0, {}), sec(10));
  EXPECT_EQ(limiter.expected(0, "", 1, 70, 0, {}), sec(10) + ms(100));
}

TEST(LocalLimiter, estimates_by_the_latest_limit_with_the_others_before_those_of_the_upstream) {
  LocalLimiter limiter = local({pacer(10), per_group(pacer(2))});
  EXPECT_EQ(limiter.ahead(0, "a", 0, 0), 0);
  EXPECT_EQ(limiter.ahead(0, "a", 1, 0), ms(500));
  EXPECT_EQ(limiter.ahead(0, "a", 1, 30), ms(3'100));
  cancel(limiter, 0, 1, "a");
  EXPECT_EQ(limiter.ahead(0, "a", 1, 0), ms(1'000));
  EXPECT_EQ(limiter.ahead(0, "b", 1, 0), ms(500));
  limiter.pause(0, "b", sec(9));
  EXPECT_EQ(limiter.ahead(0, "b", 1, 0), sec(9));
  limiter.pause(0, "", sec(5));
  EXPECT_EQ(limiter.ahead(0, "a", 1, 0), sec(5));
}

// ---- other limits ---------------------------------------------------------------------------------------------------

TEST(LocalLimiter, limits_of_other_names_or_kinds_start_anew) {
  LocalLimiter limiter = local({bucket(1, 1, sec(10))});
  cancel(limiter, 0);
  limiter.set_limits({named("other", bucket(1, 1, sec(10)))});
  EXPECT_THAT(cancel(limiter, 1), ElementsAre(1));
  limiter.set_limits({named("other", window(5, sec(1)))});
  EXPECT_THAT(cancel(limiter, ms(2), 5).size(), 5u);
  limiter.set_limits({});
  EXPECT_THAT(cancel(limiter, ms(2), 50).size(), 50u);
}

TEST(LocalLimiter, what_was_booked_elsewhere_counts) {
  LocalLimiter limiter = local({pacer(10), per_group(bucket(2, 1, sec(10)))});
  limiter.book(ms(40), "a", 1);
  limiter.book(ms(40), "a", 1);
  EXPECT_EQ(ask(limiter, ms(50), 1, "a").not_before, ms(10'040));
  EXPECT_EQ(ask(limiter, ms(50), 1, "b").not_before, ms(240));
}

TEST(LocalLimiter, who_left_late_counts_in_its_own_group_though_that_was_forgotten) {
  LocalLimiter limiter = local({per_group(sliding(1, sec(1)))});
  limiter.report_late("a", {.at = 0}, ms(1500));
  EXPECT_EQ(ask(limiter, ms(1600), 1, "b").departures.size(), 1u);
  EXPECT_EQ(ask(limiter, ms(1600), 1, "a").not_before, ms(2502));
}

TEST(LocalLimiter, what_was_booked_elsewhere_against_the_limits_is_no_credit) {
  LocalLimiter limiter = local({pacer(10), counter(1, sec(1)), sliding(1, sec(1))});
  for (int i = 0; i < 5; ++i) limiter.book(ms(100), {}, 1);
  limiter.book(ms(50), {}, 1);
  EXPECT_EQ(ask(limiter, ms(100)).not_before, ms(1'102));
}

// ---- what may be forgotten ------------------------------------------------------------------------------------------

TEST(LocalLimiter, may_be_forgotten_when_another_would_grant_the_same) {
  const std::pair<LimitConfig, Time> all[] = {{pacer(2), ms(500)},
                                              {window(5, sec(10)), sec(10)},
                                              {sliding(5, sec(10)), sec(10.002)},
                                              {bucket(5, 1, sec(1)), sec(1)},
                                              {limit(CounterConfig{.max = 5, .period = 10s}), sec(9.999)}};
  for (const auto& [one, from] : all) {
    for (const bool of_group : {false, true}) {
      LocalLimiter limiter = local({of_group ? per_group(one) : one});
      EXPECT_TRUE(limiter.forgettable(0)) << one.name << " was not used";
      cancel(limiter, 0, 1, "a");
      EXPECT_FALSE(limiter.forgettable(from - 1)) << one.name;
      EXPECT_TRUE(limiter.forgettable(from)) << one.name;
    }
  }
}

TEST(LocalLimiter, may_not_be_forgotten_while_a_permit_is_held_or_a_pause_lasts) {
  LocalLimiter limiter = local({permits_of(1)});
  cancel(limiter, 0);
  EXPECT_FALSE(limiter.forgettable(sec(3'600)));
  limiter.landed(sec(3'600), {});
  EXPECT_TRUE(limiter.forgettable(sec(3'600)));
  limiter.pause(sec(3'600), {}, sec(3'601));
  EXPECT_FALSE(limiter.forgettable(sec(3'601) - 1));
  EXPECT_TRUE(limiter.forgettable(sec(3'601)));
  limiter.pause(sec(3'601), "a", sec(3'602));
  EXPECT_FALSE(limiter.forgettable(sec(3'602) - 1));
  EXPECT_TRUE(limiter.forgettable(sec(3'602)));
}

}  // namespace
}  // namespace penstock::flow
