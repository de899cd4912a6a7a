// SPDX-License-Identifier: Apache-2.0
// What levels promise across processes: the limit used, equal shares, nobody starved, and few calls.
#include "lua/crowd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>

#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;
using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::Le;

const std::vector<Time> kNear{200, 200, 200};
const std::vector<Time> kFar{200, 1'000, 5'000};

class Sharing : public testing::Test {
 protected:
  const Crowd& run(Plan plan) {
    crowd_ = std::make_unique<Crowd>(scripts_, std::move(plan));
    crowd_->run();
    return *crowd_;
  }
  int sent() const { return static_cast<int>(crowd_->departures().size()); }

  test::RedisServer server_;
  Scripts scripts_{server_};
  std::unique_ptr<Crowd> crowd_;
};

/// By how many more than the rate allows were booked, at most, over any stretch.
double pacer_excess(const Crowd& crowd, double rate) {
  double most = 0, sent = 0, least = 0;
  std::vector<Time> times;
  for (const auto& departure : crowd.departures()) times.push_back(departure.booked);
  std::ranges::sort(times);
  for (const Time at : times) {
    const double due = rate * static_cast<double>(at) / 1e6;
    least = std::min(least, sent - due);
    most = std::max(most, ++sent - due - least);
  }
  return most;
}

testing::Matcher<std::vector<int>> each_between(int least, int most) { return Each(AllOf(Ge(least), Le(most))); }

