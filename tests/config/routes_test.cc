// SPDX-License-Identifier: Apache-2.0
// Routes in a file: what is read, and each thing that cannot work, with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/route_match.h"
#include "config/texts.h"
#include "config/validate.h"
#include "penstock/config.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string route_file(const std::string& lines) {
  return "version: 1\nupstreams:\n  a:\n    match: a.com\n    https: originate\n" + lines;  // numbered from 6
}

UpstreamSettings read_routes(const std::string& lines) {
  const auto config = read_config(route_file(lines), "f");
  if (config) return config->upstreams.at(0).settings;
  for (const auto& error : config.error()) ADD_FAILURE() << to_string(error);
  return {};
}

std::vector<std::string> route_faults(const std::string& lines) { return errors_in(route_file(lines)); }

/// Of a file that has one route, in lines 7 and on.
std::vector<std::string> faults_of_route(const std::string& route) {
  return route_faults("    routes:\n      - { " + route + " }\n");
}

std::vector<std::string> warnings(const std::string& lines) { return warnings_in(route_file(lines)); }

// What is read.

TEST(RoutesFile, gives_a_route_all_that_it_may_have) {
  const auto settings = read_routes(R"(    timeouts: { idle: 9s }
    retry: { attempts: 5, failures: safe }
    rate: 15/s
    limits: [ { window: { reservoir: 5000, interval: 1h } } ]
    routes:
      - name: search
        match: { path: /search/, method: [get, HEAD], header: X-Tier=free }
        weight: 3
        rate: 30/m
        limits: [ { window: { reservoir: 500, interval: 1h } }, { pacer: { qps: 4, name: own, mode: refuse } } ]
        maxConcurrent: 2
        queue: { maxWait: 2m }
        timeouts: { total: 5m }
        retry: { attempts: 3 }
        obey: retryAfter
      - match: { method: POST }
        weight: 5
)");
  ASSERT_EQ(settings.routes.size(), 2U);
  RouteConfig search{
      .name = "search",
      .match = {.methods = {"GET", "HEAD"}, .path = "/search", .header = "X-Tier", .header_value = "free"},
      .weight = 3,
      .max_wait = 2min,
      .timeouts = TimeoutConfig{.idle = 9s, .total = 5min},
      .retry = RetryConfig{.failures = RetryConfig::Failures::safe, .attempts = 3},
      .obey = Obey::retry_after};
  EXPECT_EQ(settings.routes[0], search);
  EXPECT_EQ(settings.routes[1], (RouteConfig{.name = "POST", .match = {.methods = {"POST"}}, .weight = 5}));
  std::vector<std::string> limits;
  for (const auto& limit : settings.limits)
    limits.push_back(std::string(limit_name(limit)) + " of '" + limit.route + "'");
  EXPECT_THAT(limits, ElementsAre("rate of ''", "rate.window of ''", "window of ''", "search:rate of 'search'",
                                  "search:rate.window of 'search'", "search:window of 'search'",
                                  "search:own of 'search'", "search:maxConcurrent of 'search'"));
  EXPECT_EQ(settings.limits[6].mode, LimitConfig::Mode::refuse);
  EXPECT_EQ(settings.limits[7].kind, (LimitConfig::Kind{SemaphoreConfig{.capacity = 2}}));
  EXPECT_FALSE(settings.limits[7].shared);
}

TEST(RoutesFile, lets_a_route_be_of_the_entry_star) {
  const auto config =
      read_config("version: 1\nupstreams: { '*': { routes: [ { match: { path: /x }, weight: 2 } ] } }\n", "f");
  ASSERT_TRUE(config) << to_string(config.error()[0]);
  EXPECT_EQ(config->unmatched.routes.at(0).weight, 2);
}

TEST(RoutesFile, names_a_route_by_what_it_is_for_and_never_by_what_is_secret) {
  const auto name_of = [](const std::string& match, const std::string& redact = "[]") {
    return read_routes("    redact: " + redact + "\n    routes: [ { match: { " + match + " }, weight: 2 } ]\n")
        .routes.at(0)
        .name;
  };
  EXPECT_EQ(name_of("path: /search"), "/search");
  EXPECT_EQ(name_of("path: '/guilds/{guild}', method: [POST, put]"), "POST,PUT /guilds/{guild}");
  EXPECT_EQ(name_of("header: Authorization=Bearer s3cret"), "Authorization");
  EXPECT_EQ(name_of("path: /bot12:AB/sendMessage", "[\"/bot{}/\"]"), "/bot…");
  EXPECT_EQ(name_of("path: /BOT12:AB/sendMessage", "[\"/bot{}/\"]"), "/BOT…");
  EXPECT_EQ(name_of("path: '/bot*/sendMessage'", "[\"/bot{}/\"]"), "/bot*/sendMessage") << "nothing of it is a secret";
  EXPECT_EQ(name_of("path: /%62ot12:AB/x", "[\"/bot{}/\"]"), "…") << "an encoded path may spell it in any way";
}

