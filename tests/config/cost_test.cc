// SPDX-License-Identifier: Apache-2.0
// Costs and the units of limits in a file: what is read, and each thing that cannot work, with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/config.h"
#include "penstock/quotas.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// The text's lines are numbered from 5.
std::string with_upstream(const std::string& lines) {
  return "version: 1\nupstreams:\n  a:\n    match: a.com\n" + lines;
}

UpstreamSettings settings_in(const std::string& lines) {
  const auto config = read_config(with_upstream(lines), "f");
  if (config) return config->upstreams.at(0).settings;
  for (const auto& error : config.error()) ADD_FAILURE() << to_string(error);
  return {};
}

std::vector<std::string> complaints(const std::string& lines) {
  std::vector<std::string> all;
  const auto config = read_config(with_upstream(lines), "f");
  if (!config) {
    for (const auto& error : config.error()) all.push_back(to_string(error));
  }
  return all;
}

std::vector<std::string> complaints_of_cost(const std::string& more) {
  return complaints("    cost: { unit: tokens, " + more + " }\n");
}

TEST(Cost, is_read_with_all_its_keys) {
  const auto settings = settings_in(R"(    cost:
      unit: tokens
      estimate: [json:max_completion_tokens, json:max_tokens, bytes/4]
      actual: [json:usage.total_tokens, anthropic]
      max: 5000
      streamUsage: true
)");
  const CostConfig wanted{.unit = "tokens",
                          .estimate = {"json:max_completion_tokens", "json:max_tokens", "bytes/4"},
                          .actual = {"json:usage.total_tokens", "anthropic"},
                          .max = 5000,
                          .stream_usage = true};
  EXPECT_EQ(settings.cost, wanted);
}

TEST(Cost, is_decided_by_the_quota_that_an_upstream_draws_on) {
  const std::string quota =
      "version: 1\nquotas: { account: { cost: { unit: tokens, estimate: openai }, limits: [ { slidingWindow: { max: 9, "
      "interval: 1s, unit: tokens } } ] } }\n";
  const auto config = read_config(quota + "upstreams: { a: { match: a.com, quota: account } }\n", "f");
  ASSERT_TRUE(config) << to_string(config.error().front());
  const auto settings = effective_settings(*config, config->upstreams.at(0));
  EXPECT_EQ(settings.cost, (CostConfig{.unit = "tokens", .estimate = {"openai"}}));
  EXPECT_TRUE(counts_cost(settings));
  EXPECT_FALSE(read_config(
      quota + "upstreams: { a: { match: a.com, quota: account, cost: { unit: t, estimate: openai } } }\n", "f"));
}

TEST(Cost, may_have_one_entry_without_a_list) {
  const auto settings = settings_in("    cost: { unit: tokens, estimate: openai, actual: openai }\n");
  EXPECT_EQ(settings.cost, (CostConfig{.unit = "tokens", .estimate = {"openai"}, .actual = {"openai"}}));
}

TEST(Cost, of_a_preset_keeps_what_is_not_said_anew) {
  const auto settings = settings_in("    preset: openai\n    cost: { estimate: bytes/4, streamUsage: true }\n");
  EXPECT_EQ(
      settings.cost,
      (CostConfig{.unit = "tokens", .estimate = {"bytes/4"}, .actual = {"openai"}, .max = {}, .stream_usage = true}));
}

TEST(Cost, is_not_there_unless_it_is_said) {
  EXPECT_EQ(settings_in("").cost, std::nullopt);
  EXPECT_EQ(most_cost(UpstreamSettings{}), 0);
}

TEST(Cost, is_counted_by_limits_of_its_unit) {
  const auto settings = settings_in(R"(    cost: { unit: tokens, estimate: bytes/4 }
    limits:
      - pacer: { qps: 8.3 }
      - window: { reservoir: 500, interval: 1h, unit: requests }
      - tokenBucket: { capacity: 30000, refillAmount: 500, refillFrequency: 1s, unit: tokens }
    routes: [ { match: { path: /x }, limits: [ { counter: { max: 900, period: 1m, unit: tokens } } ] } ]
)");
  std::vector<std::string> units;
  for (const auto& limit : settings.limits) units.push_back(limit.unit);
  EXPECT_THAT(units, ElementsAre("", "", "tokens", "tokens"));
}

