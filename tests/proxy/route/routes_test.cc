// SPDX-License-Identifier: Apache-2.0
// Which routes fit a request, and what they say of it together.
#include "proxy/route/routes.h"

#include <gtest/gtest.h>

#include <string>

#include "proxy/allocations.h"

namespace penstock::proxy {
namespace {

UpstreamSettings settings_of(const std::string& routes) {
  const auto config =
      read_config("version: 1\nupstreams: { a: { match: a.com, https: originate, routes: [" + routes + "] } }\n", "f");
  if (config) return config->upstreams.at(0).settings;
  ADD_FAILURE() << to_string(config.error()[0]);
  return {};
}

http::Fields fields_of(std::string_view name = "", std::string_view value = "") {
  http::Fields fields;
  if (!name.empty()) fields.add(name, value);
  return fields;
}

/// `LIMITS NAME WEIGHT`, with - for what is empty.
std::string said(const Routes& routes, std::string_view method, std::string_view path,
                 const http::Fields& fields = {}) {
  const auto terms = routes.terms_of(method, path, fields);
  const auto or_none = [](std::string_view text) { return std::string(text.empty() ? "-" : text); };
  return or_none(terms.limits) + " " + or_none(terms.name) + " " + std::to_string(terms.weight);
}

TEST(Routes, add_the_limits_of_the_first_that_has_some_and_the_largest_weight) {
  const Routes routes(
      settings_of("{ match: { method: GET }, weight: 2, name: reads },"
                  "{ match: { path: /search/code }, rate: 10/m, name: code },"
                  "{ match: { path: /search }, rate: 30/m, weight: 3, name: search },"
                  "{ match: { method: [POST, PUT] }, weight: 5, name: writes }"));
  EXPECT_EQ(said(routes, "GET", "/search/code"), "code code 3");
  EXPECT_EQ(said(routes, "GET", "/search/issues"), "search search 3");
  EXPECT_EQ(said(routes, "POST", "/search/issues"), "search search 5");
  EXPECT_EQ(said(routes, "PUT", "/user"), "- writes 5");
  EXPECT_EQ(said(routes, "GET", "/user"), "- reads 2");
  EXPECT_EQ(said(routes, "DELETE", "/user"), "- - 1");
  EXPECT_EQ(said(routes, "get", "/user"), "- - 1") << "methods are case-sensitive";
}

TEST(Routes, count_limits_in_shadow_mode_as_limits) {
  const Routes routes(settings_of("{ match: { path: /x }, limits: [ { pacer: { qps: 1, mode: shadow } } ] }"));
  EXPECT_EQ(said(routes, "GET", "/x"), "/x /x 1");
  EXPECT_FALSE(routes.terms_of("GET", "/x", {}).holds) << "it waits with all others";
  const Routes held(
      settings_of("{ match: { path: /x }, limits: [ { pacer: { qps: 1, mode: shadow } } ], maxConcurrent: 1 }"));
  EXPECT_TRUE(held.terms_of("GET", "/x", {}).holds);
}

TEST(Routes, ask_for_a_field_or_for_its_whole_value) {
  const Routes routes(
      settings_of("{ match: { header: X-Tier=free }, weight: 2, name: free },"
                  "{ match: { header: X-Tier }, weight: 3, name: any }"));
  EXPECT_EQ(said(routes, "GET", "/", fields_of("x-tier", "free")), "- free 3");
  EXPECT_EQ(said(routes, "GET", "/", fields_of("X-Tier", "Free")), "- any 3");
  EXPECT_EQ(said(routes, "GET", "/", fields_of("X-Tier", "")), "- any 3");
  EXPECT_EQ(said(routes, "GET", "/", fields_of()), "- - 1");
}

TEST(Routes, find_a_value_in_any_line_of_the_field) {
  const Routes routes(settings_of("{ match: { header: X-Tier=free }, rate: 1/s, name: free }"));
  http::Fields twice = fields_of("X-Tier", "paid");
  twice.add("x-tier", "free");
  EXPECT_EQ(said(routes, "GET", "/", twice), "free free 1") << "a line before it is no way round the limit";
  twice.clear();
  twice.add("X-Tier", "free, paid");
  EXPECT_EQ(said(routes, "GET", "/", twice), "- - 1") << "the value is the whole line";
}

TEST(Routes, take_each_other_setting_from_the_first_that_has_it) {
  const Routes routes(
      settings_of("{ match: { path: /a }, weight: 2 },"
                  "{ match: { path: /a/b }, queue: { maxWait: 2m }, obey: off },"
                  "{ match: { method: GET }, queue: { maxWait: 3m }, timeouts: { total: 9s }, "
                  "retry: off, obey: auto }"));
  const auto terms = routes.terms_of("GET", "/a/b/c", {});
  ASSERT_TRUE(terms.max_wait && terms.obey && terms.timeouts && terms.retry);
  EXPECT_EQ(*terms.max_wait, 2min);
  EXPECT_EQ(*terms.obey, Obey::off);
  EXPECT_EQ(terms.timeouts->total, 9s);
  EXPECT_EQ(terms.timeouts->idle, 60s) << "as in the upstream";
  EXPECT_FALSE(terms.retry->refusals);
  const auto other = routes.terms_of("POST", "/a", {});
  EXPECT_FALSE(other.max_wait || other.obey || other.timeouts || other.retry);
}

TEST(Routes, are_null_where_there_are_none_and_know_the_longest_wait) {
  EXPECT_EQ(routes_of({}), nullptr);
  const auto settings =
      settings_of("{ match: { path: /a }, queue: { maxWait: 2m } }, { match: { path: /b }, queue: { maxWait: 1s } }");
  EXPECT_NE(routes_of(settings), nullptr);
  EXPECT_EQ(longest_wait(settings), 2min);
  EXPECT_EQ(longest_wait({}), QueueConfig{}.max_wait);
}

TEST(Routes, are_matched_without_an_allocation) {
  const Routes routes(
      settings_of("{ match: { path: '/api/v*/guilds/{guild}', method: [GET, POST], header: X-A=b }, weight: 2 },"
                  "{ match: { path: /search }, rate: 30/m }"));
  const auto fields = fields_of("X-A", "b");
  int weight = 0;
  const auto before = allocations_so_far();
  for (int i = 0; i < 100; ++i)
    weight += routes.terms_of("GET", "/api/v10/guilds/1234567890123456789012345/x", fields).weight;
  EXPECT_EQ(allocations_so_far(), before);
  EXPECT_EQ(weight, 200);
}

}  // namespace
}  // namespace penstock::proxy
