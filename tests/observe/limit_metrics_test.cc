// SPDX-License-Identifier: Apache-2.0
// What /metrics says of limits: whom they made wait, what they allow, and how much of them is used.
#include <gmock/gmock.h>

#include <string>

#include "observe/metrics_text.h"

namespace penstock::observe {
namespace {

using testing::HasSubstr;
using testing::Not;

Config with_limits() {
  Config config = two_upstreams();
  config.upstreams[0].settings.group = GroupRule{};
  config.upstreams[0].settings.limits = {{PacerConfig{.qps = 12.5}},
                                         {WindowConfig{.reservoir = 30, .interval = 1min}, "slow"},
                                         {TokenBucketConfig{4, 8, 2s}, "bucket"},
                                         {SemaphoreConfig{5}},
                                         {WindowConfig{10, 1s}, "each", LimitConfig::Per::group}};
  return config;
}

std::string waits(const char* limit, const char* upstream = "github") {
  return std::string("penstock_limit_waits_total{limit=\"") + limit + "\",upstream=\"" + upstream + "\"}";
}

TEST(Metrics, limits_are_labels_from_the_start_and_so_are_hold_redis_and_slots) {
  const std::string text = Metrics{with_limits()}.text();
  for (const char* limit :
       {"pacer", "slow", "bucket", "semaphore", "each", "pause", "redis", "maxConcurrent", "maxTunnels"})
    EXPECT_EQ(value_of(text, waits(limit)), 0) << limit;
  EXPECT_EQ(value_of(text, waits("pause", "*")), 0);
  EXPECT_EQ(value_of(text, waits("pacer", "discord")), std::nullopt);
}

TEST(Metrics, a_wait_for_a_limit_is_counted_once_for_each_request_where_it_leaves_the_queue) {
  Metrics metrics{with_limits()};
  for (const EventKind kind : {EventKind::dispatch, EventKind::complete, EventKind::gone, EventKind::refused}) {
    Event one = event(kind, Outcome::none);
    one.limited_by = "slow";
    one.wait = 1s;
    metrics.record(one);
  }
  EXPECT_EQ(value_of(metrics.text(), waits("slow")), 3);
  EXPECT_EQ(value_of(metrics.text(), waits("pacer")), 0);
}

TEST(Metrics, a_wait_to_be_sent_again_is_counted_for_its_limit_and_is_no_other_wait_in_the_queue) {
  Metrics metrics{with_limits()};
  for (const EventKind kind : {EventKind::complete, EventKind::error}) {
    Event one = event(kind, Outcome::none);
    one.limited_by = "pause";
    one.wait = 30s;
    one.waited_again = true;
    metrics.record(one);
  }
  EXPECT_EQ(value_of(metrics.text(), waits("pause")), 2);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_wait_seconds_count{upstream="github"})").value_or(0), 0);
}

TEST(Metrics, a_refusal_on_arrival_waited_for_no_limit) {
  Metrics metrics{with_limits()};
  Event refused = event(EventKind::refused, Outcome::refused);
  refused.limited_by = "slow";
  metrics.record(refused);
  refused.wait = 0s;
  metrics.record(refused);
  EXPECT_EQ(value_of(metrics.text(), waits("slow")), 0);
}

TEST(Metrics, a_limit_that_nobody_configured_becomes_no_label) {
  Metrics metrics{with_limits()};
  Event one = event(EventKind::dispatch, Outcome::none);
  one.limited_by = "forged";
  metrics.record(one);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("forged")));
}

TEST(Metrics, the_rate_of_a_limit_is_what_it_allows_in_the_long_run) {
  const std::string text = Metrics{with_limits()}.text();
  EXPECT_EQ(value_of(text, R"(penstock_limit_rate{limit="pacer",upstream="github"})"), 12.5);
  EXPECT_EQ(value_of(text, R"(penstock_limit_rate{limit="slow",upstream="github"})"), 0.5);
  EXPECT_EQ(value_of(text, R"(penstock_limit_rate{limit="bucket",upstream="github"})"), 2);
  EXPECT_EQ(value_of(text, R"(penstock_limit_rate{limit="semaphore",upstream="github"})"), std::nullopt);
  EXPECT_EQ(value_of(text, R"(penstock_limit_rate{limit="each",upstream="github"})"), std::nullopt);
}

std::string of_limit(const char* metric, const char* limit, const char* upstream = "github") {
  return std::string("penstock_limit_") + metric + "{limit=\"" + limit + "\",upstream=\"" + upstream + "\"}";
}