// What cannot work.

TEST(RoutesFile, wants_a_match_that_fits_some_requests_and_not_all) {
  EXPECT_THAT(faults_of_route("weight: 2"),
              ElementsAre(HasSubstr("f:7:9: match in upstreams.a.routes is empty: say which")));
  EXPECT_THAT(faults_of_route("match: {}, weight: 2"), ElementsAre(HasSubstr("match in upstreams.a.routes is empty")));
  EXPECT_THAT(route_faults("    routes: 3\n"), ElementsAre(HasSubstr("routes in upstreams.a must be a list")));
  EXPECT_THAT(route_faults("    routes: [ /search ]\n"), ElementsAre(HasSubstr("must hold routes, as in")));
}

TEST(RoutesFile, wants_patterns_methods_and_fields_that_there_are) {
  EXPECT_THAT(faults_of_route("match: { path: search }"),
              ElementsAre("f:7:26: path in upstreams.a.routes.match: 'search': a path begins with /"));
  EXPECT_THAT(faults_of_route("match: { path: '/a/**' }"),
              ElementsAre(HasSubstr("'**' has more than one * or {name}")));
  EXPECT_THAT(faults_of_route("match: { path: / }"), ElementsAre(HasSubstr("the pattern has an empty segment")));
  EXPECT_THAT(
      faults_of_route("match: { method: PSOT }"),
      ElementsAre("f:7:28: method in upstreams.a.routes.match: there is no method 'PSOT'; did you mean 'POST'?"));
  EXPECT_THAT(faults_of_route("match: { method: [GET, FROB] }"),
              ElementsAre(HasSubstr("f:7:34: method in upstreams.a.routes.match: there is no method 'FROB'")));
  EXPECT_THAT(faults_of_route("match: { method: connect }"), ElementsAre(HasSubstr("a tunnel (CONNECT) has no route")));
  EXPECT_THAT(faults_of_route("match: { method: [] }"),
              ElementsAre(HasSubstr("is empty; leave it out for any method")));
  EXPECT_THAT(faults_of_route("match: { header: X Tier=s3cret }"),
              ElementsAre("f:7:28: header in upstreams.a.routes.match: 'X Tier' is not a header's name"));
  EXPECT_THAT(faults_of_route("match: { header: X-Tier= }"),
              ElementsAre(HasSubstr("write X-Tier alone for any value")));
  EXPECT_THAT(faults_of_route("match: { methods: POST }"),
              ElementsAre(HasSubstr("here it is 'method', one or a list")));
  EXPECT_THAT(faults_of_route("path: /search"),
              testing::Contains(HasSubstr("it belongs in match, as in match: { path: /search }")));
}

TEST(RoutesFile, has_two_routes_for_the_same_requests_only_by_mistake) {
  EXPECT_THAT(
      route_faults("    routes:\n      - match: { path: '/a/{x}', method: [GET, HEAD] }\n        weight: 2\n"
                   "      - match: { method: [HEAD, GET], path: '/a/*' }\n        weight: 3\n"),
      ElementsAre("f:9:16: match in upstreams.a.routes is that of the route 'GET,HEAD /a/{x}': write both as one"));
  EXPECT_THAT(
      route_faults("    routes:\n      - match: { header: X-Tier=free }\n      - match: { header: x-tier=free }\n"),
      ElementsAre(HasSubstr("f:8:16: match in upstreams.a.routes is that of the route 'X-Tier'")));
  EXPECT_THAT(
      route_faults("    routes:\n      - match: { header: X-Tier=free }\n      - match: { header: X-Tier=paid }\n"),
      ElementsAre(HasSubstr("two routes of upstreams.a are named 'X-Tier'; give one a name")));
}

