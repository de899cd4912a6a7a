// SPDX-License-Identifier: Apache-2.0
// What turns and shares promise across processes: equal shares, nobody starved, the limit used, and few calls.
#include "lua/crowd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

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
TEST_F(Sharing, the_turns_of_a_process_that_died_are_dropped) {
  Plan plan{.limits = {pacer(400)}, .round_trips = kNear, .workers = 50};
  crowd_ = std::make_unique<Crowd>(scripts_, plan);
  crowd_->happens(sec(4), [this] { crowd_->kill(2); });
  crowd_->run();
  EXPECT_GE(sent(), 4'000 - 20);  // what it had booked, once
  EXPECT_LE(crowd_->most_within(ms(500)), 202);
}

}  // namespace
}  // namespace penstock::lua
