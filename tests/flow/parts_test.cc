// SPDX-License-Identifier: Apache-2.0
// The small parts of the scheduler, each by itself: requests, deadlines, booked departures, the mean flight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "flow/deadlines.h"
#include "flow/departures.h"
#include "flow/lane_lists.h"
#include "flow/mean_latency.h"
#include "flow/requests.h"
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

std::uint32_t take_waiting(Requests& requests) {
  const std::uint32_t index = requests.take();
  requests[index].stage = Stage::waiting;
  return index;
}

TEST(Requests, a_ticket_dies_with_its_request_and_stays_dead) {
  Requests requests;
  const auto index = take_waiting(requests);
  const Ticket first = requests.ticket(index);
  EXPECT_EQ(requests.stage(first), Stage::waiting);
  requests.release(index);
  EXPECT_EQ(requests.stage(first), Stage::released);
  ASSERT_EQ(take_waiting(requests), index);
  EXPECT_EQ(requests.stage(first), Stage::released);
  EXPECT_EQ(requests.stage(requests.ticket(index)), Stage::waiting);
}

TEST(Requests, a_ticket_made_from_nothing_is_dead) {
  Requests requests;
  EXPECT_EQ(requests.stage(Ticket{}), Stage::released);
  take_waiting(requests);
  EXPECT_EQ(requests.stage(Ticket{}), Stage::released);
}

TEST(Requests, released_nodes_are_used_again_before_the_array_grows) {
  Requests requests;
  for (int round = 0; round < 1000; ++round) {
    const auto a = take_waiting(requests);
    const auto b = take_waiting(requests);
    EXPECT_LT(a, 2u);
    EXPECT_LT(b, 2u);
    requests.release(a);
    requests.release(b);
  }
}

TEST(RequestList, keeps_its_order_whoever_is_removed) {
  Requests requests;
  RequestList list;
  std::vector<std::uint32_t> all;
  for (int i = 0; i < 5; ++i) all.push_back(take_waiting(requests)), list.push_back(requests, all.back());
  for (const int gone : {2, 0, 4}) list.remove(requests, all[static_cast<std::size_t>(gone)]);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list.front(), all[1]);
  list.remove(requests, all[1]);
  EXPECT_EQ(list.front(), all[3]);
  list.remove(requests, all[3]);
  EXPECT_TRUE(list.empty());
  list.push_back(requests, all[0]);
  EXPECT_EQ(list.front(), all[0]);
}

TEST(Deadlines, come_up_earliest_first_and_skip_those_who_no_longer_wait) {
  Requests requests;
  Deadlines deadlines;
  const auto a = take_waiting(requests), b = take_waiting(requests), c = take_waiting(requests);
  deadlines.add(30, requests.ticket(a));
  deadlines.add(10, requests.ticket(b));
  deadlines.add(20, requests.ticket(c));
  deadlines.prune(requests, 3);
  EXPECT_EQ(deadlines.first_time(), 10);
  requests.release(b);
  requests[c].stage = Stage::flying;
  deadlines.prune(requests, 1);
  EXPECT_EQ(deadlines.first_time(), 30);
  EXPECT_EQ(deadlines.first(), requests.ticket(a));
}

TEST(Deadlines, stay_small_while_a_million_requests_come_and_leave_behind_one_that_waits) {
  Requests requests;
  Deadlines deadlines;
  deadlines.add(0, requests.ticket(take_waiting(requests)));
  for (Time at = 1; at <= 1'000'000; ++at) {
    const auto index = take_waiting(requests);
    deadlines.add(at, requests.ticket(index));
    requests.release(index);
    deadlines.prune(requests, 1);
    ASSERT_LE(deadlines.size(), 2 + Deadlines::kSmall);
  }
  EXPECT_EQ(deadlines.first_time(), 0);
}

