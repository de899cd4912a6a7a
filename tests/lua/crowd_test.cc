// SPDX-License-Identifier: Apache-2.0
// What turns and shares promise across processes: equal shares, nobody starved, the limit used, and few calls.
#include "lua/crowd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;
using testing::AllOf;
using testing::Each;
using testing::Ge;
using testing::Le;

constexpr Time kNear = 200, kFar = 1'000, kFarther = 5'000;

class CrowdTest : public testing::Test {
 protected:
  const Crowd& run(Plan plan) {
    crowd_ = std::make_unique<Crowd>(scripts_, std::move(plan));
    crowd_->run();
    return *crowd_;
  }
  static std::vector<Time> sixteen() {
    std::vector<Time> trips;
    for (int i = 0; i < 16; ++i) trips.push_back(200 + i * 320);
    return trips;
  }

  test::RedisServer server_;
  Scripts scripts_{server_};
  std::unique_ptr<Crowd> crowd_;
};

std::size_t sent(const Crowd& crowd) { return crowd.departures().size(); }
void print(const char* name, const Crowd& crowd) {
  std::string line;
  for (int n : crowd.by_process()) line += " " + std::to_string(n);
  printf("%s: sent %zu calls %.3f most500 %d shares%s\n", name, sent(crowd), crowd.calls_per_request(), crowd.most_within(500'000), line.c_str());
}

TEST_F(CrowdTest, three_near_processes_share_a_pacer) {
  const Crowd& crowd = run({.limits = {pacer(400)}, .round_trips = {kNear, kNear, kNear}, .workers = 50});
  print("near", crowd);
  EXPECT_NEAR(sent(crowd), 4'000, 4);
  EXPECT_THAT(crowd.by_process(), Each(AllOf(Ge(1'267), Le(1'400))));
  EXPECT_LE(crowd.most_within(sec(0.5)), 201);
  EXPECT_LE(crowd.calls_per_request(), 0.2);
}
TEST_F(CrowdTest, a_process_far_from_redis_is_not_starved) {
  const Crowd& crowd = run({.limits = {pacer(400)}, .round_trips = {kNear, kFar, kFarther}, .workers = 50});
  print("far", crowd);
  EXPECT_NEAR(sent(crowd), 4'000, 4);
  EXPECT_THAT(crowd.by_process(), Each(AllOf(Ge(1'267), Le(1'400))));
}
TEST_F(CrowdTest, s16) { print("16", run({.limits = {pacer(400)}, .round_trips = sixteen(), .workers = 50})); }
TEST_F(CrowdTest, window) { print("window", run({.limits = {window(200, ms(500))}, .round_trips = {kNear, kNear, kNear}, .workers = 50})); }
TEST_F(CrowdTest, windowfar) { print("windowfar", run({.limits = {window(200, ms(500))}, .round_trips = {kNear, kFar, kFarther}, .workers = 50})); }
TEST_F(CrowdTest, window16) { print("window16", run({.limits = {window(200, ms(500))}, .round_trips = sixteen(), .workers = 50})); }
TEST_F(CrowdTest, sliding) { print("sliding", run({.limits = {sliding(200, ms(500))}, .round_trips = {kNear, kNear, kNear}, .workers = 50})); }
TEST_F(CrowdTest, bucket) { print("bucket", run({.limits = {bucket(1, 1, 2500)}, .round_trips = {kNear, kNear, kNear}, .workers = 50})); }
TEST_F(CrowdTest, eager) { print("eager", run({.limits = {pacer(400)}, .round_trips = {kNear, kFar, kFarther}, .workers = 50, .eagerness = {10, 1, 1}})); }
TEST_F(CrowdTest, alone) { print("alone", run({.limits = {pacer(400)}, .round_trips = {kNear}, .workers = 50})); }
TEST_F(CrowdTest, groups) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("g" + std::to_string(i));
  const Crowd& crowd = run({.limits = {per_group(window(10, sec(10))), pacer(50)}, .round_trips = {kNear, kNear, kNear, kNear}, .groups = names, .demand = 120, .length = sec(60)});
  print("groups", crowd);
  int lo = 1000, hi = 0; for (auto& [g, n] : crowd.by_group()) lo = std::min(lo, n), hi = std::max(hi, n);
  printf(" groups %d..%d\n", lo, hi);
}
TEST_F(CrowdTest, group_pacer) { print("group pacer 1", run({.limits = {per_group(pacer(1)), pacer(100000)}, .round_trips = {200,500,2000,5000}, .groups = {"g"}, .workers = 20, .length = sec(300)})); }
TEST_F(CrowdTest, group_pacer20) { print("group pacer 20", run({.limits = {per_group(pacer(20)), pacer(100000)}, .round_trips = {200,500,2000,5000}, .groups = {"g"}, .workers = 20, .length = sec(300)})); }
TEST_F(CrowdTest, minute) { print("1/min", run({.limits = {pacer(1.0/60)}, .round_trips = {kNear, kFar, kFarther}, .demand = 3.0/60, .patience = sec(120), .length = sec(60*1000)})); }

}  // namespace
}  // namespace penstock::lua
