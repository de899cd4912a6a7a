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
  metrics.redis_round_trip(1ms);
  metrics.set({.redis = RedisSnapshot{.up = true}}, 0, 0);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("redis_up")));
  EXPECT_THAT(metrics.text(), Not(HasSubstr("degraded")));
}

TEST(Metrics, redis_is_followed_by_state_calls_errors_and_round_trips) {
  Config config;
  config.redis.emplace();
  Metrics metrics{config};
  EXPECT_EQ(value_of(metrics.text(), "penstock_redis_up"), 0);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_redis_errors_total{kind="timeout"})"), 0);
  metrics.redis_round_trip(200us);
  metrics.set({.redis = RedisSnapshot{.up = true, .calls = 5, .errors = {{"timeout", 1}, {"corrupt", 2}}}}, 0, 0);
  metrics.set({.redis = RedisSnapshot{.degraded = true, .calls = 7, .errors = {{"timeout", 1}, {"corrupt", 3}}}}, 0, 1);
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, "penstock_redis_up"), 0);
  EXPECT_EQ(value_of(text, "penstock_degraded"), 1);
  EXPECT_EQ(value_of(text, "penstock_redis_calls_total"), 7);
  EXPECT_EQ(value_of(text, R"(penstock_redis_errors_total{kind="timeout"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_redis_errors_total{kind="corrupt"})"), 3);
  EXPECT_EQ(value_of(text, R"(penstock_redis_round_trip_seconds_bucket{le="0.0005"})"), 1);
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
