// SPDX-License-Identifier: Apache-2.0
// What the routes of an upstream do to its requests: their limits, weights, waits, time-outs, and what counts of
// answers.
#include <gmock/gmock.h>

#include <chrono>

#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class RoutesTest : public DispatcherTest {
 protected:
  RoutesTest() : origin_(busy_or_silent()) {
    config_.upstreams.push_back({.name = "api", .match = {{.host = "127.0.0.1"}}});
    config_.access.connect_anywhere = true;
    settings().queue.max_wait = 3h;  // until a counter is reset: what waits for one is not refused at once
  }

  UpstreamSettings& settings() { return config_.upstreams[0].settings; }
  RouteConfig& route(const std::string& path) {
    return settings().routes.emplace_back(RouteConfig{.name = path.substr(1), .match = {.path = path}});
  }
  /// So many in an hour, of that route or of all.
  void count(int most, const std::string& route = "") {
    settings().limits.push_back({.kind = CounterConfig{.max = most, .period = std::chrono::hours{1}},
                                 .name = (route.empty() ? "" : route + ":") + "counter",
                                 .route = route});
  }
  void get(Asker& asker, const std::string& path, const std::string& weight = "") {
    auto what = head("GET", "http://" + origin_.host() + path);
    if (!weight.empty()) what.fields.add("Penstock-Weight", weight);
    ask(asker, std::move(what));
  }
  bool is_pending(const Asker& asker) const {
    return asker.exchange && asker.exchange->stage == Exchange::Stage::pending;
  }

  test::Origin origin_;
};

TEST_F(RoutesTest, hold_what_waits_for_their_limits_and_no_other_request) {
  route("/search");
  count(1, "search");
  Asker first, second, third, other;
  get(first, "/search/a?q=1");
  ASSERT_TRUE(finish(first));
  get(second, "/search/b");
  get(third, "/search/c");
  get(other, "/user");
  ASSERT_TRUE(finish(other));
  EXPECT_TRUE(is_pending(second) && is_pending(third));
  EXPECT_EQ(upstream("api").pending, 2u);
  leave(second), leave(third);
  EXPECT_EQ(told_.back().route, "search");
  EXPECT_EQ(told_.back().limited_by, "search:counter");
  expect_at_rest();
}

TEST_F(RoutesTest, count_units_of_their_own_requests) {
  route("/search");
  count(9), count(9, "search");
  Asker one, other;
  get(one, "/search"), get(other, "/user");
  ASSERT_TRUE(finish(one) && finish(other));
  const auto limits = upstream("api").limits;
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0].route, "");
  EXPECT_EQ(limits[0].units, 2u);
  EXPECT_EQ(limits[1].route, "search");
  EXPECT_EQ(limits[1].units, 1u);
  EXPECT_EQ(limits[1].used, 1);
}

TEST_F(RoutesTest, say_the_least_weight_which_the_client_may_raise_and_never_lower) {
  route("/heavy").weight = 5;
  count(100);
  Asker plain, light, heavy, other;
  get(plain, "/heavy"), get(light, "/heavy", "2"), get(heavy, "/heavy", "7"), get(other, "/user", "3");
  for (Asker* one : {&plain, &light, &heavy, &other}) ASSERT_TRUE(finish(*one));
  EXPECT_EQ(upstream("api").limits.at(0).used, 5 + 5 + 7 + 3);
  std::vector<int> weights;
  for (const auto& one : told_) {
    if (one.kind == EventKind::dispatch) weights.push_back(one.weight);
  }
  EXPECT_THAT(weights, testing::ElementsAre(5, 5, 7, 3));
}

TEST_F(RoutesTest, refuse_a_weight_that_their_own_pacer_could_not_let_pass_in_time) {
  auto& slow = route("/slow");
  slow.weight = 2, slow.max_wait = 1s;
  settings().limits.push_back({.kind = PacerConfig{.qps = 1}, .name = "slow:pacer", .route = "slow"});
  Asker asker, other;
  get(asker, "/slow"), get(other, "/user", "2");
  ASSERT_EQ(asker.refusals.size(), 1u);
  EXPECT_THAT(asker.refusals[0].details, HasSubstr("the limit slow:pacer"));
  EXPECT_TRUE(finish(other));
}

TEST_F(RoutesTest, say_how_long_a_request_may_wait) {
  count(1);
  settings().queue.max_wait = 0s;
  route("/patient").max_wait = 3h;
  Asker first, at_once, patient;
  get(first, "/");
  ASSERT_TRUE(finish(first));
  get(at_once, "/");
  EXPECT_EQ(at_once.refusals.size(), 1u) << "as the upstream says";
  get(patient, "/patient");
  EXPECT_TRUE(patient.refusals.empty());
  ASSERT_TRUE(is_pending(patient));
  EXPECT_GE(patient.exchange->sendings.deadline - patient.exchange->arrived, 10'700'000'000);
  leave(patient);
}

TEST_F(RoutesTest, have_time_outs_of_their_own) {
  route("/silent").timeouts = TimeoutConfig{.first_byte = 50ms};
  Asker asker;
  get(asker, "/silent");
  ASSERT_TRUE(finish(asker));
  ASSERT_EQ(asker.refusals.size(), 1u);
  EXPECT_THAT(asker.refusals[0].details, HasSubstr("(timeouts.firstByte)"));
}

TEST_F(RoutesTest, say_what_counts_of_answers_and_whether_a_request_is_sent_again) {
  route("/busy").retry = RetryConfig::off();
  auto& deaf = route("/deaf");
  deaf.obey = Obey::off;
  Asker ignored, refused, other;
  get(ignored, "/deaf/busy");
  ASSERT_TRUE(finish(ignored));
  EXPECT_EQ(ignored.status, 429);
  EXPECT_EQ(upstream("api").pauses, 0u) << "obey: off";
  get(refused, "/busy");
  ASSERT_TRUE(finish(refused));
  EXPECT_EQ(refused.status, 429) << "retry: off";
  EXPECT_EQ(upstream("api").pauses, 1u);
}

TEST_F(RoutesTest, are_none_for_a_tunnel) {
  settings().routes.push_back({.name = "all", .match = {.methods = {"CONNECT", "GET"}}});
  count(1);
  Asker first, tunnel;
  get(first, "/");
  ASSERT_TRUE(finish(first));
  EXPECT_EQ(told_.back().route, "all");
  ask(tunnel, head("CONNECT", origin_.host()));
  ASSERT_TRUE(is_pending(tunnel));
  leave(tunnel);
  EXPECT_EQ(told_.back().route, "");
}

TEST_F(RoutesTest, stay_those_of_a_request_that_came_before_a_reload) {
  route("/search").weight = 3;
  count(1, "search"), count(3);
  settings().max_weight = 1000;
  Asker first, waits;
  get(first, "/search");  // three units of one: never
  EXPECT_EQ(first.refusals.size(), 1u);
  settings().routes[0].weight = 1;
  dispatcher().change();
  Asker now;
  get(now, "/search");
  ASSERT_TRUE(finish(now));
  get(waits, "/search");
  ASSERT_TRUE(is_pending(waits));
  settings().routes.clear(), std::erase_if(settings().limits, [](auto& limit) { return !limit.route.empty(); });
  dispatcher().change();
  ASSERT_TRUE(finish(waits)) << "the limit is gone";
  EXPECT_EQ(told_.back().route, "search");
  expect_at_rest();
}

}  // namespace
}  // namespace penstock::proxy