TEST(Metrics, of_a_limit_in_shadow_mode_only_what_would_have_waited_is_counted) {
  Config config = with_limits();
  config.upstreams[0].settings.limits.push_back(
      {PacerConfig{.qps = 3}, "tried", LimitConfig::Per::upstream, true, LimitConfig::Mode::shadow});
  Metrics metrics{config};
  const auto requests = of_limit("would_wait_total", "tried");
  const auto in_all = of_limit("would_wait_seconds_total", "tried");
  EXPECT_EQ(value_of(metrics.text(), requests), 0) << "from the start";
  for (const Duration wait : {Duration{250ms}, Duration{1s}}) {
    Event one = event(EventKind::dispatch, Outcome::none);
    one.would_wait = wait;
    one.would_wait_for = "tried";
    metrics.record(one);
  }
  metrics.record(event(EventKind::dispatch, Outcome::none));
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, requests), 2);
  EXPECT_EQ(value_of(text, in_all), 1.25);
  EXPECT_EQ(value_of(text, waits("tried")), std::nullopt);
  EXPECT_EQ(value_of(text, of_limit("rate", "tried")), std::nullopt);
  EXPECT_EQ(value_of(text, of_limit("units_total", "tried")), std::nullopt);
}

LimitSnapshot limit(const std::string& name, double used, double of, std::uint64_t units) {
  return {.name = name, .kind = "window", .used = used, .of = of, .resets_in = 90s, .units = units};
}

TEST(Metrics, what_is_used_of_a_limit_is_what_the_snapshot_says) {
  Metrics metrics{with_limits()};
  Snapshot snapshot;
  snapshot.upstreams.push_back({.name = "github", .entry = 1, .limits = {limit("slow", 7, 60, 100)}});
  metrics.set(snapshot, 0, 0);
  snapshot.upstreams[0].limits[0] = limit("slow", 9.5, 60, 130);
  metrics.set(snapshot, 0, 0);
  EXPECT_EQ(value_of(metrics.text(), of_limit("used", "slow")), 9.5);
  EXPECT_EQ(value_of(metrics.text(), of_limit("capacity", "slow")), 60);
  EXPECT_EQ(value_of(metrics.text(), of_limit("resets_seconds", "slow")), 90);
  EXPECT_EQ(value_of(metrics.text(), of_limit("units_total", "slow")), 130);
  EXPECT_EQ(value_of(metrics.text(), of_limit("used", "each")), std::nullopt);
}

// Nobody takes what is not known for nothing.
TEST(Metrics, what_is_not_known_of_a_limit_has_no_series) {
  Metrics metrics{with_limits()};
  Snapshot snapshot;
  snapshot.upstreams.push_back({.name = "github", .entry = 1, .limits = {limit("slow", 7, 60, 100)}});
  metrics.set(snapshot, 0, 0);
  snapshot.upstreams[0].limits[0].known = false;
  snapshot.upstreams[0].limits[0].units = 101;
  metrics.set(snapshot, 0, 0);
  EXPECT_EQ(value_of(metrics.text(), of_limit("used", "slow")), std::nullopt);
  EXPECT_EQ(value_of(metrics.text(), of_limit("capacity", "slow")), std::nullopt);
  EXPECT_EQ(value_of(metrics.text(), of_limit("resets_seconds", "slow")), std::nullopt);
  EXPECT_EQ(value_of(metrics.text(), of_limit("units_total", "slow")), 101);
  snapshot.upstreams[0].limits[0] = {.name = "slow", .kind = "adaptive", .rate = 3};
  metrics.set(snapshot, 0, 0);
  EXPECT_EQ(value_of(metrics.text(), of_limit("used", "slow")), std::nullopt);
}

// Of `*` hosts come and go: what has left never becomes less.
TEST(Metrics, of_several_hosts_the_one_that_has_used_most_is_shown_and_all_units_count) {
  Config config;
  config.unmatched.limits.push_back({.kind = WindowConfig{.reservoir = 10, .interval = 60s}, .name = "slow"});
  Metrics metrics{config};
  Snapshot snapshot;
  snapshot.upstreams.push_back({.name = "a:80", .limits = {limit("slow", 3, 10, 5)}});
  snapshot.upstreams.push_back({.name = "b:80", .limits = {limit("slow", 8, 10, 6)}});
  metrics.set(snapshot, 0, 0);
  EXPECT_EQ(value_of(metrics.text(), of_limit("used", "slow", "*")), 8);
  EXPECT_EQ(value_of(metrics.text(), of_limit("units_total", "slow", "*")), 11);
  snapshot.upstreams.pop_back();
  metrics.set(snapshot, 0, 0);
  EXPECT_EQ(value_of(metrics.text(), of_limit("units_total", "slow", "*")), 11);
  snapshot.upstreams.push_back({.name = "b:80", .limits = {limit("slow", 1, 10, 2)}});
  metrics.set(snapshot, 0, 0);
  EXPECT_EQ(value_of(metrics.text(), of_limit("units_total", "slow", "*")), 13);
}

}  // namespace
}  // namespace penstock::observe
