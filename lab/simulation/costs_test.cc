// SPDX-License-Identifier: Apache-2.0
// A fleet before an upstream that lets 10,000 tokens pass a minute, whose requests cost between 50 and 4,000 of them.
// What a request costs is known when its stream ends. The upstream counts that from when the request comes: it serves
// one while less than 10,000 have been used in the last minute, and refuses the next.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "simulation/fleet.h"
#include "support/machine.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

constexpr int kAMinute = 10'000, kLeast = 50, kMost = 4'000;

LimitConfig of_tokens(LimitConfig::Kind kind) { return {.kind = kind, .name = "tokens", .unit = "tokens"}; }

/// `estimate`: reserved for each; 0: what it will cost.
Plan streaming(LimitConfig limit, int estimate, std::uint64_t seed) {
  Plan plan{.seed = seed, .length = 40 * kMinute};
  plan.limits = {std::move(limit), {.kind = PacerConfig{.qps = 20}}};
  Member member{.settings = {.max_concurrent = 100, .max_pending = 1'000, .max_wait = kHour}};
  member.demand = {.clients = 20,
                   .least_cost = kLeast,
                   .most_cost = kMost,
                   .estimate = estimate,
                   .flight = 3 * kSecond,
                   .flight_varies = true};
  plan.members.assign(3, member);
  return plan;
}

/// What left, ascending.
std::vector<Request> departures_of(const Journal& journal) {
  std::vector<Request> all;
  for (const auto id : journal.departures) all.push_back(journal.requests[id]);
  std::ranges::stable_sort(all, {}, &Request::left);
  return all;
}

struct Sum {
  int departures = 0, refused = 0;
  std::int64_t fullest = 0;  ///< minute, but for the last request in it
  std::int64_t known = 0;    ///< the same of what was known when they left: what they cost, up to the estimate
  double used = 0;           ///< of what the limit lets pass, from the third minute on
};

Sum judged(const Plan& plan) {
  Sum sum;
  const Journal journal = run(plan);
  const auto all = departures_of(journal);
  const int estimate = plan.members.front().demand.estimate;
  const auto known = [&](const Request& request) { return std::min(request.cost, estimate > 0 ? estimate : kMost); };
  std::int64_t in_a_minute = 0, known_in_a_minute = 0, since = 0;
  auto first = all.begin();
  for (auto it = all.begin(); it != all.end(); ++it) {
    for (; first->left <= it->left - kMinute; ++first) in_a_minute -= first->cost, known_in_a_minute -= known(*first);
    sum.fullest = std::max(sum.fullest, in_a_minute);
    sum.known = std::max(sum.known, known_in_a_minute);
    sum.refused += in_a_minute >= kAMinute;
    in_a_minute += it->cost, known_in_a_minute += known(*it);
    if (it->left >= 2 * kMinute) since += it->cost;
  }
  sum.departures = static_cast<int>(all.size());
  sum.used = static_cast<double>(since) / kAMinute / (static_cast<double>(plan.length) / kMinute - 2);
  for (const Request& request : journal.requests) EXPECT_NE(request.end, Request::End::refused) << "by its own process";
  if (std::getenv("PENSTOCK_FIGURES"))
    std::printf("seed %d: %.1f %% used, at most %d before the last of a minute, %d of %d refused\n",
                static_cast<int>(plan.seed), 100 * sum.used, static_cast<int>(sum.fullest), sum.refused,
                sum.departures);
  return sum;
}

void expect_used_up(const Plan& plan) {
  SCOPED_TRACE("seed " + std::to_string(plan.seed) + ", estimate " +
               std::to_string(plan.members.front().demand.estimate));
  const Sum sum = judged(plan);
  EXPECT_GT(sum.departures, 150);
  EXPECT_LT(sum.fullest, kAMinute) << "so no minute has more than these and one request";
  EXPECT_EQ(sum.refused, 0);
  EXPECT_GE(sum.used, 0.97);
  EXPECT_LE(sum.used, 1.01);
}

/// 0: what each will cost.
class CostsEstimated : public testing::TestWithParam<int> {};

TEST_P(CostsEstimated, use_up_a_sliding_window_and_are_never_refused) {
  for (std::uint64_t seed = 1; seed <= (test::kSanitized ? 1 : 4); ++seed)
    expect_used_up(streaming(of_tokens(SlidingWindowConfig{.max = kAMinute, .interval = 1min}), GetParam(), seed));
}

INSTANTIATE_TEST_SUITE_P(Exactly, CostsEstimated, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(AtMost, CostsEstimated, testing::Values(kMost));

TEST(Costs, that_are_known_at_once_use_up_a_pacer) {
  for (std::uint64_t seed = 1; seed <= (test::kSanitized ? 1 : 2); ++seed)
    expect_used_up(streaming(of_tokens(PacerConfig{.qps = kAMinute / 60.0}), 0, seed));
}

/// Whatever is estimated, what is used in the long run is what the limit lets pass: what was too little is a debt.
class CostsEstimatedTooLow : public testing::TestWithParam<LimitConfig::Kind> {};

TEST_P(CostsEstimatedTooLow, are_paid_by_those_behind_them) {
  const Sum sum = judged(streaming(of_tokens(GetParam()), 700, 5));
  EXPECT_GE(sum.used, 0.95);
  EXPECT_LE(sum.used, 1.05);
  if (std::holds_alternative<SlidingWindowConfig>(GetParam())) {
    EXPECT_LT(sum.known, kAMinute) << "beyond that goes what was not known";
  }
}

INSTANTIATE_TEST_SUITE_P(Sliding, CostsEstimatedTooLow,
                         testing::Values(SlidingWindowConfig{.max = kAMinute, .interval = 1min}));
INSTANTIATE_TEST_SUITE_P(Bucket, CostsEstimatedTooLow,
                         testing::Values(TokenBucketConfig{
                             .capacity = kAMinute, .refill_amount = kAMinute / 60, .refill_frequency = 1s}));
INSTANTIATE_TEST_SUITE_P(Window, CostsEstimatedTooLow,
                         testing::Values(WindowConfig{.reservoir = kAMinute, .interval = 1min}));
INSTANTIATE_TEST_SUITE_P(Pacer, CostsEstimatedTooLow, testing::Values(PacerConfig{.qps = kAMinute / 60.0}));

}  // namespace
}  // namespace penstock::simulation
