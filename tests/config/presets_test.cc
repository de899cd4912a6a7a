// SPDX-License-Identifier: Apache-2.0
// The table of presets, and `preset`, `plan` and `presets` of a file.
#include "config/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "config/schema_check.h"
#include "penstock/config.h"

namespace penstock::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

/// An upstream `a` of a file whose keys these are.
UpstreamConfig upstream_of(const std::string& keys) {
  const auto config = read_config("version: 1\nupstreams: { a: { " + keys + " } }\n", "f");
  if (config) return config->upstreams.at(0);
  ADD_FAILURE() << to_string(config.error()[0]);
  return {};
}

std::string error_of(const std::string& text) {
  const auto config = read_config("version: 1\n" + text + "\n", "f");
  return config ? "" : to_string(config.error().at(0));
}

void expect_whole(const Source& source) {
  EXPECT_THAT(source.page, MatchesRegex("https://[a-z].*/.*"));
  EXPECT_THAT(source.read, MatchesRegex("20[0-9][0-9]-[01][0-9]-[0-3][0-9]"));
  EXPECT_THAT(source.says, testing::Not(IsEmpty()));
}

TEST(Presets, have_no_figure_without_the_page_the_day_and_the_words_that_it_rests_on) {
  EXPECT_GE(presets().size(), 20u);
  for (const auto& preset : presets()) {
    SCOPED_TRACE(preset.name);
    EXPECT_NE(preset.title, "");
    for (const auto& entry : preset.settings) EXPECT_TRUE(entry.key.text != "limits" && entry.key.text != "rate");
    for (const auto& plan : preset.plans) {
      EXPECT_THAT(plan.limits, testing::Not(IsEmpty()));
      expect_whole(plan.source);
      EXPECT_THAT(plan.source.says, testing::Contains(testing::ContainsRegex("[0-9]|three"))) << "a figure";
    }
  }
}

TEST(Presets, say_nothing_of_refusals_without_such_a_page) {
  for (const auto& preset : presets()) {
    SCOPED_TRACE(preset.name);
    const bool of_refusals = std::ranges::any_of(preset.settings, [](const Entry& entry) {
      return entry.key.text == "obey" || entry.key.text == "retry" || entry.key.text.starts_with("pause");
    });
    EXPECT_EQ(preset.refusals.has_value(), of_refusals);
    if (preset.refusals) expect_whole(*preset.refusals);
  }
}

TEST(Presets, know_what_no_waiting_cures_and_what_else_is_a_refusal) {
  EXPECT_THAT(upstream_of("preset: openai").settings.retry.except, testing::Contains("credit_balance_exhausted"));
  EXPECT_THAT(upstream_of("preset: anthropic").settings.retry.except, ElementsAre("enforced_spend_limit_reached"));
  EXPECT_THAT(upstream_of("preset: hubspot").settings.pause_on, ElementsAre(429, 477, 503));
  EXPECT_EQ(upstream_of("preset: github").settings.pause_scope, PauseScope::credentials);
  EXPECT_EQ(upstream_of("preset: github, pauseScope: upstream").settings.pause_scope, PauseScope::upstream);
}

TEST(Presets, hide_the_paths_that_are_credentials) {
  EXPECT_THAT(upstream_of("preset: telegram").settings.redact, ElementsAre("/bot{}/"));
  EXPECT_THAT(upstream_of("preset: slack-hooks").settings.redact, testing::Contains("/services/{}"));
  EXPECT_THAT(upstream_of("preset: discord").settings.redact, testing::Contains("/webhooks/{}/{}/"));
  EXPECT_THAT(upstream_of("preset: hubspot").settings.redact, testing::Contains("/access-tokens/{}"));
  EXPECT_THAT(upstream_of("preset: telegram, redact: []").settings.redact, IsEmpty()) << "it may be said otherwise";
}

TEST(Presets, are_sound_with_each_of_their_plans) {
  for (const auto& preset : presets()) {
    SCOPED_TRACE(preset.name);
    const auto lowest = upstream_of("preset: " + preset.name);
    EXPECT_EQ(lowest.plan, preset.plans.empty() ? "" : preset.plans[0].name);
    EXPECT_EQ(lowest.settings.limits.empty(), preset.plans.empty());
    EXPECT_EQ(lowest.settings.https, Https::originate);
    for (const auto& plan : preset.plans) {
      const auto chosen = upstream_of("preset: " + preset.name + ", plan: " + plan.name);
      EXPECT_EQ(chosen.preset, preset.name);
      EXPECT_EQ(chosen.plan, plan.name);
      EXPECT_THAT(chosen.settings.limits, testing::Not(IsEmpty()));
    }
  }
}

