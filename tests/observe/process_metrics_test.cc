// SPDX-License-Identifier: Apache-2.0
// What /metrics says of Redis, of the event loop and of the process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <iterator>

#include "observe/metrics_text.h"

namespace penstock::observe {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Metrics, redis_has_none_where_none_is_configured) {
  Metrics metrics{two_upstreams()};
  metrics.redis_round_trip("default", 1ms);
  metrics.set({.redis = {{.up = true}}}, 0, 0);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("redis_up")));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("degraded")));
}

TEST(Metrics, redis_is_followed_by_state_calls_errors_and_round_trips) {
  Config config;
  config.redis.emplace_back();
  Metrics metrics{config};
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_redis_up{redis="default"})"), 0);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_redis_errors_total{kind="timeout",redis="default"})"), 0);
  metrics.redis_round_trip("default", 200us);
  metrics.set({.redis = {{.up = true, .calls = 5, .errors = {{"timeout", 1}, {"corrupt", 2}}}}}, 0, 0);
  metrics.set({.redis = {{.degraded = true, .calls = 7, .errors = {{"timeout", 1}, {"corrupt", 3}}}}}, 0, 1);
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, R"(penstock_redis_up{redis="default"})"), 0);
  EXPECT_EQ(value_of(text, R"(penstock_degraded{redis="default"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_redis_calls_total{redis="default"})"), 7);
  EXPECT_EQ(value_of(text, R"(penstock_redis_errors_total{kind="timeout",redis="default"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_redis_errors_total{kind="corrupt",redis="default"})"), 3);
  EXPECT_EQ(value_of(text, R"(penstock_redis_round_trip_seconds_bucket{redis="default",le="0.0005"})"), 1);
}

TEST(Metrics, each_redis_has_series_under_its_name_until_it_is_none) {
  Config config;
  config.redis = {{.name = "main"}, {.name = "eu"}};
  Metrics metrics{config};
  metrics.redis_round_trip("eu", 1ms);
  metrics.set({.redis = {{.name = "main", .up = true, .calls = 3},
                         {.name = "eu",
                          .degraded = true,
                          .limits_differ = {"a"},
                          .calls = 4,
                          .counters_led = 2,
                          .counter_resets = 7,
                          .errors = {{"lost", 2}}}}},
              0, 0);
  std::string text = metrics.text();
  EXPECT_EQ(value_of(text, R"(penstock_redis_up{redis="main"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_redis_up{redis="eu"})"), 0);
  EXPECT_EQ(value_of(text, R"(penstock_degraded{redis="main"})"), 0);
  EXPECT_EQ(value_of(text, R"(penstock_degraded{redis="eu"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_limits_differ{redis="eu"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_counters_led{redis="eu"})"), 2);
  EXPECT_EQ(value_of(text, R"(penstock_counter_resets_total{redis="eu"})"), 7);
  EXPECT_EQ(value_of(text, R"(penstock_redis_calls_total{redis="main"})"), 3);
  EXPECT_EQ(value_of(text, R"(penstock_redis_errors_total{kind="lost",redis="eu"})"), 2);
  EXPECT_EQ(value_of(text, R"(penstock_redis_round_trip_seconds_count{redis="eu"})"), 1);
  config.redis = {{.name = "eu"}, {.name = "us"}};
  metrics.change(config, {});
  metrics.set({.redis = {{.name = "eu", .up = true, .calls = 5, .counter_resets = 7}, {.name = "us"}}}, 0, 1);
  text = metrics.text();
  EXPECT_THAT(text, Not(HasSubstr("main")));
  EXPECT_EQ(value_of(text, R"(penstock_redis_calls_total{redis="eu"})"), 5);
  EXPECT_EQ(value_of(text, R"(penstock_redis_up{redis="us"})"), 0);
}

TEST(Metrics, each_node_of_redis_is_followed_until_it_is_none) {
  Config config;
  config.redis.emplace_back();
  Metrics metrics{config};
  EXPECT_THAT(metrics.text(), Not(HasSubstr("redis_node_up{")));
  metrics.set({.redis = {{.nodes = {{.name = "r1:6379", .up = true}, {.name = "s1:26379", .up = true}}}}}, 0, 0);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_redis_node_up{node="r1:6379",redis="default"})"), 1);
  metrics.set({.redis = {{.nodes = {{.name = "r2:6379", .up = true}, {.name = "s1:26379", .up = false}}}}}, 0, 1);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_redis_node_up{node="r2:6379",redis="default"})"), 1);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_redis_node_up{node="s1:26379",redis="default"})"), 0);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("r1:6379"))) << "the master before";
}

TEST(Metrics, loop_lag_is_a_histogram) {
  Metrics metrics{two_upstreams()};
  metrics.loop_lag(200us);
  metrics.loop_lag(30ms);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_loop_lag_seconds_bucket{le="0.0005"})"), 1);
  EXPECT_EQ(value_of(metrics.text(), "penstock_loop_lag_seconds_count"), 2);
}

TEST(Metrics, the_process_and_the_build_describe_themselves) {
  const std::string text = Metrics{two_upstreams()}.text();
  EXPECT_THAT(text, HasSubstr("\npenstock_build_info{version=\"" PENSTOCK_VERSION "\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\n# TYPE process_cpu_seconds_total counter\n"));
  EXPECT_GT(value_of(text, "process_cpu_seconds_total"), 0);
  EXPECT_GT(value_of(text, "process_resident_memory_bytes"), 100'000);
  EXPECT_GT(value_of(text, "process_virtual_memory_bytes"), value_of(text, "process_resident_memory_bytes"));
  EXPECT_NEAR(*value_of(text, "process_start_time_seconds"), static_cast<double>(::time(nullptr)), 60);
  EXPECT_EQ(value_of(text, "process_max_fds"), static_cast<double>(::sysconf(_SC_OPEN_MAX)));
}

TEST(Metrics, open_descriptors_are_counted_exactly) {
  const Metrics metrics{two_upstreams()};
  const double before = *value_of(metrics.text(), "process_open_fds");
  const int one_more = ::dup(STDIN_FILENO);
  EXPECT_EQ(value_of(metrics.text(), "process_open_fds"), before + 1);
  ::close(one_more);
}

}  // namespace
}  // namespace penstock::observe