TEST(Departures, are_taken_in_order_of_their_times_however_they_came) {
  Departures departures;
  for (const Time at : {10, 20, 40}) departures.add({at});
  EXPECT_EQ(departures.front().at, 10);
  departures.pop_front();
  departures.add({30});
  departures.add({5});
  EXPECT_EQ(departures.pop_back().at, 40);
  std::vector<Time> rest;
  for (; !departures.empty(); departures.pop_front()) rest.push_back(departures.front().at);
  EXPECT_THAT(rest, ElementsAre(5, 20, 30));
  EXPECT_EQ(departures.size(), 0u);
}

TEST(DueLanes, come_up_by_their_moments_and_of_equal_ones_the_longest_unserved_first) {
  DueLanes due;
  std::vector<std::unique_ptr<Lane>> lanes;
  const std::vector<Time> moments{50, 20, 70, 20, 10, 60, 20, 30};
  for (std::size_t i = 0; i < moments.size(); ++i) {
    lanes.push_back(std::make_unique<Lane>(LaneKey(std::to_string(i))));
    lanes.back()->last_served = 100 - i;  // of the three at 20, the last is the longest unserved
    lanes.back()->departures.add({moments[i]});
    due.place(*lanes.back());
  }
  const auto take_first = [&] {
    Lane* lane = due.first_by(1000);
    lane->departures.pop_front();
    due.place(*lane);
    return lane->group();
  };
  EXPECT_EQ(due.first_time(), 10);
  EXPECT_EQ(due.first_by(9), nullptr);
  EXPECT_EQ(take_first(), "4");
  EXPECT_EQ(take_first(), "6");
  EXPECT_EQ(take_first(), "3");
  lanes[7]->departures.pop_front();  // out of the middle
  due.place(*lanes[7]);
  lanes[2]->departures.add({15});  // from the rear to the front
  due.place(*lanes[2]);
  EXPECT_EQ(take_first(), "2");
  EXPECT_EQ(take_first(), "1");
  EXPECT_EQ(take_first(), "0");
  EXPECT_EQ(take_first(), "5");
  EXPECT_EQ(take_first(), "2");
  EXPECT_EQ(due.first_time(), std::nullopt);
}

TEST(MeanLatency, is_a_second_before_anything_has_landed) { EXPECT_EQ(MeanLatency{}.mean(5 * kSecond), kSecond); }

TEST(MeanLatency, is_the_mean_of_what_landed) {
  MeanLatency flights;
  flights.landed(100 * kSecond, 10 * kMs);
  flights.landed(101 * kSecond, 20 * kMs);
  flights.landed(130 * kSecond, 60 * kMs);
  EXPECT_EQ(flights.mean(130 * kSecond), 30 * kMs);
}

TEST(MeanLatency, counts_those_in_flight_for_a_minute_each_at_most) {
  MeanLatency flights;
  EXPECT_EQ(flights.mean(kSecond, 2, 40 * kSecond), 20 * kSecond) << "nothing has landed";
  flights.landed(kSecond, 2 * kSecond);
  flights.landed(kSecond, 2 * kSecond);
  EXPECT_EQ(flights.mean(kSecond, 1, 4 * kSecond), 4 * kSecond);
  EXPECT_EQ(flights.mean(kSecond, 1, 3'600 * kSecond), 32 * kSecond);
}

TEST(MeanLatency, forgets_after_a_minute) {
  MeanLatency flights;
  flights.landed(100 * kSecond, 10 * kMs);
  flights.landed(140 * kSecond, 50 * kMs);
  EXPECT_EQ(flights.mean(154 * kSecond), 30 * kMs);
  EXPECT_EQ(flights.mean(160 * kSecond), 50 * kMs);
  EXPECT_EQ(flights.mean(201 * kSecond), kSecond);
  flights.landed(220 * kSecond, 5 * kMs);  // in the place of the first
  EXPECT_EQ(flights.mean(220 * kSecond), 5 * kMs);
}

}  // namespace
}  // namespace penstock::flow