TEST(RoutesFile, keeps_weights_within_what_may_ever_leave) {
  EXPECT_THAT(faults_of_route("match: { path: /x }, weight: 0"),
              ElementsAre(HasSubstr("weight in upstreams.a.routes is 0; it must be at least 1")));
  EXPECT_THAT(route_faults("    maxWeight: 10\n    routes:\n      - { match: { path: /x }, weight: 11 }\n"),
              ElementsAre("f:8:40: weight in upstreams.a.routes is 11, more than maxWeight, 10"));
  EXPECT_THAT(
      faults_of_route("match: { path: /x }, weight: 5, limits: [ { slidingWindow: { max: 4, interval: 1m } } ]"),
      ElementsAre(HasSubstr("weight in upstreams.a.routes is 5, and the limit /x:slidingWindow lets at most 4 units "
                            "leave together: all its requests would be refused")));
  EXPECT_THAT(route_faults("    limits: [ { tokenBucket: { capacity: 3, refillAmount: 1, refillFrequency: 1s } } ]\n"
                           "    routes: [ { match: { path: /x }, weight: 4 } ]\n"),
              ElementsAre(HasSubstr("the limit tokenBucket lets at most 3 units leave together")));
  EXPECT_THAT(faults_of_route("match: { path: /x }, weight: 5, rate: 1/m"),
              ElementsAre(HasSubstr("units leave within queue.maxWait")));
  EXPECT_THAT(faults_of_route("match: { path: /x }, weight: 5, rate: 30/m, queue: { maxWait: 1m }"), IsEmpty());
}

TEST(RoutesFile, judges_the_weight_of_a_route_by_the_limits_that_an_earlier_one_adds) {
  const std::string searches =
      "      - match: { path: /search }\n        limits: [ { slidingWindow: { max: 2, interval: 1m } } ]\n";
  EXPECT_THAT(route_faults("    routes:\n" + searches + "      - { match: { path: /search/code }, weight: 3 }\n"),
              ElementsAre(HasSubstr("the limit /search:slidingWindow lets at most 2 units leave together")));
  EXPECT_THAT(route_faults("    routes:\n" + searches + "      - { match: { method: POST }, weight: 3 }\n"), IsEmpty())
      << "most of them are no searches";
}

TEST(RoutesFile, places_what_is_wrong_with_a_limit_of_a_route) {
  EXPECT_THAT(
      route_faults("    rate: 9/s\n    routes:\n      - match: { path: /x }\n        rate: 1/s\n        limits:\n"
                   "          - window: { reservoir: 0, interval: 1s }\n"),
      ElementsAre("f:11:34: reservoir in upstreams.a.routes.limits.window is 0; it must be between 1 and 1000000000"));
  EXPECT_THAT(faults_of_route("match: { path: /x }, maxConcurrent: 0"),
              ElementsAre(HasSubstr("maxConcurrent in upstreams.a.routes is 0; it must be between 1 and 100000")));
  EXPECT_THAT(faults_of_route("match: { path: /x }, limits: [ { pacer: { qps: 1, name: maxConcurrent } } ]"),
              ElementsAre(HasSubstr("which Penstock itself uses")));
  EXPECT_THAT(faults_of_route("match: { path: /x }, limits: [ { pacer: { qps: 1 } }, { pacer: { qps: 2 } } ]"),
              ElementsAre(HasSubstr("two limits of upstreams.a are named '/x:pacer'; give one a name")));
  EXPECT_THAT(
      faults_of_route("match: { path: /x }, limits: [ { pacer: { qps: 1, per: group } } ]"),
      ElementsAre(HasSubstr("per in upstreams.a.routes.limits.pacer is group, but the upstream has no groups")));
  EXPECT_THAT(faults_of_route("match: { path: /x }, limits: [ { pacer: { qps: 1, shared: true } } ]"),
              ElementsAre(HasSubstr("shared in upstreams.a.routes.limits.pacer needs Redis")));
  EXPECT_THAT(faults_of_route("match: { path: /x }, queue: { maxPending: 3 }"),
              ElementsAre(HasSubstr("unknown key 'maxPending'")));
  EXPECT_THAT(faults_of_route("match: { path: /x }, timeouts: { idle: 1us }"),
              ElementsAre(HasSubstr("idle in upstreams.a.routes.timeouts")));
  EXPECT_THAT(faults_of_route("match: { path: /x }, retry: { attempts: 0 }"),
              ElementsAre(HasSubstr("attempts in upstreams.a.routes.retry")));
}

TEST(RoutesFile, may_have_sixteen_limits_for_one_request) {
  std::string limits;
  for (int i = 0; i < 15; ++i) limits += "      - pacer: { qps: 1, name: p" + std::to_string(i) + " }\n";
  const std::string own = "    limits:\n" + limits;
  EXPECT_THAT(
      route_faults(own + "    routes:\n      - { match: { path: /x }, maxConcurrent: 1 }\n      - { match: { path: "
                         "/y }, maxConcurrent: 1 }\n"),
      IsEmpty());
  EXPECT_THAT(route_faults(own + "    routes: [ { match: { path: /x }, rate: 1/s } ]\n"),
              ElementsAre(HasSubstr("limits in upstreams.a.routes and those of the upstream are more than 16 limits")));
}