TEST(Cost, has_a_largest_one_by_the_smallest_limit_of_its_unit) {
  UpstreamSettings settings{.cost = CostConfig{.unit = "tokens", .estimate = {"openai"}}};
  EXPECT_EQ(most_cost(settings), 1'000'000'000);
  settings.limits.push_back({.kind = PacerConfig{.qps = 100, .max_burst = 50}, .unit = "tokens"});
  EXPECT_EQ(most_cost(settings), 6050) << "in a minute";
  settings.limits.push_back({.kind = WindowConfig{.reservoir = 10, .interval = 1s}});
  settings.limits.push_back(
      {.kind = CounterConfig{.max = 20, .period = 1s}, .mode = LimitConfig::Mode::shadow, .unit = "tokens"});
  EXPECT_EQ(most_cost(settings), 6050) << "of requests, and in shadow mode";
  settings.limits.push_back({.kind = TokenBucketConfig{2000, 1, 1s}, .unit = "tokens"});
  settings.limits.push_back({.kind = SlidingWindowConfig{2500, 1s}, .unit = "tokens"});
  EXPECT_EQ(most_cost(settings), 2000);
  settings.cost->max = 70;
  EXPECT_EQ(most_cost(settings), 70);
}

TEST(Cost, needs_a_unit_and_an_estimate) {
  EXPECT_THAT(complaints("    cost: { estimate: openai }\n"),
              ElementsAre(AllOf(StartsWith("f:5:"), HasSubstr("must name what is counted"))));
  EXPECT_THAT(complaints("    cost: { unit: tokens }\n"),
              ElementsAre(AllOf(StartsWith("f:5:"), HasSubstr("must say how it is read from a request"))));
  EXPECT_THAT(complaints("    cost: { unit: requests, estimate: openai }\n"),
              ElementsAre(AllOf(StartsWith("f:5:19: "), HasSubstr("which limits count anyway"))));
  EXPECT_THAT(complaints("    cost: { unit: a b, estimate: openai }\n"),
              ElementsAre(AllOf(StartsWith("f:5:19: "), HasSubstr("letters, digits"))));
}

TEST(Cost, names_each_entry_that_it_cannot_read) {
  EXPECT_THAT(
      complaints(
          "    cost:\n      unit: tokens\n      estimate: [bytes/0, json:a]\n      actual: [json:a..b, bytes/4]\n"),
      ElementsAre(AllOf(StartsWith("f:7:18: "), HasSubstr("'bytes/0' is not bytes divided by")),
                  AllOf(StartsWith("f:8:16: "), HasSubstr("'json:a..b' is not a path")),
                  AllOf(StartsWith("f:8:27: "), HasSubstr("'bytes/4' is of requests"))));
  EXPECT_THAT(complaints_of_cost("estimate: tiktoken"),
              ElementsAre(HasSubstr("'tiktoken' is not one of json:PATH, bytes/4")));
}

TEST(Cost, has_a_most_that_its_limits_let_leave) {
  EXPECT_THAT(complaints_of_cost("estimate: openai, max: 0"), ElementsAre(HasSubstr("max in upstreams.a.cost")));
  const std::string limits =
      "    limits:\n      - tokenBucket: { capacity: 300, refillAmount: 5, refillFrequency: 1s, unit: tokens }\n";
  EXPECT_THAT(complaints("    cost: { unit: tokens, estimate: openai, max: 300 }\n" + limits), IsEmpty());
  EXPECT_THAT(
      complaints("    cost: { unit: tokens, estimate: openai, max: 301 }\n" + limits),
      ElementsAre(AllOf(StartsWith("f:5:50: "), HasSubstr("tokenBucket lets at most 300 units leave together"))));
}

TEST(Cost, may_be_more_than_a_pacer_lets_leave_at_once) {
  const std::string limits = "    limits: [ { pacer: { qps: 1, unit: tokens } } ]\n";
  EXPECT_THAT(complaints("    cost: { unit: tokens, estimate: openai, max: 100000 }\n" + limits), IsEmpty());
}

TEST(Cost, has_sixteen_paths_with_that_of_the_group) {
  std::string entries = "json:p0";
  for (int i = 1; i < 16; ++i) entries += ", json:p" + std::to_string(i);
  const std::string cost = "    cost: { unit: tokens, estimate: [" + entries + "] }\n";
  EXPECT_THAT(complaints(cost), IsEmpty());
  EXPECT_THAT(complaints(cost + "    group: json:model\n"), ElementsAre(HasSubstr("'json:p15' is not a path")));
}

TEST(Unit, is_that_of_the_cost) {
  const std::string limit = "    limits: [ { pacer: { qps: 5, unit: token } } ]\n";
  EXPECT_THAT(complaints(limit), ElementsAre(AllOf(StartsWith("f:5:40: "), HasSubstr("the upstream has no cost"))));
  EXPECT_THAT(complaints("    cost: { unit: tokens, estimate: openai }\n" + limit),
              ElementsAre(AllOf(StartsWith("f:6:40: "), HasSubstr("but the unit of cost is tokens"))));
  EXPECT_THAT(complaints("    limits: [ { pacer: { qps: 5, unit: '' } } ]\n"), ElementsAre(HasSubstr("is empty")));
}

TEST(Unit, is_requests_where_requests_are_counted) {
  for (const char* limit : {"semaphore: { capacity: 5, unit: tokens }", "adaptive: { max: 5/s, unit: tokens }"})
    EXPECT_THAT(
        complaints("    cost: { unit: tokens, estimate: openai }\n    limits: [ { " + std::string(limit) + " } ]\n"),
        ElementsAre(HasSubstr("so it must be requests")))
        << limit;
}

TEST(Unit, of_a_cost_is_no_bound_for_weights_of_routes) {
  EXPECT_THAT(complaints("    cost: { unit: tokens, estimate: openai }\n"
                         "    limits: [ { counter: { max: 4, period: 1m, unit: tokens } } ]\n"
                         "    routes: [ { match: { path: /x }, weight: 5 } ]\n"),
              IsEmpty());
}

TEST(Cost, is_none_of_permits) {
  const auto config =
      read_config("version: 1\nupstreams: { a: { permits: true, cost: { unit: t, estimate: openai } } }\n", "f");
  ASSERT_FALSE(config);
  EXPECT_THAT(to_string(config.error().at(0)), HasSubstr("stands beside permits: true"));
}

TEST(Group, of_a_body_is_a_path) {
  EXPECT_EQ(parse_group("json:model").value(), (GroupRule{GroupRule::By::json, "model"}));
  EXPECT_EQ(to_string(parse_group("json:input.model").value()), "json:input.model");
  for (const char* bad : {"json:", "json:a..b", "json:a.b.c.d.e.f.g.h.i"})
    EXPECT_THAT(parse_group(bad).error(), HasSubstr("is not a path of 1 to 8 keys")) << bad;
  EXPECT_EQ(settings_in("    group: json:model\n").group, (GroupRule{GroupRule::By::json, "model"}));
}

}  // namespace
}  // namespace penstock
