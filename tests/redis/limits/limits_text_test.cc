// SPDX-License-Identifier: Apache-2.0
// What processes tell each other of their limits.
#include "redis/limits/limits_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

namespace penstock::redis {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::StartsWith;

LimitConfig pacer_of(double qps) { return {.kind = PacerConfig{.qps = qps, .max_burst = 5}}; }

TEST(LimitsText, says_each_kind_as_a_configuration_would) {
  const std::vector<LimitConfig> limits{
      {.kind = WindowConfig{.reservoir = 5, .interval = 90s, .spread = true}},
      {.kind = PacerConfig{.qps = 0.5, .max_burst = 5}, .name = "burst"},
      {.kind = SlidingWindowConfig{.max = 7, .interval = 1500us}, .per = LimitConfig::Per::group},
      {.kind = TokenBucketConfig{.capacity = 40, .refill_amount = 2, .refill_frequency = 500ms}},
      {.kind = SemaphoreConfig{.capacity = 3, .lease = 2min}},
      {.kind = CounterConfig{.max = 9, .period = 24h}}};
  EXPECT_EQ(text_of(limits),
            "pacer { qps: 0.5, maxBurst: 5, burstAllowanceFactor: 0.5, name: burst }, counter { max: 9, period: 1d }, "
            "semaphore { capacity: 3, lease: 2m }, slidingWindow { max: 7, interval: 1500us, per: group }, "
            "tokenBucket { capacity: 40, refillAmount: 2, refillFrequency: 500ms }, "
            "window { reservoir: 5, interval: 90s, spread: true }");
}

TEST(LimitsText, leaves_out_what_a_process_keeps_for_itself_and_whether_it_refuses) {
  LimitConfig own = pacer_of(3), refusing = pacer_of(4);
  own.shared = false;
  own.name = "own";
  refusing.mode = LimitConfig::Mode::refuse;
  EXPECT_EQ(text_of({own, refusing}), text_of({pacer_of(4)}));
}

TEST(LimitsText, says_what_a_limit_counts_where_that_is_not_requests) {
  const LimitConfig tokens{.kind = SlidingWindowConfig{.max = 7, .interval = 1s}, .unit = "tokens"};
  EXPECT_EQ(text_of({tokens}), "slidingWindow { max: 7, interval: 1s, unit: tokens }");
}

TEST(LimitsText, has_the_same_hash_in_any_order_and_another_for_any_parameter) {
  const LimitConfig window{.kind = WindowConfig{.reservoir = 5, .interval = 1s}};
  EXPECT_EQ(hash_of({pacer_of(4), window}), hash_of({window, pacer_of(4)}));
  EXPECT_NE(hash_of({pacer_of(4), window}), hash_of({pacer_of(4.5), window}));
  EXPECT_NE(hash_of({pacer_of(4), window}), hash_of({pacer_of(4)}));
  EXPECT_EQ(hash_of({pacer_of(4)}).size(), 8u) << "it stands in every place in line";
}

TEST(LimitsText, is_told_with_its_hash_and_who_tells_it) {
  const std::string report = make_limits_report({pacer_of(4)});
  EXPECT_THAT(report, StartsWith(hash_of({pacer_of(4)}) + " "));
  EXPECT_THAT(
      describe_limits_report(report),
      EndsWith("/" + std::to_string(::getpid()) + " has pacer { qps: 4, maxBurst: 5, burstAllowanceFactor: 0.5 }"));
}

TEST(LimitsText, of_somebody_else_is_one_short_line_whatever_it_is) {
  EXPECT_EQ(describe_limits_report("1234 web-1/7 pacer { qps: 1 }"), "web-1/7 has pacer { qps: 1 }");
  EXPECT_EQ(describe_limits_report("1234 web\n1/7 a\x1b[2Jb\xff"), "web?1/7 has a?[2Jb?");
  EXPECT_EQ(describe_limits_report(""), " has ");
  EXPECT_EQ(describe_limits_report("x"), " has ");
  EXPECT_EQ(describe_limits_report("x y"), "y has ");
  EXPECT_LT(describe_limits_report("1 2 " + std::string(100'000, 'x')).size(), 2'000u);
  EXPECT_LT(describe_limits_report("1 " + std::string(100'000, 'x')).size(), 2'000u);
}

}  // namespace
}  // namespace penstock::redis