TEST_F(Sharing, three_processes_have_equal_shares_of_a_pacer) {
  const Crowd& crowd = run({.limits = {pacer(400)}, .round_trips = kNear, .workers = 50});
  EXPECT_NEAR(sent(), 4'000, 4);
  EXPECT_THAT(crowd.by_process(), each_between(1'267, 1'400));
  EXPECT_LE(crowd.most_within(ms(500)), 202);
  EXPECT_LE(crowd.calls_per_request(), 0.2);
}
TEST_F(Sharing, those_far_from_redis_have_equal_shares_too) {
  const Crowd& crowd = run({.limits = {pacer(400)}, .round_trips = kFar, .workers = 50});
  EXPECT_NEAR(sent(), 4'000, 4);
  EXPECT_THAT(crowd.by_process(), each_between(1'267, 1'400));
  EXPECT_LE(crowd.calls_per_request(), 0.3);
}
TEST_F(Sharing, ten_times_the_workers_are_no_larger_share) {
  const Crowd& crowd = run({.limits = {pacer(400)}, .round_trips = kFar, .workers = 50, .eagerness = {10, 1, 1}});
  EXPECT_NEAR(sent(), 4'000, 4);
  EXPECT_THAT(crowd.by_process(), each_between(1'267, 1'400));
}
TEST_F(Sharing, sixteen_processes_have_equal_shares_however_far) {
  std::vector<Time> trips;
  for (int i = 0; i < 16; ++i) trips.push_back(200 + i * 320);
  const Crowd& crowd = run({.limits = {pacer(400)}, .round_trips = trips, .workers = 50});
  EXPECT_NEAR(sent(), 4'000, 4);
  EXPECT_THAT(crowd.by_process(), each_between(225, 275));
}
TEST_F(Sharing, a_token_bucket_of_one_is_shared_like_a_pacer) {
  const Crowd& crowd = run({.limits = {bucket(1, 1, 2'500)}, .round_trips = kNear, .workers = 50});
  EXPECT_NEAR(sent(), 4'000, 4);
  EXPECT_THAT(crowd.by_process(), each_between(1'267, 1'400));
  EXPECT_LE(crowd.calls_per_request(), 0.2);
}
TEST_F(Sharing, one_process_alone_has_all_of_it_for_few_calls) {
  const Crowd& crowd = run({.limits = {pacer(400)}, .round_trips = {200}, .workers = 50});
  EXPECT_NEAR(sent(), 4'000, 4);
  EXPECT_LE(crowd.calls_per_request(), 0.06);
}
TEST_F(Sharing, every_window_is_full) {
  const Crowd& crowd = run({.limits = {window(200, ms(500))}, .round_trips = kNear, .workers = 50});
  std::map<Time, int> windows;
  for (const auto& departure : crowd.departures()) ++windows[departure.at / ms(500)];
  EXPECT_EQ(windows.size(), 20U);
  for (const auto& [window, count] : windows) EXPECT_EQ(count, 200) << "window " << window;
  EXPECT_LE(crowd.calls_per_request(), 0.1);
  EXPECT_THAT(crowd.by_process(), Each(Ge(1'000)));
}
TEST_F(Sharing, a_sliding_window_is_never_over_and_used) {
  const Crowd& crowd = run({.limits = {sliding(200, ms(500))}, .round_trips = kNear, .workers = 50});
  EXPECT_LE(crowd.most_within(ms(500)), 200);
  EXPECT_GE(sent(), 3'980);
  EXPECT_THAT(crowd.by_process(), Each(Ge(800)));
}

TEST_F(Sharing, a_sliding_window_is_never_over_and_used_although_departures_are_late) {
  const Crowd& crowd = run({.limits = {sliding(200, ms(500))}, .round_trips = kFar, .workers = 50, .lateness = ms(15)});
  EXPECT_LE(crowd.most_within(ms(500)), 200);
  EXPECT_GE(sent(), 3'900) << "a place loses as much as it was late";
}

TEST_F(Sharing, a_hundred_groups_use_the_limit_of_their_upstream) {
  std::vector<std::string> groups;
  for (int i = 0; i < 100; ++i) groups.push_back("g" + std::to_string(i));
  const Crowd& crowd = run({.limits = {per_group(window(10, sec(10))), pacer(50)},
                            .round_trips = {200, 200, 200, 200},
                            .groups = groups,
                            .demand = 120,
                            .length = sec(60)});
  EXPECT_NEAR(sent(), 3'000, 15);  // no hole for a group that waits
  EXPECT_LE(crowd.calls_per_request(), 2.3);
  EXPECT_THAT(crowd.by_process(), each_between(700, 800));
  for (const auto& [group, count] : crowd.by_group()) EXPECT_GE(count, 15) << group;
}
TEST_F(Sharing, one_group_is_shared_fairly_while_its_upstream_is_idle) {
  const Crowd& crowd = run({.limits = {per_group(pacer(20)), pacer(100'000)},
                            .round_trips = {200, 500, 2'000, 5'000},
                            .groups = {"g"},
                            .workers = 20,
                            .length = sec(60)});
  EXPECT_NEAR(sent(), 1'200, 6);
  EXPECT_THAT(crowd.by_process(), each_between(290, 310));
  EXPECT_LE(crowd.calls_per_request(), 2.3);
}
TEST_F(Sharing, minutes_are_used_although_clients_give_up) {
  const Crowd& crowd = run({.limits = {pacer(1.0 / 60)},
                            .round_trips = kFar,
                            .demand = 3.0 / 60,
                            .patience = sec(120),
                            .length = sec(60 * 1'000)});
  EXPECT_GE(sent(), 950);
  EXPECT_THAT(crowd.by_process(), Each(Ge(250)));
}
TEST_F(Sharing, nothing_is_lost_with_messages_that_are_lost) {
  const Crowd& crowd = run({.limits = {pacer(100, 100)},
                            .round_trips = kNear,
                            .demand = 150,
                            .lost_messages = 0.5,
                            .patience = sec(2),
                            .length = sec(20)});
  const auto since = crowd.by_process(sec(4));
  EXPECT_GE(std::accumulate(since.begin(), since.end(), 0), 1'600 - 16);
  EXPECT_LE(pacer_excess(crowd, 100), 101.01);
}
TEST_F(Sharing, a_process_that_dies_costs_what_it_had_booked) {
  crowd_ = std::make_unique<Crowd>(scripts_, Plan{.limits = {pacer(400)}, .round_trips = kNear, .workers = 50});
  crowd_->happens(sec(4), [this] { crowd_->kill(2); });
  crowd_->run();
  EXPECT_GE(sent(), 4'000 - 20);
  EXPECT_LE(crowd_->most_within(ms(500)), 202);
}
TEST_F(Sharing, a_process_that_is_frozen_takes_nothing_of_the_others_nor_when_it_is_back) {
  crowd_ = std::make_unique<Crowd>(
      scripts_, Plan{.limits = {pacer(100, 100)}, .round_trips = kNear, .workers = 200, .length = sec(12)});
  crowd_->happens(sec(4), [this] { crowd_->freeze(0, sec(9)); });
  crowd_->run();
  EXPECT_GE(sent(), 1'300 - 13);
  const auto since = crowd_->by_process(sec(9) + ms(100));
  EXPECT_THAT(since, each_between(90, 104)) << "it does not catch up";
}
TEST_F(Sharing, a_burst_that_is_spent_leaves_a_demand_below_the_rate_no_queue) {
  const Crowd& crowd =
      run({.limits = {pacer(100, 100)}, .round_trips = kNear, .spike = 300, .demand = 60, .length = sec(20)});
  EXPECT_LE(crowd.pending(), 10U) << "the backlog of 200 is gone after five seconds";
}
TEST_F(Sharing, a_slow_limit_costs_a_call_a_request) {
  const Crowd& crowd = run({.limits = {pacer(1)},
                            .round_trips = {200, 300, 400, 500, 600, 700, 800, 900},
                            .workers = 20,
                            .length = sec(200)});
  EXPECT_GE(sent(), 199);
  EXPECT_LE(crowd.calls_per_request(), 1.2);
}

// ---- every kind, with all of it wanted by every process -------------------------------------------------------------

struct Wanted {
  std::string name;
  std::vector<LimitConfig> limits;
  double rate = 0;  // units a second, in the long run
  std::size_t processes = 3;
  Time length = sec(14), since = sec(4);
  double calls = 2;  // a request, at most
  int groups = 0, workers = 100;
  std::vector<Time> round_trips = {};

  Wanted(std::string its_name, std::vector<LimitConfig> its_limits, double its_rate, std::size_t its_processes)
      : name(std::move(its_name)), limits(std::move(its_limits)), rate(its_rate), processes(its_processes) {}
  Wanted&& over(Time from, Time to) && { return since = from, length = to, std::move(*this); }
  Wanted&& costing(double most) && { return calls = most, std::move(*this); }
  Wanted&& in_groups(int count, int workers_each) && {
    return groups = count, workers = workers_each, std::move(*this);
  }
  Wanted&& from_afar(std::vector<Time> trips) && { return round_trips = std::move(trips), std::move(*this); }
};
void PrintTo(const Wanted& wanted, std::ostream* out) { *out << wanted.name; }

class AllWanted : public Sharing, public testing::WithParamInterface<Wanted> {};

TEST_P(AllWanted, is_used_in_equal_shares) {
  const Wanted& wanted = GetParam();
  Plan plan{
      .limits = wanted.limits, .round_trips = wanted.round_trips, .workers = wanted.workers, .length = wanted.length};
  for (std::size_t i = plan.round_trips.size(); i < wanted.processes; ++i) {
    plan.round_trips.push_back(200 + 100 * static_cast<Time>(i));
  }
  if (wanted.groups > 0) plan.groups.clear();
  for (int i = 0; i < wanted.groups; ++i) plan.groups.push_back("g" + std::to_string(i));
  const Crowd& crowd = run(plan);
  const auto shares = crowd.by_process(wanted.since);
  const double all = std::accumulate(shares.begin(), shares.end(), 0);
  EXPECT_GE(all, std::floor(0.99 * wanted.rate * static_cast<double>(wanted.length - wanted.since) / 1e6));
  const double share = all / static_cast<double>(wanted.processes);
  const double in_half_a_horizon = wanted.rate * flow::kHorizon / 2e6;  // so far one may be ahead of the others
  const int wide = static_cast<int>(std::ceil(std::max(0.02 * share, std::min(in_half_a_horizon + 1, 6.0))));
  EXPECT_THAT(shares, each_between(static_cast<int>(share) - wide, static_cast<int>(share) + wide + 1));
  EXPECT_LE(crowd.calls_per_request(), wanted.calls);
  for (const LimitConfig& limit : wanted.limits) {
    if (const auto* pacer = std::get_if<PacerConfig>(&limit.kind)) {
      EXPECT_LE(pacer_excess(crowd, pacer->qps), pacer->max_burst + 1.01);
    }
  }
}

std::vector<Wanted> bursts_that_are_spent() {
  std::vector<Wanted> all;
  const auto slow_bucket = bucket(40, 2, sec(1));
  for (const std::size_t n : {2, 3, 8, 16}) {
    all.push_back(Wanted("pacer_100_with_100", {pacer(100, 100)}, 100, n).costing(0.5));
    all.push_back(Wanted("pacer_100_with_300", {pacer(100, 300)}, 100, n).over(sec(10), sec(20)).costing(0.5));
  }
  for (const std::size_t n : {3, 8}) {
    all.push_back(Wanted("pacer_25_with_20", {pacer(25, 20)}, 25, n).over(sec(4), sec(44)));
    all.push_back(Wanted("pacer_15_with_10", {pacer(14.8, 10)}, 14.8, n).over(sec(4), sec(64)));
    all.push_back(Wanted("bucket_of_40", {slow_bucket}, 2, n).over(sec(20), sec(120)));
    all.push_back(Wanted("bucket_of_a_group", {per_group(slow_bucket)}, 2, n).over(sec(20), sec(120)).in_groups(1, 50));
    all.push_back(Wanted("bucket_of_100", {bucket(100, 1, ms(10))}, 100, n).costing(0.5));
    all.push_back(Wanted("pacer_and_window", {pacer(100, 50), window(300, sec(2))}, 100, n).costing(0.5));
  }
  return all;
}
std::vector<Wanted> groups_beside_what_all_share() {
  std::vector<Wanted> all;
  const auto wide_window = per_group(window(1'000, sec(1)));
  for (const std::size_t n : {3, 8}) {
    all.push_back(
        Wanted("hundred_groups", {wide_window, pacer(200)}, 200, n).over(sec(2), sec(12)).costing(2).in_groups(100, 1));
    all.push_back(Wanted("groups_with_buckets", {per_group(bucket(50, 1, ms(20))), pacer(200)}, 200, n)
                      .over(sec(2), sec(12))
                      .costing(0.4)
                      .in_groups(20, 10));
  }
  all.push_back(Wanted("thousand_groups", {per_group(window(2, sec(1))), pacer(500)}, 500, 3)
                    .over(sec(2), sec(10))
                    .in_groups(1'000, 1));
  return all;
}
std::vector<Wanted> other_kinds() {
  std::vector<Wanted> all;
  for (const auto& [n, calls] : {std::pair{3, 0.14}, {5, 0.15}, {8, 0.16}, {16, 0.17}}) {
    all.push_back(
        Wanted("pacer_400", {pacer(400)}, 400, static_cast<std::size_t>(n)).over(sec(4), sec(20)).costing(calls));
  }
  for (const std::size_t n : {3, 8}) {
    all.push_back(Wanted("window", {window(200, ms(500))}, 400, n).costing(0.1));
    all.push_back(Wanted("window_spread", {spread(200, ms(500))}, 400, n).costing(0.2));
    all.push_back(Wanted("window_of_seconds", {window(100, sec(10))}, 10, n).over(sec(40), sec(160)));
    all.push_back(Wanted("sliding", {sliding(200, ms(500))}, 400 * 500. / 502, n).costing(0.1));
    all.push_back(
        Wanted("sliding_of_seconds", {sliding(30, sec(10))}, 3 * 10'000. / 10'002, n).over(sec(20), sec(220)));
  }
  all.push_back(Wanted("far_from_redis", {pacer(400)}, 400, 3).costing(0.14).from_afar({45'000, 44'000, 46'000}));
  all.push_back(Wanted("some_far_from_redis", {pacer(400)}, 400, 8)
                    .costing(0.2)
                    .from_afar({200, 1'000, 5'000, 10'000, 20'000, 500, 2'000, 300}));
  return all;
}

std::string name_of(const testing::TestParamInfo<Wanted>& of) {
  return of.param.name + "_of_" + std::to_string(of.param.processes);
}
INSTANTIATE_TEST_SUITE_P(Bursts, AllWanted, testing::ValuesIn(bursts_that_are_spent()), name_of);
INSTANTIATE_TEST_SUITE_P(Groups, AllWanted, testing::ValuesIn(groups_beside_what_all_share()), name_of);
INSTANTIATE_TEST_SUITE_P(Kinds, AllWanted, testing::ValuesIn(other_kinds()), name_of);

}  // namespace
}  // namespace penstock::lua