TEST(RoutesFile, names_routes_in_print) {
  EXPECT_THAT(faults_of_route("name: '', match: { path: /x }"),
              ElementsAre(HasSubstr("the name of a route is 1 to 64 characters")));
  EXPECT_THAT(faults_of_route("name: 'a\"b', match: { path: /x }"),
              ElementsAre(HasSubstr("without quotes and backslashes")));
  EXPECT_THAT(faults_of_route("match: { path: /" + std::string(70, 'x') + " }"),
              ElementsAre(HasSubstr("give this one a name")));
}

// What is said of a file that is valid.

TEST(RoutesFile, warns_of_limits_that_never_count) {
  const std::string all = "    routes:\n      - { match: { path: /search }, maxConcurrent: 2 }\n";
  EXPECT_THAT(
      warnings(all + "      - { match: { path: /search/code }, maxConcurrent: 1 }\n"),
      ElementsAre("8: warning: upstreams.a: the limits of the route /search/code never count, for /search fits all "
                  "its requests, and stands before it"));
  EXPECT_THAT(warnings(all + "      - { match: { path: /search/code }, weight: 2 }\n"), IsEmpty()) << "its weight does";
  EXPECT_THAT(warnings(all + "      - { match: { method: GET }, maxConcurrent: 1 }\n"), IsEmpty());
  EXPECT_THAT(warnings("    routes:\n      - { match: { path: /search }, weight: 2 }\n"
                       "      - { match: { path: /search/code }, maxConcurrent: 1 }\n"),
              IsEmpty())
      << "the first has no limits";
}

TEST(RoutesFile, warns_of_routes_where_https_goes_through_tunnels) {
  const std::string route = "    routes: [ { match: { path: /x }, weight: 2 } ]\n";
  EXPECT_THAT(warnings(route), IsEmpty()) << "https: originate";
  EXPECT_THAT(warnings(route + "  b:\n    match: b.com\n" + route),
              ElementsAre(HasSubstr("upstreams.b: https:// goes through tunnels, which have no route")));
}

TEST(RoutesFile, can_be_filled_by_hand_and_is_judged_alike) {
  Config config;
  config.upstreams.push_back({.name = "a", .match = {{.host = "a.com"}}});
  auto& settings = config.upstreams[0].settings;
  settings.routes.push_back({.name = "x", .match = {.path = "/x/"}});
  settings.limits.push_back({.kind = PacerConfig{.qps = 1}, .name = "of-nobody", .route = "y"});
  std::vector<std::string> all;
  for (const auto& error : validate(config)) all.push_back(error.message);
  EXPECT_THAT(all, testing::UnorderedElementsAre(
                       HasSubstr("the limit 'of-nobody' of upstreams.a is of the route 'y', which there is not"),
                       HasSubstr("path in upstreams.a.routes.match: '/x/' is not in its plain form")));
}

// Which match covers which.

RouteMatch match_of(const std::string& keys) {
  return read_routes("    routes: [ { match: { " + keys + " }, name: x } ]\n").routes.at(0).match;
}

TEST(RouteMatches, cover_what_fits_fewer_requests) {
  const auto covers = [](const char* one, const char* other) { return config::covers(match_of(one), match_of(other)); };
  EXPECT_TRUE(covers("path: /a", "path: /a/b"));
  EXPECT_FALSE(covers("path: /a/b", "path: /a"));
  EXPECT_TRUE(covers("path: '/*/b'", "path: /a/b"));
  EXPECT_FALSE(covers("path: /a/b", "path: '/*/b'"));
  EXPECT_TRUE(covers("path: '/x*'", "path: '/xy{z}q'"));
  EXPECT_FALSE(covers("path: '/x*y'", "path: '/x*'"));
  EXPECT_FALSE(covers("path: '/a*a'", "path: /a")) << "an open part has a character at least";
  EXPECT_TRUE(covers("path: /a", "path: /a, method: GET"));
  EXPECT_FALSE(covers("path: /a, method: GET", "path: /a"));
  EXPECT_TRUE(covers("method: [GET, PUT]", "method: PUT"));
  EXPECT_TRUE(covers("header: X-A", "header: x-a=1"));
  EXPECT_FALSE(covers("header: X-A=1", "header: X-A"));
  EXPECT_FALSE(covers("header: X-A=1", "header: X-A=2"));
}

}  // namespace
}  // namespace penstock
