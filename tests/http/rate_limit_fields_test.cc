// SPDX-License-Identifier: Apache-2.0
// Answers as vendors document them, and as they get them wrong: whether each refuses, and until when.
#include "http/rate_limit_fields.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "http/answer.h"

namespace penstock::http {
namespace {

using namespace std::chrono_literals;
constexpr auto kNothing = std::nullopt;

struct Answer {
  const char* of;
  int status;
  AnswerFields fields;
  bool refused;
  std::optional<Duration> pause;
};

const Answer kAnswers[]{
    // RFC 9110 section 10.2.3
    {"seconds", 429, {{"Retry-After", "120"}}, true, 120s},
    {"seconds of a server that is busy", 503, {{"retry-after", "7"}}, true, 7s},
    {"seconds with decimals, as Discord and Cloudflare write", 429, {{"Retry-After", "0.337"}}, true, 337ms},
    {"a date", 429, {{"Retry-After", "Tue, 14 Nov 2023 22:14:20 GMT"}}, true, 60s},
    {"a date against the answer's own",
     429,
     {{"Date", "Tue, 14 Nov 2023 22:14:10 GMT"}, {"Retry-After", "Tue, 14 Nov 2023 22:14:20 GMT"}},
     true,
     10s},
    {"a date of RFC 850", 429, {{"Retry-After", "Tuesday, 14-Nov-23 22:13:30 GMT"}}, true, 10s},
    {"a date of asctime", 429, {{"Retry-After", "Tue Nov 14 22:13:30 2023"}}, true, 10s},
    {"a date in the past", 429, {{"Retry-After", "Tue, 14 Nov 2023 22:13:19 GMT"}}, true, 0s},
    {"a refusal without a time", 429, {}, true, kNothing},
    {"an overloaded model, Anthropic", 529, {{"retry-after", "3"}}, true, 3s},
    {"an answer that is no refusal", 202, {{"Retry-After", "9"}}, false, kNothing},
    {"a redirect", 301, {{"Retry-After", "9"}}, false, kNothing},
    {"a server's own fault", 500, {{"Retry-After", "9"}}, false, kNothing},
    // RFC 3339, as some gateways write it there
    {"a moment of RFC 3339", 429, {{"Retry-After", "2023-11-14T22:13:50Z"}}, true, 30s},
    {"seconds since 1970 where seconds were meant", 429, {{"Retry-After", "1700000030"}}, true, 30s},
    // OpenAI, Azure OpenAI: platform.openai.com/docs/guides/rate-limits, learn.microsoft.com, azure-sdk-for-python#9092
    {"milliseconds", 429, {{"retry-after-ms", "337"}}, true, 337ms},
    {"milliseconds of Azure", 429, {{"x-ms-retry-after-ms", "1500"}}, true, 1500ms},
    {"whole seconds and the milliseconds in them", 429, {{"retry-after", "1"}, {"retry-after-ms", "337"}}, true, 1s},
    {"OpenAI: requests spent",
     429,
     {{"x-ratelimit-limit-requests", "60"},
      {"x-ratelimit-remaining-requests", "0"},
      {"x-ratelimit-reset-requests", "1s"},
      {"x-ratelimit-remaining-tokens", "149984"},
      {"x-ratelimit-reset-tokens", "6m0s"}},
     true,
     1s},
    {"OpenAI: tokens spent",
     429,
     {{"x-ratelimit-remaining-requests", "59"},
      {"x-ratelimit-reset-requests", "1s"},
      {"x-ratelimit-remaining-tokens", "0"},
      {"x-ratelimit-reset-tokens", "6m0s"}},
     true,
     6min},
    {"OpenAI: both spent, the later counts",
     429,
     {{"x-ratelimit-remaining-requests", "0"},
      {"x-ratelimit-reset-requests", "20ms"},
      {"x-ratelimit-remaining-tokens", "0"},
      {"x-ratelimit-reset-tokens", "1m30.5s"}},
     true,
     90'500ms},
    {"OpenAI: fine",
     200,
     {{"x-ratelimit-remaining-requests", "59"}, {"x-ratelimit-reset-requests", "1s"}},
     false,
     kNothing},
    {"OpenAI: the last one",
     200,
     {{"x-ratelimit-remaining-requests", "0"}, {"x-ratelimit-reset-requests", "8.64s"}},
     false,
     8640ms},
    // Anthropic: docs.anthropic.com/en/api/rate-limits
    {"Anthropic: requests",
     429,
     {{"anthropic-ratelimit-requests-limit", "50"},
      {"anthropic-ratelimit-requests-remaining", "0"},
      {"anthropic-ratelimit-requests-reset", "2023-11-14T22:14:00Z"},
      {"retry-after", "12"}},
     true,
     40s},
    {"Anthropic: input tokens",
     429,
     {{"anthropic-ratelimit-input-tokens-remaining", "0"},
      {"anthropic-ratelimit-input-tokens-reset", "2023-11-14T23:13:25+01:00"}},
     true,
     5s},
    {"Anthropic: output tokens",
     429,
     {{"anthropic-ratelimit-output-tokens-remaining", "0"},
      {"anthropic-ratelimit-output-tokens-reset", "2023-11-14T22:13:20.5Z"}},
     true,
     500ms},
    {"Anthropic: tokens remain",
     429,
     {{"anthropic-ratelimit-tokens-remaining", "8000"}, {"anthropic-ratelimit-tokens-reset", "2023-11-14T22:14:00Z"}},
     true,
     kNothing},
    // GitHub: docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
    {"GitHub: the hour is spent, 403",
     403,
     {{"x-ratelimit-limit", "5000"},
      {"x-ratelimit-remaining", "0"},
      {"x-ratelimit-reset", "1700001800"},
      {"x-ratelimit-resource", "core"}},
     true,
     30min},
    {"GitHub: the hour is spent, 429",
     429,
     {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1700001800"}},
     true,
     30min},
    {"GitHub: a secondary limit",
     403,
     {{"retry-after", "60"}, {"x-ratelimit-remaining", "4987"}, {"x-ratelimit-reset", "1700001800"}},
     true,
     60s},
    {"GitHub: forbidden, and no refusal",
     403,
     {{"x-ratelimit-remaining", "4987"}, {"x-ratelimit-reset", "1700001800"}},
     false,
     kNothing},
    {"forbidden without a word", 403, {}, false, kNothing},
    {"GitHub: the last of the hour",
     200,
     {{"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1700001800"}},
     false,
     30min},
    {"GitHub: against its own clock",
     429,
     {{"Date", "Tue, 14 Nov 2023 22:13:10 GMT"}, {"x-ratelimit-remaining", "0"}, {"x-ratelimit-reset", "1700000000"}},
     true,
     10s},
    // Discord: discord.com/developers/docs/topics/rate-limits
    {"Discord: a bucket",
     429,
     {{"X-RateLimit-Limit", "5"},
      {"X-RateLimit-Remaining", "0"},
      {"X-RateLimit-Reset-After", "1.5"},
      {"X-RateLimit-Bucket", "abcd1234"},
      {"X-RateLimit-Scope", "user"}},
     true,
     1500ms},
    {"Discord: a moment with decimals",
     429,
     {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1700000001.5"}},
     true,
     1500ms},
    {"Discord: global", 429, {{"Retry-After", "65"}, {"X-RateLimit-Global", "true"}}, true, 65s},
    {"Discord: spent with a good answer",
     200,
     {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset-After", "1"}},
     false,
     1s},
    // Reddit: x-ratelimit-* with decimals and seconds from now
    {"Reddit",
     429,
     {{"x-ratelimit-used", "600"}, {"x-ratelimit-remaining", "0.0"}, {"x-ratelimit-reset", "181"}},
     true,
     181s},
    {"Reddit: fine", 200, {{"x-ratelimit-remaining", "598.0"}, {"x-ratelimit-reset", "181"}}, false, kNothing},
    {"less than one is none", 200, {{"x-ratelimit-remaining", "0.5"}, {"x-ratelimit-reset", "4"}}, false, 4s},
    // X: docs.x.com/x-api/fundamentals/rate-limits; Okta: developer.okta.com/docs/reference/rl-best-practices
    {"X",
     429,
     {{"x-rate-limit-limit", "900"}, {"x-rate-limit-remaining", "0"}, {"x-rate-limit-reset", "1700000900"}},
     true,
     15min},
    {"Okta", 429, {{"X-Rate-Limit-Remaining", "0"}, {"X-Rate-Limit-Reset", "1700000045"}}, true, 45s},
    // Twitch: dev.twitch.tv/docs/api/guide; GitLab: docs.gitlab.com/security/rate_limits
    {"Twitch",
     429,
     {{"Ratelimit-Limit", "800"}, {"Ratelimit-Remaining", "0"}, {"Ratelimit-Reset", "1700000012"}},
     true,
     12s},
    {"GitLab",
     429,
     {{"RateLimit-Remaining", "0"}, {"RateLimit-Reset", "1700000060"}, {"Retry-After", "30"}},
     true,
     60s},
    // Docker Hub: docs.docker.com/docker-hub/usage/pulls
    {"Docker Hub: no time is said",
     429,
     {{"ratelimit-limit", "100;w=21600"}, {"ratelimit-remaining", "0;w=21600"}},
     true,
     kNothing},
    {"Docker Hub: fine",
     200,
     {{"ratelimit-limit", "100;w=21600"}, {"ratelimit-remaining", "76;w=21600"}},
     false,
     kNothing},
    // IETF: draft-ietf-httpapi-ratelimit-headers-03, -07, -10
    {"IETF 03",
     429,
     {{"RateLimit-Limit", "10, 10;w=1, 50;w=60"}, {"RateLimit-Remaining", "0"}, {"RateLimit-Reset", "5"}},
     true,
     5s},
    {"IETF 07", 429, {{"RateLimit", "limit=100, remaining=0, reset=30"}}, true, 30s},
    {"IETF 07, something remains", 429, {{"RateLimit", "limit=100, remaining=3, reset=30"}}, true, kNothing},
    {"IETF 10",
     429,
     {{"RateLimit", "\"default\";r=0;t=30"}, {"RateLimit-Policy", "\"default\";q=100;w=60"}},
     true,
     30s},
    {"IETF 10, one of two is spent", 429, {{"RateLimit", "\"burst\";r=7;t=1, \"day\";r=0;t=3600"}}, true, 1h},
    {"IETF 10, of a good answer", 200, {{"RateLimit", "\"default\";r=0;t=9"}}, false, 9s},
    {"a policy alone says nothing", 429, {{"RateLimit-Policy", "\"default\";q=100;w=60"}}, true, kNothing},
    // Shopify: shopify.dev/docs/api/admin-rest/usage/rate-limits
    {"Shopify: refused", 429, {{"X-Shopify-Shop-Api-Call-Limit", "40/40"}, {"Retry-After", "2.0"}}, true, 2s},
    {"Shopify: full, and no time is said", 200, {{"X-Shopify-Shop-Api-Call-Limit", "40/40"}}, false, kNothing},
    {"Shopify: fine", 200, {{"X-Shopify-Shop-Api-Call-Limit", "32/40"}}, false, kNothing},
    // HubSpot: developers.hubspot.com/docs/guides/apps/api-usage/usage-details
    {"HubSpot",
     429,
     {{"X-HubSpot-RateLimit-Max", "100"},
      {"X-HubSpot-RateLimit-Remaining", "0"},
      {"X-HubSpot-RateLimit-Interval-Milliseconds", "10000"}},
     true,
     10s},
    // Atlassian: developer.atlassian.com/cloud/jira/platform/rate-limiting
    {"Atlassian: RFC 3339 without seconds",
     429,
     {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "2023-11-14T22:14Z"}, {"Retry-After", "10"}},
     true,
     40s},
    // Linear: linear.app/developers/rate-limiting
    {"Linear: milliseconds since 1970",
     429,
     {{"X-RateLimit-Requests-Remaining", "0"}, {"X-RateLimit-Requests-Reset", "1700000002500"}},
     true,
     2500ms},
    {"Linear: complexity",
     429,
     {{"X-RateLimit-Complexity-Remaining", "0"}, {"X-RateLimit-Complexity-Reset", "1700000060000"}},
     true,
     60s},
    // SendGrid: docs.sendgrid.com; Slack: api.slack.com/apis/rate-limits; Notion: developers.notion.com
    {"SendGrid",
     429,
     {{"X-RateLimit-Limit", "150"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1700000030"}},
     true,
     30s},
    {"Slack", 429, {{"Retry-After", "30"}}, true, 30s},
    {"Notion", 429, {{"Retry-After", "1"}}, true, 1s},
    {"Stripe and Airtable: no time is said", 429, {{"Stripe-Rate-Limited-Reason", "global-rate"}}, true, kNothing},
    // Only a time
    {"a reset alone, of a refusal", 429, {{"X-RateLimit-Reset", "1700000020"}}, true, 20s},
    {"a reset alone, of a good answer", 200, {{"X-RateLimit-Reset", "1700000020"}}, false, kNothing},
    {"below none", 429, {{"X-RateLimit-Remaining", "-3"}, {"X-RateLimit-Reset", "6"}}, true, 6s},
    // Two that contradict each other: the later counts
    {"two lines of Retry-After", 429, {{"Retry-After", "5"}, {"Retry-After", "50"}}, true, 50s},
    {"Retry-After before the reset",
     429,
     {{"Retry-After", "1"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1700000090"}},
     true,
     90s},
    {"the reset before Retry-After",
     429,
     {{"Retry-After", "90"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1700000001"}},
     true,
     90s},
    // Extremes
    {"three years", 429, {{"Retry-After", "99999999"}}, true, 365 * 24h},
    {"more than a double holds",
     429,
     {{"Retry-After", std::string_view("9999999999999999999999999999999999999999")}},
     true,
     365 * 24h},
    {"next to nothing", 429, {{"Retry-After", "0.0000001"}}, true, 1us},
    {"a reset that has passed", 429, {{"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "1699999999"}}, true, 0s},
};

TEST(RateLimitFields, are_read_as_vendors_write_them) {
  EXPECT_GE(std::size(kAnswers), 60u);
  for (const auto& [of, status, fields, refused, pause] : kAnswers) {
    const auto head = head_of(status, fields);
    const auto word = read_rate_limit(head, kAnsweredAt * 1'000'000);
    EXPECT_EQ(word.refused, refused) << of;
    EXPECT_EQ(word.pause, pause) << of;
    EXPECT_EQ(word.unreadable, 0u) << of;
    EXPECT_EQ(word.field.empty(), !pause.has_value()) << of;
  }
}

TEST(RateLimitFields, refuse_with_some_statuses_only) {
  for (const auto& answer : kAnswers) EXPECT_TRUE(!answer.refused || may_refuse(answer.status)) << answer.of;
  EXPECT_FALSE(may_refuse(200));
}

TEST(RateLimitFields, name_the_one_that_counts_as_it_came) {
  const auto head = head_of(429, {{"RETRY-after", "9"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "4"}});
  EXPECT_EQ(read_rate_limit(head, kAnsweredAt * 1'000'000).field, "RETRY-after");
}

TEST(RateLimitFields, that_cannot_be_read_say_nothing_and_are_counted) {
  const std::pair<AnswerFields, std::size_t> unreadable[]{
      {{{"Retry-After", "soon"}}, 1},
      {{{"Retry-After", "-5"}}, 1},
      {{{"Retry-After", "1e3"}}, 1},
      {{{"Retry-After", ""}}, 1},
      {{{"Retry-After", "5 seconds"}}, 1},
      {{{"Retry-After", "2023-13-14T22:13:50Z"}}, 1},
      {{{"Retry-After", "2023-11-14T25:13:50Z"}}, 1},
      {{{"Retry-After", "2023-11-14"}}, 1},
      {{{"retry-after-ms", "1s"}}, 1},
      {{{"X-RateLimit-Remaining", "none"}, {"X-RateLimit-Reset", "5"}}, 1},
      {{{"x-rate-limit-remaining", "0"}, {"x-rate-limit-reset", "later"}}, 1},
      {{{"RateLimit", "\"default\""}}, 1},
      {{{"RateLimit", "\"default\";r=0;t=later"}}, 1},
      {{{"X-Shopify-Shop-Api-Call-Limit", "40"}}, 1}};
  for (const auto& [fields, count] : unreadable) {
    const auto head = head_of(429, fields);
    const auto word = read_rate_limit(head, kAnsweredAt * 1'000'000);
    EXPECT_EQ(word.pause, kNothing) << fields[0].second;
    EXPECT_EQ(word.unreadable, count) << fields[0].second;
    EXPECT_TRUE(word.refused);
  }
}

TEST(RateLimitFields, can_be_narrowed_to_retry_after) {
  const auto both = head_of(429, {{"Retry-After", "5"}, {"X-RateLimit-Remaining", "0"}, {"X-RateLimit-Reset", "60"}});
  const auto read = [](const ResponseHead& head) {
    constexpr std::uint16_t kBusy[]{429, 503};
    return read_rate_limit(head, kAnsweredAt * 1'000'000, Obey::retry_after, kBusy);
  };
  EXPECT_EQ(read(both).pause, 5s);
  for (const int status : {200, 403, 500, 529})
    EXPECT_FALSE(read(head_of(status, {{"Retry-After", "5"}})).refused) << status;
}

}  // namespace
}  // namespace penstock::http
