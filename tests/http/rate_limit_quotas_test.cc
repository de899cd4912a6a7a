// SPDX-License-Identifier: Apache-2.0
// Quotas as vendors document them: how much is spent of which window.
#include "http/rate_limit_quotas.h"

#include <gmock/gmock.h>

#include <vector>

#include "http/answer.h"

namespace penstock::http {
namespace {

using namespace std::chrono_literals;
constexpr auto kNoLength = std::nullopt;

struct QuotaRow {
  const char* of;
  AnswerFields fields;
  std::vector<Quota> quotas;
};

const QuotaRow kQuotaRows[]{
    {"nothing is said", {{"Content-Type", "text/plain"}}, {}},
    {"a wait is no quota", {{"Retry-After", "5"}}, {}},
    {"GitHub",
     {{"x-ratelimit-limit", "5000"},
      {"x-ratelimit-remaining", "4987"},
      {"x-ratelimit-reset", "1700001800"},
      {"x-ratelimit-resource", "core"}},
     {{5000, 4987, 30min, kNoLength, false, "x-ratelimit-remaining"}}},
    {"GitHub: a part of it",
     {{"x-ratelimit-limit", "5000"},
      {"x-ratelimit-remaining", "4987"},
      {"x-ratelimit-reset", "1700001800"},
      {"x-ratelimit-resource", "graphql"}},
     {{5000, 4987, 30min, kNoLength, true, "x-ratelimit-remaining"}}},
    {"GitHub by its own clock, which is ten seconds behind",
     {{"Date", "Tue, 14 Nov 2023 22:13:10 GMT"},
      {"x-ratelimit-limit", "60"},
      {"x-ratelimit-remaining", "0"},
      {"x-ratelimit-reset", "1700000020"}},
     {{60, 0, 30s, kNoLength, false, "x-ratelimit-remaining"}}},
    {"Discord: a bucket",
     {{"X-RateLimit-Limit", "5"},
      {"X-RateLimit-Remaining", "4"},
      {"X-RateLimit-Reset", "1700000001.470"},
      {"X-RateLimit-Reset-After", "1.5"},
      {"X-RateLimit-Bucket", "abcd1234"}},
     {{5, 4, 1500ms, kNoLength, true, "X-RateLimit-Remaining"}}},
    {"IETF 03: the first number is the limit",
     {{"RateLimit-Limit", "10, 10;w=1, 50;w=60"}, {"RateLimit-Remaining", "4"}, {"RateLimit-Reset", "1"}},
     {{10, 4, 1s, 1s, false, "RateLimit-Remaining"}}},
    {"IETF 07",
     {{"RateLimit", "limit=100, remaining=50, reset=50"}, {"RateLimit-Policy", "10;w=1, 100;w=60"}},
     {{100, 50, 50s, 60s, false, "RateLimit"}}},
    {"IETF 10: two quotas with their policies",
     {{"RateLimit", "\"burst\";r=7;t=1, \"day\";r=0;t=60"},
      {"RateLimit-Policy", "\"day\";q=1000;w=86400, \"burst\";q=10;w=2"}},
     {{10, 7, 1s, 2s, false, "RateLimit"}, {1000, 0, 60s, 86'400s, false, "RateLimit"}}},
    {"IETF 10: without a policy its limit is not known", {{"RateLimit", "\"default\";r=50;t=30"}}, {}},
    {"WHOOP",
     {{"X-RateLimit-Limit", "100, 100;window=60, 10000;window=86400"},
      {"X-RateLimit-Remaining", "98"},
      {"X-RateLimit-Reset", "3"}},
     {{100, 98, 3s, 60s, false, "X-RateLimit-Remaining"}}},
    {"Brave: of a second, and of a month",
     {{"X-RateLimit-Limit", "1, 15000"},
      {"X-RateLimit-Policy", "1;w=1, 15000;w=2592000"},
      {"X-RateLimit-Remaining", "0, 14000"},
      {"X-RateLimit-Reset", "1, 1419704"}},
     {{1, 0, 1s, 1s, false, "X-RateLimit-Remaining"},
      {15'000, 14'000, 1'419'704s, 2'592'000s, false, "X-RateLimit-Remaining"}}},
    {"X, Okta",
     {{"X-Rate-Limit-Limit", "900"}, {"X-Rate-Limit-Remaining", "898"}, {"X-Rate-Limit-Reset", "1700000600"}},
     {{900, 898, 10min, kNoLength, false, "X-Rate-Limit-Remaining"}}},
    {"Docker Hub says no reset", {{"ratelimit-limit", "100;w=21600"}, {"ratelimit-remaining", "76;w=21600"}}, {}},
    {"OpenAI's are of each model",
     {{"x-ratelimit-limit-requests", "60"},
      {"x-ratelimit-remaining-requests", "59"},
      {"x-ratelimit-reset-requests", "1s"}},
     {}},
    {"HubSpot's windows have no end",
     {{"X-HubSpot-RateLimit-Max", "100"},
      {"X-HubSpot-RateLimit-Remaining", "98"},
      {"X-HubSpot-RateLimit-Interval-Milliseconds", "10000"}},
     {}},
    {"a window that has ended",
     {{"X-RateLimit-Limit", "60"}, {"X-RateLimit-Remaining", "1"}, {"X-RateLimit-Reset", "1699999999"}},
     {}},
    {"what is no number",
     {{"X-RateLimit-Limit", "many"}, {"X-RateLimit-Remaining", "1"}, {"X-RateLimit-Reset", "5"}},
     {}},
    {"a limit of nothing, where nothing is limited",
     {{"X-RateLimit-Limit", "0"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "5"}},
     {}},
};

TEST(RateLimitQuotas, are_read_as_vendors_write_them) {
  for (const auto& row : kQuotaRows) {
    EXPECT_EQ(read_quotas(head_of(200, row.fields), kAnsweredAt * 1'000'000), row.quotas) << row.of;
  }
}

TEST(RateLimitQuotas, in_a_dialect_that_is_not_obeyed_are_not_read) {
  const auto head =
      head_of(200, {{"X-RateLimit-Limit", "60"}, {"X-RateLimit-Remaining", "1"}, {"X-RateLimit-Reset", "5"}});
  const auto wall = kAnsweredAt * 1'000'000;
  EXPECT_EQ(read_quotas(head, wall, Obey::only(Dialect::x_rate_limit)).size(), 1u);
  EXPECT_TRUE(read_quotas(head, wall, Obey::only(Dialect::rate_limit)).empty());
}

}  // namespace
}  // namespace penstock::http
