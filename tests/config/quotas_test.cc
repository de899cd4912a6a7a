// SPDX-License-Identifier: Apache-2.0
// Quotas in a file: what is read, what holds for an upstream that draws on one, and each fault with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/texts.h"
#include "penstock/config.h"
#include "penstock/quotas.h"

namespace penstock {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> problems_of(const std::string& text) { return errors_in("version: 1\n" + text); }

Config read(const std::string& text) { return config_in("version: 1\n" + text); }

std::vector<std::string> warnings_of(const std::string& text) { return warnings_in("version: 1\n" + text); }

/// An upstream `api` that draws on the quota `github`, with these keys from line 7 on.
std::string member(const std::string& keys) {
  return "quotas:\n  github: { maxConcurrent: 20 }\nupstreams:\n  api:\n    match: a.com\n    quota: github\n" + keys;
}

std::vector<std::string> names_of(const std::vector<LimitConfig>& limits) {
  std::vector<std::string> names;
  for (const auto& limit : limits) names.emplace_back(limit_name(limit));
  return names;
}

constexpr const char* kTwo = R"(
defaults: { queue: { maxPending: 70 }, timeouts: { connect: 2s } }
quotas:
  github:
    maxConcurrent: 20
    queue: { maxWait: 2m }
    rate: 14.8/s
    limits: [ { slidingWindow: { max: 5000, interval: 1h } } ]
    group: header:X-Org
    obey: off
    maxPause: 1m
    pauseOn: [429]
    pauseScope: credentials
    learn: on
upstreams:
  api:
    match: api.github.com
    https: originate
    quota: github
    timeouts: { total: 9s }
    routes: [ { name: search, match: { path: /search }, limits: [ { window: { reservoir: 30, interval: 1m } } ] } ]
  uploads: { match: uploads.github.com, https: originate, quota: github, breaker: off }
)";

// What is read.

TEST(QuotasFile, gives_a_quota_what_it_may_have_from_the_defaults_on) {
  const auto config = read(kTwo);
  ASSERT_EQ(config.quotas.size(), 1U);
  const auto& [name, github] = config.quotas[0];
  EXPECT_EQ(name, "github");
  EXPECT_EQ(github.max_concurrent, 20);
  EXPECT_EQ(github.queue, (QueueConfig{70, 2min})) << "maxPending is of the defaults";
  EXPECT_THAT(names_of(github.limits), ElementsAre("rate", "rate.window", "slidingWindow"));
  EXPECT_EQ(to_string(github.group.value()), "header:X-Org");
  EXPECT_EQ(github.learn, Learn::on);
}

TEST(QuotasFile, decides_for_its_upstreams_what_is_not_about_hosts) {
  const auto config = read(kTwo);
  const auto api = effective_settings(config, config.upstreams.at(0));
  EXPECT_EQ(api.max_concurrent, 20);
  EXPECT_EQ(api.queue, (QueueConfig{70, 2min}));
  EXPECT_EQ(to_string(api.group.value()), "header:X-Org");
  EXPECT_EQ(api.obey, Obey::off);
  EXPECT_EQ(api.max_pause, 1min);
  EXPECT_EQ(api.pause_on, std::vector<std::uint16_t>{429});
  EXPECT_EQ(api.pause_scope, PauseScope::credentials);
  EXPECT_EQ(api.learn, Learn::on);
  EXPECT_THAT(names_of(api.limits), ElementsAre("rate", "rate.window", "slidingWindow", "search:window"));
  EXPECT_EQ(api.https, Https::originate);
  EXPECT_EQ(api.timeouts.total, 9s);
  EXPECT_EQ(api.timeouts.connect, 2s);
  const auto uploads = effective_settings(config, config.upstreams.at(1));
  EXPECT_THAT(names_of(uploads.limits), ElementsAre("rate", "rate.window", "slidingWindow"));
  EXPECT_EQ(uploads.breaker, BreakerConfig::off());
}

TEST(QuotasFile, tells_routes_of_one_name_apart_in_the_queue) {
  const std::string routes = "routes: [ { name: search, match: { path: /s }, rate: 30/m } ]";
  const auto config =
      read("quotas: { q: { limits: [ { counter: { max: 9, period: 1s } } ] } }\nupstreams:\n" +
           ("  a: { match: a.com, quota: q, https: originate, " + routes + " }\n") +
           "  b: { match: b.com, quota: q, https: originate, " + routes + " }\n  c: { match: c.com }\n");
  const auto queue = settings_of_queue(config, config.quotas.at(0));
  EXPECT_THAT(names_of(queue.limits),
              ElementsAre("counter", "a/search:rate", "a/search:rate.window", "b/search:rate", "b/search:rate.window"));
  EXPECT_EQ(queue.limits.at(3).route, "b/search");
  ASSERT_EQ(queue.routes.size(), 2U);
  EXPECT_EQ(queue.routes[1].name, "b/search");
}

