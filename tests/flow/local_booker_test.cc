// SPDX-License-Identifier: Apache-2.0
// How limits compose in one process: the latest frontier decides, all commit or none, nothing beyond the horizon.
#include "flow/local_booker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flow/limits.h"

namespace penstock::flow {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Booking ask(LocalBooker& booker, Time now, std::size_t count) {
  Booking booking;
  EXPECT_TRUE(booker.ask(now, {}, count, booking));
  return booking;
}

TEST(LocalBooker, without_limits_grants_everything_now) {
  LocalBooker booker;
  const Booking booking = ask(booker, 77, 3);
  EXPECT_THAT(booking.departures, ElementsAre(77, 77, 77));
  EXPECT_EQ(booking.ask_again, std::nullopt);
}

TEST(LocalBooker, spaces_departures_from_now_on) {
  LocalBooker booker(limits(Spacing(10'000)));
  EXPECT_THAT(ask(booker, 1'000'000, 3).departures, ElementsAre(1'000'000, 1'010'000, 1'020'000));
  EXPECT_THAT(ask(booker, 1'000'000, 1).departures, ElementsAre(1'030'000));
  EXPECT_THAT(ask(booker, 2'000'000, 1).departures, ElementsAre(2'000'000));
}

TEST(LocalBooker, commits_up_to_the_horizon_and_not_beyond) {
  LocalBooker booker(limits(Spacing(25'000)));
  const Booking booking = ask(booker, 1'000'000, 9);
  EXPECT_THAT(booking.departures, ElementsAre(1'000'000, 1'025'000, 1'050'000));
  EXPECT_EQ(booking.not_before, 1'075'000);
  EXPECT_EQ(booking.ask_again, 1'075'000 - kHorizon);
  EXPECT_THAT(ask(booker, 1'025'000, 1).departures, ElementsAre(1'075'000)) << "nothing beyond it was committed";
}

TEST(LocalBooker, what_is_beyond_the_horizon_is_booked_at_the_moment_it_named) {
  LocalBooker booker(limits(Spacing(1'000'000)));
  ask(booker, 1'000'000, 1);
  const Booking told = ask(booker, 1'000'001, 1);
  EXPECT_THAT(told.departures, IsEmpty());
  EXPECT_THAT(ask(booker, *told.ask_again - 1, 1).departures, IsEmpty());
  EXPECT_THAT(ask(booker, *told.ask_again, 1).departures, ElementsAre(2'000'000));
}

TEST(LocalBooker, the_latest_frontier_decides_and_all_limits_commit_there) {
  LocalBooker booker(limits(Spacing(10'000), FixedWindow(2, 30'000)));
  // Two in the window from 90 ms, two in that from 120 ms, by the window; within them by the spacing.
  EXPECT_THAT(ask(booker, 90'000, 5).departures, ElementsAre(90'000, 100'000, 120'000, 130'000));
  EXPECT_THAT(ask(booker, 100'000, 1).departures, ElementsAre(150'000));
}

TEST(LocalBooker, what_one_limit_denies_costs_the_other_nothing) {
  LocalBooker booker(limits(Spacing(10'000), FixedWindow(1, 1'000'000)));
  EXPECT_THAT(ask(booker, 1'000'000, 1).departures, ElementsAre(1'000'000));
  for (int i = 0; i < 10; ++i) EXPECT_THAT(ask(booker, 1'000'001, 1).departures, IsEmpty());
  EXPECT_THAT(ask(booker, 2'000'000, 1).departures, ElementsAre(2'000'000));
}

TEST(LocalBooker, takes_back_what_was_not_used) {
  LocalBooker booker(limits(Spacing(10'000), FixedWindow(2, 30'000)));
  ask(booker, 90'000, 2);
  booker.give_back({}, 100'000);
  EXPECT_THAT(ask(booker, 90'000, 2).departures, ElementsAre(100'000, 120'000));
}

}  // namespace
}  // namespace penstock::flow
