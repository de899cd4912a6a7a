// SPDX-License-Identifier: Apache-2.0
// Which entry wins: exact host before suffix, port before none, the longest path in whole segments.
#include "proxy/route/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "proxy/allocations.h"

namespace penstock::proxy {
namespace {

http::Target plain_target(std::string_view url) { return http::parse_target("GET", url).value(); }

http::Target tunnel(std::string_view to) { return http::parse_target("CONNECT", to).value(); }

// One upstream for each list of patterns, in order.
Config config_of(std::initializer_list<std::initializer_list<std::string_view>> upstreams) {
  Config config;
  for (const auto& patterns : upstreams) {
    auto& upstream = config.upstreams.emplace_back("u" + std::to_string(config.upstreams.size() + 1));
    for (const auto pattern : patterns) upstream.match.push_back(parse_match(pattern).value());
  }
  EXPECT_TRUE(validate(config).empty());
  return config;
}

std::size_t entry(const Config& config, std::string_view url) { return Router(config).route(plain_target(url)).entry; }

TEST(Router, sends_what_no_entry_names_to_the_entry_star) {
  const Config config = config_of({{"a.com"}});
  const auto route = Router(config).route(plain_target("http://b.com/"));
  EXPECT_EQ(route.entry, 0U);
  EXPECT_EQ(route.pattern, nullptr);
  EXPECT_FALSE(route.denied);
}

TEST(Router, denies_what_no_entry_names_where_unmatched_is_deny) {
  Config config = config_of({{"a.com"}});
  config.pass_unmatched = false;
  EXPECT_TRUE(Router(config).route(plain_target("http://b.com/")).denied);
  EXPECT_FALSE(Router(config).route(plain_target("http://a.com/")).denied);
}

TEST(Router, finds_an_exact_host_whatever_its_case) {
  const Config config = config_of({{"a.com"}, {"b.com", "c.com"}});
  EXPECT_EQ(entry(config, "http://A.COM/x"), 1U);
  EXPECT_EQ(entry(config, "http://c.com:8080/"), 2U);
  EXPECT_EQ(entry(config, "http://c.com./"), 2U);
  EXPECT_EQ(entry(config, "http://www.a.com/"), 0U);
}

TEST(Router, takes_everything_below_a_suffix_but_not_the_host_itself) {
  const Config config = config_of({{"*.a.com"}});
  EXPECT_EQ(entry(config, "http://x.a.com/"), 1U);
  EXPECT_EQ(entry(config, "http://y.x.a.com/"), 1U);
  EXPECT_EQ(entry(config, "http://a.com/"), 0U);
  EXPECT_EQ(entry(config, "http://xa.com/"), 0U);
}

TEST(Router, prefers_an_exact_host_to_a_suffix_and_a_longer_suffix_to_a_shorter) {
  const Config config = config_of({{"*.com"}, {"*.a.com"}, {"x.a.com"}});
  EXPECT_EQ(entry(config, "http://x.a.com/"), 3U);
  EXPECT_EQ(entry(config, "http://y.a.com/"), 2U);
  EXPECT_EQ(entry(config, "http://a.com/"), 1U);
}

TEST(Router, prefers_the_exact_host_even_to_a_suffix_with_port_and_path) {
  const Config config = config_of({{"*.a.com:80/v1"}, {"x.a.com"}});
  EXPECT_EQ(entry(config, "http://x.a.com/v1"), 2U);
}

TEST(Router, prefers_a_pattern_with_a_port_to_one_without) {
  const Config config = config_of({{"a.com"}, {"a.com:8080"}, {"a.com:80"}});
  EXPECT_EQ(entry(config, "http://a.com/"), 3U);
  EXPECT_EQ(entry(config, "http://a.com:8080/"), 2U);
  EXPECT_EQ(entry(config, "http://a.com:9090/"), 1U);
}

TEST(Router, prefers_a_port_to_a_path) {
  const Config config = config_of({{"a.com/v1/long/path"}, {"a.com:80"}});
  EXPECT_EQ(entry(config, "http://a.com/v1/long/path"), 2U);
}

TEST(Router, takes_paths_in_whole_segments_the_longest_first) {
  const Config config = config_of({{"a.com/v1"}, {"a.com/v1/users"}});
  EXPECT_EQ(entry(config, "http://a.com/v1"), 1U);
  EXPECT_EQ(entry(config, "http://a.com/v1/"), 1U);
  EXPECT_EQ(entry(config, "http://a.com/v1?x=/users"), 1U);
  EXPECT_EQ(entry(config, "http://a.com/v1/users/7"), 2U);
  EXPECT_EQ(entry(config, "http://a.com/v1/usersx"), 1U);
  EXPECT_EQ(entry(config, "http://a.com/v10"), 0U);
  EXPECT_EQ(entry(config, "http://a.com/V1"), 0U);
}

TEST(Router, falls_back_to_a_weaker_pattern_where_a_stronger_host_does_not_fit) {
  const Config config = config_of({{"*.a.com"}, {"x.a.com/v1"}, {"x.a.com:8080"}});
  EXPECT_EQ(entry(config, "http://x.a.com/v1/y"), 2U);
  EXPECT_EQ(entry(config, "http://x.a.com/v2"), 1U);
}

TEST(Router, matches_the_star_of_options_only_without_a_path) {
  const auto options = http::parse_target("OPTIONS", "http://a.com").value();
  EXPECT_EQ(Router(config_of({{"a.com"}})).route(options).entry, 1U);
  EXPECT_EQ(Router(config_of({{"a.com/v1"}})).route(options).entry, 0U);
}

TEST(Router, knows_addresses_by_their_plain_form_and_gives_them_no_parents) {
  const Config config = config_of({{"[2001:db8::1]"}, {"192.0.2.1:8080"}});
  EXPECT_EQ(entry(config, "http://[2001:DB8:0:0::1]/"), 1U);
  EXPECT_EQ(entry(config, "http://192.0.2.1:8080/"), 2U);
  EXPECT_EQ(entry(config, "http://192.0.2.1/"), 0U);
  Config odd = config;
  odd.upstreams[0].match = {{"2.1", true, {}, ""}};  // such as no text gives
  EXPECT_EQ(Router(odd).route(plain_target("http://192.0.2.1/")).entry, 0U);
}

TEST(Router, lists_every_pattern_that_fits_the_winner_first) {
  const Config config = config_of({{"*.com"}, {"x.a.com/v1"}, {"*.a.com", "b.com"}, {"x.a.com:80"}});
  std::vector<std::string> all;
  const Router router{config};
  for (const auto& route : router.candidates(plain_target("http://x.a.com/v1")))
    all.push_back(to_string(*route.pattern));
  EXPECT_THAT(all, testing::ElementsAre("x.a.com:80", "x.a.com/v1", "*.a.com", "*.com"));
}

TEST(Router, says_why_a_pattern_fits) {
  EXPECT_EQ(why(parse_match("a.com").value()), "exact host");
  EXPECT_EQ(why(parse_match("*.a.com:80/v1").value()), "a host below a.com, port 80, path below /v1");
}

TEST(Router, routes_without_allocating) {
  const Config config =
      config_of({{"*.a.com"}, {"x.a.com/v1"}, {"a-very-long-host-name-that-fits-no-small-string.b.com"}});
  const Router router{config};
  const auto matched =
      plain_target("http://a-very-long-host-name-that-fits-no-small-string.b.com/some/long/path/of/no/interest");
  const auto below = plain_target("http://another-very-long-host-name.with.many.labels.a.com/v1");
  const auto before = allocations_so_far();
  const auto first = router.route(matched).entry;
  const auto second = router.route(below).entry;
  EXPECT_EQ(allocations_so_far(), before);
  EXPECT_EQ(first, 3U);
  EXPECT_EQ(second, 1U);
}

TEST(Router, gives_a_tunnel_to_entries_without_a_path_only) {
  const Router router(config_of({{"a.com/v1", "a.com:443"}, {"a.com"}, {"*.b.com/x"}}));
  EXPECT_EQ(router.route(tunnel("a.com:443")).entry, 1u);
  EXPECT_EQ(router.route(tunnel("a.com:80")).entry, 2u);
  EXPECT_EQ(router.route(tunnel("c.b.com:443")).entry, 0u);
}

Config intercepting(std::initializer_list<std::initializer_list<std::string_view>> upstreams, std::set<int> which) {
  Config config = config_of(upstreams);
  for (const int n : which) config.upstreams[static_cast<std::size_t>(n - 1)].settings.https = Https::intercept;
  EXPECT_TRUE(validate(config).empty());
  return config;
}

TEST(Router, has_a_tunnel_intercepted_where_its_host_is_marked_on_whatever_path) {
  const Config config =
      intercepting({{"a.com/v1"}, {"a.com/v2"}, {"*.b.com"}, {"c.com"}, {"d.com:8443"}}, {1, 2, 3, 5});
  const Router router(config);
  EXPECT_EQ(router.intercepting_entry(tunnel("a.com:443")), 1u);
  EXPECT_EQ(router.intercepting_entry(tunnel("x.y.b.com:8443")), 3u);
  EXPECT_EQ(router.intercepting_entry(tunnel("d.com:8443")), 5u);
  for (const auto* to : {"b.com:443", "c.com:443", "d.com:443", "e.com:443"}) {
    EXPECT_EQ(router.intercepting_entry(tunnel(to)), 0u) << to;
  }
}

TEST(Router, has_no_tunnel_intercepted_for_an_entry_that_is_beaten) {
  const Config config = intercepting({{"*.a.com"}, {"bank.a.com"}, {"*.safe.a.com"}, {"b.com"}, {"b.com:443"}}, {1, 4});
  const Router router(config);
  EXPECT_EQ(router.intercepting_entry(tunnel("api.a.com:443")), 1u);
  EXPECT_EQ(router.intercepting_entry(tunnel("bank.a.com:443")), 0u);
  EXPECT_EQ(router.intercepting_entry(tunnel("x.safe.a.com:443")), 0u);
  EXPECT_EQ(router.intercepting_entry(tunnel("b.com:443")), 0u);
  EXPECT_EQ(router.intercepting_entry(tunnel("b.com:8443")), 4u);
}

TEST(Router, has_a_tunnel_intercepted_as_its_entry_says_whatever_paths_others_have) {
  const Config config = intercepting({{"*.a.com"}, {"api.a.com/v1"}, {"b.com"}, {"b.com:443/v1"}}, {1, 3});
  const Router router(config);
  EXPECT_EQ(router.intercepting_entry(tunnel("api.a.com:443")), 1u);
  EXPECT_EQ(router.intercepting_entry(tunnel("b.com:443")), 3u);
}

}  // namespace
}  // namespace penstock::proxy