TEST(QuotasFile, leaves_an_upstream_without_one_as_it_is) {
  const auto config = read("upstreams: { a: { match: a.com, rate: 5/s } }\n");
  EXPECT_EQ(effective_settings(config, config.upstreams.at(0)), config.upstreams.at(0).settings);
  EXPECT_EQ(quota_of(config, config.upstreams.at(0)), nullptr);
}

TEST(QuotasFile, may_have_none_and_a_quota_may_say_nothing) {
  EXPECT_EQ(read("quotas:\n"), Config{});
  EXPECT_EQ(read("quotas: {}\n"), Config{});
  const auto config = read("quotas:\n  q:\nupstreams: { a: { match: a.com, quota: q } }\n");
  EXPECT_EQ(config.quotas.at(0).settings, UpstreamSettings{});
}

TEST(QuotasFile, may_have_the_name_of_one_of_its_upstreams) {
  EXPECT_THAT(
      problems_of("quotas: { a: {} }\nupstreams: { a: { match: a.com, quota: a }, b: { match: b.com, quota: a } }\n"),
      IsEmpty());
}

TEST(QuotasFile, may_be_of_permits_too) {
  EXPECT_THAT(problems_of("quotas: { q: { maxConcurrent: 3 } }\nupstreams: { db: { permits: true, quota: q } }\n"),
              IsEmpty());
}

// What cannot be.

TEST(QuotasFile, decides_alone_what_it_decides) {
  const std::string under =
      " in upstreams.api stands beside quota: github, which decides it for all its upstreams; write "
      "it under quotas.github";
  for (const std::string key : {"maxTunnels: 3", "maxWeight: 3", "group: host", "maxPause: 3s", "pauseOn: [429]",
                                "pauseScope: upstream", "learn: on", "redis: eu"}) {
    const auto name = key.substr(0, key.find(':'));
    EXPECT_THAT(problems_of(member("    " + key + "\n")), ElementsAre("f:8:5: " + name + under)) << key;
  }
  for (const std::string key :
       {"rate: 5/s", "limits: [ { pacer: { qps: 5 } } ]", "maxConcurrent: 3", "queue: { maxWait: 3s }", "obey: off"}) {
    const auto name = key.substr(0, key.find(':'));
    EXPECT_THAT(problems_of(member("    " + key + "\n")), ElementsAre("f:8:5: " + name + under + ", or in a route"))
        << key;
  }
}

TEST(QuotasFile, takes_no_preset_beside_it) {
  EXPECT_THAT(problems_of(member("    preset: github\n")),
              ElementsAre("f:8:5: preset in upstreams.api stands beside quota: github, and brings limits; write what "
                          "`penstock presets` shows of it under quotas.github"));
}

TEST(QuotasFile, has_no_keys_of_hosts) {
  for (const std::string key : {"match: a.com", "https: originate", "timeouts: { total: 3s }", "retry: off",
                                "breaker: off", "routes: []", "redact: []", "permits: true", "quota: b"}) {
    const auto name = key.substr(0, key.find(':'));
    EXPECT_THAT(problems_of("quotas:\n  github:\n    " + key + "\nupstreams: { a: { match: a.com, quota: github } }\n"),
                ElementsAre("f:4:5: " + name +
                            " in quotas.github belongs to the upstreams that draw on it, as in "
                            "upstreams: { NAME: { quota: github, … } }"))
        << key;
  }
}

TEST(QuotasFile, names_the_quota_that_was_meant) {
  const std::string upstream = "upstreams:\n  a: { match: a.com, quota: gihub }\n";
  EXPECT_THAT(problems_of("quotas: { github: {}, gitlab: {} }\n" + upstream),
              ElementsAre("f:4:29: quota in upstreams.a: there is no quota 'gihub'; did you mean 'github'?"));
  EXPECT_THAT(problems_of("quotas: { one: {}, two: {} }\n" + upstream),
              ElementsAre("f:4:29: quota in upstreams.a: there is no quota 'gihub'; there are: one, two"));
  EXPECT_THAT(problems_of(upstream),
              ElementsAre("f:3:29: quota in upstreams.a is 'gihub', but there is no quota at all; "
                          "write quotas: { gihub: { … } }"));
}

TEST(QuotasFile, cannot_share_its_name_with_an_upstream_of_its_own_limits) {
  EXPECT_THAT(
      problems_of("quotas:\n  a: {}\nupstreams: { a: { match: a.com }, b: { match: b.com, quota: a } }\n"),
      ElementsAre("f:3:3: quotas.a has the name of an upstream that does not draw on it: in Redis both would be "
                  "one; give it another, or write quota: a in upstreams.a"));
}