TEST(Presets, give_way_to_what_stands_beside_them) {
  const auto own = upstream_of("preset: github, maxConcurrent: 3, rate: 1/s");
  EXPECT_EQ(own.settings.max_concurrent, 3);
  EXPECT_THAT(own.settings.limits, testing::ElementsAreArray(limits_of({1, 1s})));
  EXPECT_THAT(own.match, SizeIs(2)) << "of the preset";
  EXPECT_THAT(upstream_of("preset: github, match: ghe.test, limits: []").settings.limits, IsEmpty());
}

/// GitHub counts searches in the account's points too, and a write as five.
TEST(Presets, have_routes_which_give_way_with_the_limits_of_their_plan) {
  const auto github = upstream_of("preset: github").settings;
  std::vector<std::string> names;
  for (const auto& route : github.routes) names.push_back(route.name + " " + std::to_string(route.weight));
  EXPECT_THAT(names, ElementsAre("/search/code 1", "/search 1", "POST,PATCH,PUT,DELETE 5"));
  EXPECT_THAT(upstream_of("preset: github, rate: 1/s").settings.routes, IsEmpty());
  const auto own = upstream_of("preset: github, routes: [{ match: { path: /x }, weight: 2 }]").settings;
  EXPECT_THAT(own.routes, SizeIs(1));
  EXPECT_THAT(own.limits, SizeIs(4));
}

TEST(Presets, may_be_listed_at_the_top) {
  const auto config =
      read_config("version: 1\npresets: [github, openai]\nupstreams: { openai: { preset: openai, rate: 3/s } }\n", "f");
  ASSERT_TRUE(config) << to_string(config.error()[0]);
  std::vector<std::string> names;
  for (const auto& upstream : config->upstreams) names.push_back(upstream.name);
  EXPECT_THAT(names, ElementsAre("openai", "github"));
  EXPECT_THAT(config->upstreams[0].settings.limits, SizeIs(2));
  EXPECT_THAT(config->upstreams[1].settings.limits, SizeIs(8)) << "four for all, two for each of two routes";
}

TEST(Presets, bring_parts_along_whose_https_travels_as_that_of_the_whole) {
  const auto config =
      read_config("version: 1\npresets: [slack]\nupstreams: { slack: { preset: slack, https: intercept } }\n", "f");
  ASSERT_TRUE(config) << to_string(config.error()[0]);
  ASSERT_THAT(config->upstreams, SizeIs(2));
  for (const auto& upstream : config->upstreams) EXPECT_EQ(upstream.settings.https, Https::intercept) << upstream.name;
}

TEST(Presets, bring_parts_along_with_the_plan_of_the_whole_in_any_order) {
  const auto config = read_config(
      "version: 1\npresets: [slack-hooks, github, slack]\nupstreams: { github: { preset: github, plan: anonymous }, "
      "slack: "
      "{ preset: slack, https: intercept } }\n",
      "f");
  ASSERT_TRUE(config) << to_string(config.error()[0]);
  std::vector<std::string> told;
  for (const auto& upstream : config->upstreams) told.push_back(upstream.name + " " + upstream.plan);
  EXPECT_THAT(told, ElementsAre("github anonymous", "slack tier2", "slack-hooks any"));
  EXPECT_EQ(config->upstreams[2].settings.https, Https::intercept);
}

TEST(Presets, are_named_where_they_are_unknown) {
  EXPECT_EQ(error_of("upstreams: { a: { preset: githb } }"),
            "f:2:27: preset in upstreams.a: there is no preset 'githb'; did you mean 'github'?");
  EXPECT_EQ(error_of("presets: [nonesuch]"),
            "f:2:11: preset in upstreams.nonesuch: there is no preset 'nonesuch'; `penstock presets` lists them");
  EXPECT_EQ(error_of("presets: github"), "f:2:10: presets must be a list, as in [github, openai]");
  EXPECT_EQ(error_of("upstreams: { a: { preset: github, plan: gold } }"),
            "f:2:41: plan in upstreams.a: github has no plan 'gold'; there are token, anonymous");
  EXPECT_EQ(error_of("upstreams: { a: { match: a.test, plan: gold } }"),
            "f:2:34: plan in upstreams.a is one of a preset; write which, as in preset: github");
}

TEST(Presets, are_listed_in_the_schema) {
  const auto schema = Json::parse(file_text("penstock.schema.json"));
  std::vector<std::string> listed = schema["definitions"]["preset"]["enum"];
  std::vector<std::string> wanted;
  for (const auto name : preset_names()) wanted.emplace_back(name);
  EXPECT_EQ(listed, wanted);
}

}  // namespace
}  // namespace penstock::config
