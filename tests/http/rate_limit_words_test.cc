// SPDX-License-Identifier: Apache-2.0
// What answers say beside whether they refuse and until when: what remains, of what, and in which dialect.
#include <gtest/gtest.h>

#include <optional>
#include <string_view>

#include "http/answer.h"
#include "http/rate_limit_fields.h"

namespace penstock::http {
namespace {

using namespace std::chrono_literals;
constexpr auto kUnsaid = std::nullopt;

using Scope = RateLimitWord::Scope;

/// What answers say beside that: what remains, and of what.
struct Detail {
  const char* of;
  int status;
  AnswerFields fields;
  bool spent;
  std::optional<Duration> pause;
  Scope scope;
  std::string_view name;
  std::optional<std::uint64_t> remaining, limit;
};

const Detail kDetails[]{
    // RFC 9110 section 10.2.3
    {"nothing is said", 200, {{"Content-Type", "text/plain"}}, false, kUnsaid, Scope::plain, "", kUnsaid, kUnsaid},
    {"a wait alone", 429, {{"Retry-After", "5"}}, false, 5s, Scope::plain, "", kUnsaid, kUnsaid},
    // GitHub: docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api, "Checking the status"
    {"GitHub: fine",
     200,
     {{"x-ratelimit-limit", "5000"},
      {"x-ratelimit-remaining", "4987"},
      {"x-ratelimit-reset", "1700001800"},
      {"x-ratelimit-resource", "core"}},
     false,
     kUnsaid,
     Scope::plain,
     "",
     4987,
     5000},
    {"GitHub: the last search of a minute",
     200,
     {{"x-ratelimit-limit", "30"},
      {"x-ratelimit-remaining", "0"},
      {"x-ratelimit-reset", "1700000020"},
      {"x-ratelimit-resource", "search"}},
     true,
     20s,
     Scope::named,
     "search",
     0,
     30},
    {"GitHub: the last one, which found nothing",
     404,
     {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1700001800"}, {"x-ratelimit-resource", "core"}},
     true,
     30min,
     Scope::named,
     "core",
     0,
     kUnsaid},
    {"GitHub: a secondary limit is of all resources",
     403,
     {{"retry-after", "60"}, {"x-ratelimit-remaining", "4987"}, {"x-ratelimit-resource", "core"}},
     false,
     60s,
     Scope::plain,
     "",
     4987,
     kUnsaid},
    // Discord: discord.com/developers/docs/topics/rate-limits, "Header Format" and "Exceeding A Rate Limit"
    {"Discord: a bucket of one bot",
     429,
     {{"Retry-After", "65"},
      {"X-RateLimit-Limit", "10"},
      {"X-RateLimit-Remaining", "0"},
      {"X-RateLimit-Reset-After", "64.57"},
      {"X-RateLimit-Bucket", "abcd1234"},
      {"X-RateLimit-Scope", "user"}},
     false,
     65s,
     Scope::named,
     "abcd1234",
     0,
     10},
    {"Discord: a bucket of all bots, of which this one has something left",
     429,
     {{"Retry-After", "1337"},
      {"X-RateLimit-Limit", "10"},
      {"X-RateLimit-Remaining", "9"},
      {"X-RateLimit-Reset-After", "64.57"},
      {"X-RateLimit-Bucket", "abcd1234"},
      {"X-RateLimit-Scope", "shared"}},
     false,
     1337s,
     Scope::named,
     "abcd1234",
     9,
     10},
    {"Discord: global",
     429,
     {{"Retry-After", "65"}, {"X-RateLimit-Global", "true"}, {"X-RateLimit-Scope", "global"}},
     false,
     65s,
     Scope::whole,
     "",
     kUnsaid,
     kUnsaid},
    {"Discord: global, as the scope alone says",
     429,
     {{"Retry-After", "65"}, {"X-RateLimit-Scope", "global"}},
     false,
     65s,
     Scope::whole,
     "",
     kUnsaid,
     kUnsaid},
    {"Discord: the last one of a bucket",
     200,
     {{"X-RateLimit-Limit", "5"},
      {"X-RateLimit-Remaining", "0"},
      {"X-RateLimit-Reset", "1700000001.5"},
      {"X-RateLimit-Reset-After", "1.500"},
      {"X-RateLimit-Bucket", "80c17d2f203122d936070c88c8d10f33"}},
     true,
     1500ms,
     Scope::named,
     "80c17d2f203122d936070c88c8d10f33",
     0,
     5},
    // OpenAI: platform.openai.com/docs/guides/rate-limits, "Rate limits in headers"; limits are of a model
    {"OpenAI: fine",
     200,
     {{"x-ratelimit-limit-requests", "60"},
      {"x-ratelimit-limit-tokens", "150000"},
      {"x-ratelimit-remaining-requests", "59"},
      {"x-ratelimit-remaining-tokens", "30000"},
      {"x-ratelimit-reset-requests", "1s"},
      {"x-ratelimit-reset-tokens", "6m0s"}},
     false,
     kUnsaid,
     Scope::plain,
     "",
     30000,
     150000},
    {"OpenAI: the tokens of a model are spent",
     200,
     {{"x-ratelimit-limit-requests", "60"},
      {"x-ratelimit-limit-tokens", "150000"},
      {"x-ratelimit-remaining-requests", "59"},
      {"x-ratelimit-remaining-tokens", "0"},
      {"x-ratelimit-reset-requests", "1s"},
      {"x-ratelimit-reset-tokens", "6m0s"}},
     true,
     6min,
     Scope::named,
     "tokens",
     0,
     150000},
    // Groq: console.groq.com/docs/rate-limits, "Rate limit headers"
    {"Groq: the requests of a day are spent",
     429,
     {{"retry-after", "2"},
      {"x-ratelimit-limit-requests", "14400"},
      {"x-ratelimit-remaining-requests", "0"},
      {"x-ratelimit-reset-requests", "2m59.56s"},
      {"x-ratelimit-remaining-tokens", "17997"},
      {"x-ratelimit-reset-tokens", "7.66s"}},
     false,
     179'560ms,
     Scope::named,
     "requests",
     0,
     14400},
    // Anthropic: docs.anthropic.com/en/api/rate-limits, "Response headers"; limits are of a class of models
    {"Anthropic: the output of a minute is spent",
     200,
     {{"anthropic-ratelimit-requests-limit", "50"},
      {"anthropic-ratelimit-requests-remaining", "49"},
      {"anthropic-ratelimit-output-tokens-limit", "8000"},
      {"anthropic-ratelimit-output-tokens-remaining", "0"},
      {"anthropic-ratelimit-output-tokens-reset", "2023-11-14T22:13:50Z"}},
     true,
     30s,
     Scope::named,
     "output-tokens",
     0,
     8000},
    // Linear: linear.app/developers/rate-limiting; limits are of the user
    {"Linear: the last one",
     200,
     {{"X-RateLimit-Requests-Limit", "5000"},
      {"X-RateLimit-Requests-Remaining", "0"},
      {"X-RateLimit-Requests-Reset", "1700000002500"}},
     true,
     2500ms,
     Scope::plain,
     "",
     0,
     5000},
    // HubSpot: developers.hubspot.com/docs/guides/apps/api-usage/usage-details: the window's length, which is no reset
    {"HubSpot: the last one of ten seconds",
     200,
     {{"X-HubSpot-RateLimit-Max", "100"},
      {"X-HubSpot-RateLimit-Remaining", "0"},
      {"X-HubSpot-RateLimit-Interval-Milliseconds", "10000"}},
     true,
     kUnsaid,
     Scope::plain,
     "",
     0,
     100},
    // Docker Hub: docs.docker.com/docker-hub/usage/pulls
    {"Docker Hub: the window of a policy is no reset",
     200,
     {{"ratelimit-limit", "100;w=21600"}, {"ratelimit-remaining", "0;w=21600"}},
     true,
     kUnsaid,
     Scope::plain,
     "",
     0,
     100},
    // Shopify: shopify.dev/docs/api/admin-rest/usage/rate-limits
    {"Shopify: a bucket that leaks",
     200,
     {{"X-Shopify-Shop-Api-Call-Limit", "32/40"}},
     false,
     kUnsaid,
     Scope::plain,
     "",
     8,
     40},
    {"Shopify: full", 200, {{"X-Shopify-Shop-Api-Call-Limit", "40/40"}}, true, kUnsaid, Scope::plain, "", 0, 40},
    // IETF: draft-ietf-httpapi-ratelimit-headers-03, -07, -10; Cloudflare: developers.cloudflare.com/fundamentals/api
    {"IETF 03: the first number is the limit",
     200,
     {{"RateLimit-Limit", "10, 10;w=1, 50;w=60"}, {"RateLimit-Remaining", "4"}, {"RateLimit-Reset", "5"}},
     false,
     kUnsaid,
     Scope::plain,
     "",
     4,
     10},
    {"IETF 07", 200, {{"RateLimit", "limit=100, remaining=50, reset=50"}}, false, kUnsaid, Scope::plain, "", 50, 100},
    {"IETF 10: a window is no reset",
     200,
     {{"RateLimit", "\"default\";r=0;w=60"}},
     true,
     kUnsaid,
     Scope::plain,
     "",
     0,
     kUnsaid},
    {"IETF 10: a list in two lines",
     200,
     {{"RateLimit", "\"burst\";r=7;t=1"}, {"RateLimit", "\"day\";r=0;t=60"}},
     true,
     60s,
     Scope::plain,
     "",
     0,
     kUnsaid},
    {"Cloudflare",
     200,
     {{"Ratelimit", "\"default\";r=50;t=30"}, {"Ratelimit-Policy", "\"burst\";q=100;w=60"}},
     false,
     kUnsaid,
     Scope::plain,
     "",
     50,
     kUnsaid},
    // WHOOP: developer.whoop.com/docs/developing/rate-limiting
    {"WHOOP: the limit that is nearest, before all of them",
     200,
     {{"X-RateLimit-Limit", "100, 100;window=60, 10000;window=86400"},
      {"X-RateLimit-Remaining", "98"},
      {"X-RateLimit-Reset", "3"}},
     false,
     kUnsaid,
     Scope::plain,
     "",
     98,
     100},
    // Brave: api-dashboard.search.brave.com/documentation/guides/rate-limiting: of a second, of a month; 0: unlimited
    {"Brave: fine",
     200,
     {{"X-RateLimit-Limit", "1, 15000"},
      {"X-RateLimit-Policy", "1;w=1, 15000;w=2592000"},
      {"X-RateLimit-Remaining", "1, 1000"},
      {"X-RateLimit-Reset", "1, 1419704"}},
     false,
     kUnsaid,
     Scope::plain,
     "",
     1000,
     15000},
    {"Brave: the one of this second",
     200,
     {{"X-RateLimit-Limit", "1, 15000"}, {"X-RateLimit-Remaining", "0, 1000"}, {"X-RateLimit-Reset", "1, 1419704"}},
     true,
     1s,
     Scope::plain,
     "",
     0,
     1},
    {"Brave: the last of the month",
     429,
     {{"X-RateLimit-Limit", "1, 15000"}, {"X-RateLimit-Remaining", "1, 0"}, {"X-RateLimit-Reset", "1, 1419704"}},
     false,
     1'419'704s,
     Scope::plain,
     "",
     0,
     15000},
    {"Brave: a month without a limit",
     200,
     {{"X-RateLimit-Limit", "50, 0"}, {"X-RateLimit-Remaining", "49, 0"}, {"X-RateLimit-Reset", "1, 1419704"}},
     false,
     kUnsaid,
     Scope::plain,
     "",
     49,
     50},
    // Two scopes: what is said of one model does not pause all
    {"a plain limit and one of a model",
     200,
     {{"X-RateLimit-Remaining", "0"},
      {"X-RateLimit-Reset", "3"},
      {"x-ratelimit-remaining-tokens", "0"},
      {"x-ratelimit-reset-tokens", "6m0s"}},
     true,
     3s,
     Scope::plain,
     "",
     0,
     kUnsaid},
    {"more remains than a number holds",
     200,
     {{"X-RateLimit-Remaining", "99999999999999999999"}},
     false,
     kUnsaid,
     Scope::plain,
     "",
     9223372036854775807u,
     kUnsaid},
};

TEST(RateLimitWords, say_what_remains_and_of_what) {
  for (const auto& answer : kDetails) {
    const auto head = head_of(answer.status, answer.fields);
    const auto word = read_rate_limit(head, kAnsweredAt * 1'000'000);
    EXPECT_EQ(word.spent, answer.spent) << answer.of;
    EXPECT_EQ(word.pause, answer.pause) << answer.of;
    EXPECT_EQ(word.scope, answer.scope) << answer.of;
    EXPECT_EQ(word.name, answer.name) << answer.of;
    EXPECT_EQ(word.remaining, answer.remaining) << answer.of;
    EXPECT_EQ(word.limit, answer.limit) << answer.of;
    EXPECT_EQ(word.unreadable, 0u) << answer.of;
  }
}

TEST(RateLimitWords, refuse_with_the_statuses_that_a_user_lists) {
  constexpr std::uint16_t kListed[]{420, 403};
  const auto read = [&](int status, const AnswerFields& fields) {
    return read_rate_limit(head_of(status, fields), kAnsweredAt * 1'000'000, Obey::automatic, kListed);
  };
  EXPECT_TRUE(read(420, {}).refused);
  EXPECT_EQ(read(420, {{"Retry-After", "5"}}).pause, 5s);
  EXPECT_FALSE(read(429, {{"Retry-After", "5"}}).refused);
  EXPECT_EQ(read(429, {{"Retry-After", "5"}}).pause, kUnsaid) << "the wait is of a refusal";
  EXPECT_FALSE(read(403, {}).refused) << "forbidden, and no word of limits";
  EXPECT_TRUE(read(403, {{"Retry-After", "5"}}).refused);
  EXPECT_TRUE(read(403, {{"X-RateLimit-Remaining", "0"}}).refused);
  EXPECT_TRUE(read(429, {{"X-RateLimit-Remaining", "0"}}).spent) << "as any answer that is no refusal";
}

TEST(RateLimitWords, are_read_in_the_chosen_dialects_only) {
  struct {
    Dialect dialect;
    AnswerFields fields;
    std::optional<Duration> pause;
  } const rows[]{
      {Dialect::retry_after, {{"Retry-After", "5"}}, 5s},
      {Dialect::retry_after_ms, {{"retry-after-ms", "337"}}, 337ms},
      {Dialect::retry_after_ms, {{"x-ms-retry-after-ms", "338"}}, 338ms},
      {Dialect::rate_limit, {{"RateLimit-Remaining", "0"}, {"RateLimit-Reset", "6"}}, 6s},
      {Dialect::rate_limit, {{"RateLimit", "\"a\";r=0;t=7"}}, 7s},
      {Dialect::x_rate_limit, {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "8"}}, 8s},
      {Dialect::x_rate_limit, {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset-After", "8.5"}}, 8500ms},
      {Dialect::x_rate_limit, {{"X-Rate-Limit-Remaining", "0"}, {"X-Rate-Limit-Reset", "9"}}, 9s},
      {Dialect::openai, {{"x-ratelimit-remaining-tokens", "0"}, {"x-ratelimit-reset-tokens", "10s"}}, 10s},
      {Dialect::anthropic,
       {{"anthropic-ratelimit-tokens-remaining", "0"}, {"anthropic-ratelimit-tokens-reset", "11"}},
       11s},
      {Dialect::hubspot,
       {{"X-HubSpot-RateLimit-Remaining", "0"}, {"X-HubSpot-RateLimit-Interval-Milliseconds", "12000"}},
       12s},
      {Dialect::linear, {{"X-RateLimit-Requests-Remaining", "0"}, {"X-RateLimit-Requests-Reset", "13"}}, 13s},
  };
  for (const auto& [dialect, fields, pause] : rows) {
    const auto head = head_of(429, fields);
    EXPECT_EQ(read_rate_limit(head, kAnsweredAt * 1'000'000, Obey::only(dialect)).pause, pause) << fields[0].first;
    for (unsigned other = 0; other < kDialectNames.size(); ++other) {
      if (static_cast<Dialect>(other) == dialect) continue;
      const auto word = read_rate_limit(head, kAnsweredAt * 1'000'000, Obey::only(static_cast<Dialect>(other)));
      EXPECT_EQ(word.pause, kUnsaid) << fields[0].first << " in " << kDialectNames[other];
      EXPECT_TRUE(word.refused);
    }
  }
  const auto full = head_of(200, {{"X-Shopify-Shop-Api-Call-Limit", "40/40"}});
  EXPECT_TRUE(read_rate_limit(full, kAnsweredAt * 1'000'000, Obey::only(Dialect::shopify)).spent);
  EXPECT_FALSE(read_rate_limit(full, kAnsweredAt * 1'000'000, Obey::only(Dialect::retry_after)).spent);
  EXPECT_TRUE(read_rate_limit(head_of(429, {{"Retry-After", "5"}}), kAnsweredAt * 1'000'000, Obey::off).refused);
}

}  // namespace
}  // namespace penstock::http