TEST(QuotasFile, has_faults_of_its_own_told_once) {
  EXPECT_THAT(
      problems_of("quotas:\n  q:\n    maxConcurrent: 0\n    limits: [ { window: { interval: 1s } } ]\n"
                  "    'per': 1\nupstreams: { a: { match: a.com, quota: q }, b: { match: b.com, quota: q } }\n"),
      ElementsAre(HasSubstr("f:4:20: maxConcurrent in quotas.q is 0"),
                  HasSubstr("f:5:25: reservoir in quotas.q.limits.window is missing"),
                  HasSubstr("f:6:5: unknown key 'per' in quotas.q")));
}

TEST(QuotasFile, counts_the_limits_of_routes_with_those_of_the_quota) {
  std::string many;
  for (int i = 0; i < 15; ++i) many += "{ counter: { max: 9, period: 1s, name: c" + std::to_string(i) + " } }, ";
  EXPECT_THAT(problems_of("quotas: { q: { limits: [ " + many +
                          "] } }\nupstreams:\n  a:\n    match: a.com\n    quota: q\n"
                          "    routes: [ { match: { path: /s }, rate: 3/m } ]\n"),
              ElementsAre(HasSubstr("and those of the upstream are more than 16 limits")));
}

TEST(QuotasFile, judges_the_weight_of_a_route_by_the_limits_of_the_quota) {
  EXPECT_THAT(
      problems_of("quotas: { q: { limits: [ { window: { reservoir: 4, interval: 1s } } ] } }\nupstreams:\n  a:\n"
                  "    match: a.com\n    quota: q\n    routes: [ { match: { method: POST }, weight: 5 } ]\n"),
      ElementsAre(HasSubstr("f:7:50: weight in upstreams.a.routes is 5, and the limit window lets at most 4")));
}

TEST(QuotasFile, lets_the_routes_of_all_its_upstreams_have_64_limits) {
  std::string upstreams = "upstreams:\n";
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    upstreams += std::string("  ") + name + ": { match: " + name +
                 ".com, quota: q, https: originate, routes: [ { match: { path: /s }, limits: [ ";
    for (int i = 0; i < 13; ++i) upstreams += "{ counter: { max: 9, period: 1s, name: c" + std::to_string(i) + " } }, ";
    upstreams += "] } ] }\n";
  }
  EXPECT_THAT(problems_of("quotas:\n  q: {}\n" + upstreams),
              ElementsAre("f:3:3: the routes of all upstreams that draw on quotas.q have more than 64 limits"));
}

TEST(QuotasFile, is_no_key_of_the_entry_star_nor_of_the_top) {
  EXPECT_THAT(problems_of("quotas:\n  q: {}\nupstreams:\n  '*':\n    quota: q\n"),
              ElementsAre("f:6:5: upstreams.* takes no quota: name the hosts that share an account"));
  EXPECT_THAT(problems_of("quota: q\n"),
              ElementsAre("f:2:1: unknown key 'quota'; it belongs to an upstream, and names an entry of quotas"));
}

TEST(QuotasFile, is_judged_in_settings_made_by_hand_too) {
  Config config;
  config.quotas.push_back({"q", {}});
  config.upstreams.push_back({.name = "a", .match = {*parse_match("a.com")}, .quota = "q"});
  EXPECT_THAT(validate(config), IsEmpty());
  config.upstreams[0].settings.limits.push_back({.kind = CounterConfig{.max = 1, .period = 1s}});
  config.quotas.push_back({"q", {}});
  config.quotas[0].settings.routes.push_back({.name = "r", .match = {.path = "/r"}});
  std::vector<std::string> told;
  for (const auto& error : validate(config)) told.push_back(error.message);
  EXPECT_THAT(told, Contains("there are two quotas named 'q'"));
  EXPECT_THAT(told, Contains("quotas.q has routes, which its upstreams have"));
  EXPECT_THAT(told, Contains(HasSubstr("the limit 'counter' of upstreams.a is of all its requests")));
}

// What is doubtful.

TEST(QuotasFile, warns_of_a_quota_that_no_upstream_draws_on) {
  EXPECT_THAT(warnings_of("quotas:\n  q: {}\n"),
              ElementsAre("3: warning: quotas.q: no upstream draws on it; write quota: q in those that do"));
}

TEST(QuotasFile, warns_of_tunnels_where_the_limits_are_those_of_the_quota) {
  EXPECT_THAT(warnings_of("quotas: { q: { rate: 5/s } }\nupstreams:\n  a: { match: a.com, quota: q }\n"),
              ElementsAre(HasSubstr("4: warning: upstreams.a: https:// goes through tunnels, and limits count these")));
}

}  // namespace
}  // namespace penstock
