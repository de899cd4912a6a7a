// SPDX-License-Identifier: Apache-2.0
// Which group a request falls into, and what people see of it.
#include "proxy/route/grouping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::proxy {
namespace {

http::Target target_of(std::string_view url) { return http::parse_target("GET", url).value(); }

Grouping grouping(std::string_view rule) { return {parse_group(rule).value(), {"penstock", "github"}}; }

std::string group(std::string_view rule, std::string_view path) {
  std::string room;
  return std::string(grouping(rule).name(target_of("http://a.com" + std::string(path)), {}, room));
}

std::string group_of_header(std::string_view value) {
  http::Fields fields;
  fields.add("X-Tenant", value);
  std::string room;
  return std::string(grouping("header:x-tenant").name(target_of("http://a.com/"), fields, room));
}

TEST(Grouping, by_path_takes_the_braced_part_of_the_segment) {
  EXPECT_EQ(group("path:/api/v*/guilds/{guild}", "/api/v10/guilds/42"), "42");
  EXPECT_EQ(group("path:/{x}", "/42"), "42");
  EXPECT_EQ(group("path:/user-{id}.json", "/user-7.json"), "7");
}

TEST(Grouping, by_path_ignores_what_follows_the_pattern_and_the_query) {
  EXPECT_EQ(group("path:/guilds/{guild}", "/guilds/42/messages/1"), "42");
  EXPECT_EQ(group("path:/guilds/{guild}", "/guilds/42/"), "42");
  EXPECT_EQ(group("path:/guilds/{guild}", "/guilds/42?x=/guilds/43"), "42");
}

TEST(Grouping, by_path_falls_into_no_group_where_the_pattern_does_not_fit) {
  for (const char* path :
       {"/", "/guilds", "/guilds/", "/guilds//x", "/guild/42", "/guildsx/42", "/Guilds/42", "/x/guilds/42"})
    EXPECT_EQ(group("path:/guilds/{guild}", path), "-") << path;
  for (const char* path : {"/v/42", "/w1/42", "/v1", "//42"}) EXPECT_EQ(group("path:/v*/{x}", path), "-") << path;
}

TEST(Grouping, by_path_wants_a_character_at_least_for_each_open_part) {
  EXPECT_EQ(group("path:/user-{id}.json", "/user-.json"), "-");
  EXPECT_EQ(group("path:/ab{id}ba", "/aba"), "-");
  EXPECT_EQ(group("path:/{x}/{y}", "//1"), "-");
}

TEST(Grouping, by_path_joins_several_braced_parts) {
  EXPECT_EQ(group("path:/{org}/x/{repo}", "/acme/x/web"), "acme/web");
  EXPECT_EQ(group("path:/{org}/x/{repo}", "/acme/y/web"), "-");
}

std::string group_of_secret(std::string_view rule, std::string_view path, const std::vector<std::string>& secret) {
  std::string room;
  const Grouping it{parse_group(rule).value(), {"penstock", "slack"}, nullptr, secret};
  const auto name = std::string(it.name(target_of("http://a.com" + std::string(path)), {}, room));
  EXPECT_EQ(it.label(name), name);
  return name;
}

TEST(Grouping, by_path_shows_a_hash_where_a_secret_makes_the_group) {
  const std::vector<std::string> hooks{"/services/{}"};
  const std::string rule = "path:/services/{workspace}/{hook}";
  const auto one = group_of_secret(rule, "/services/T0/B0/xyz", hooks);
  EXPECT_THAT(one, testing::MatchesRegex("…[0-9a-f]{16}"));
  EXPECT_EQ(group_of_secret(rule, "/services/T0/B0/abc", hooks), one) << "the same group";
  EXPECT_NE(group_of_secret(rule, "/services/T0/B1/xyz", hooks), one);
  EXPECT_EQ(group_of_secret(rule, "/services/T0", hooks), "-");
  EXPECT_THAT(group_of_secret("path:/{x}", "/" + std::string(300, 'a'), {"/{}"}),
              testing::MatchesRegex("…[0-9a-f]{16}"));
}

TEST(Grouping, by_path_shows_what_is_no_secret) {
  EXPECT_EQ(group_of_secret("path:/api/v*/{kind}/{id}", "/api/v10/guilds/7", {"/webhooks/{}/{}/"}), "guilds/7");
  EXPECT_EQ(group_of_secret("path:/bot*/{method}", "/bot123:ABC/getMe", {"/bot{}/"}), "getMe");
}

TEST(Grouping, by_path_takes_bytes_as_they_came) { EXPECT_EQ(group("path:/{x}", "/%41"), "%41"); }

TEST(Grouping, by_path_finds_no_group_for_the_star_of_options) {
  std::string room;
  const auto options = http::parse_target("OPTIONS", "http://a.com").value();
  EXPECT_EQ(grouping("path:/{x}").name(options, {}, room), "-");
}

TEST(Grouping, by_header_takes_its_value_whatever_the_case_of_its_name) {
  EXPECT_EQ(group_of_header("Acme"), "Acme");
  EXPECT_EQ(group_of_header(""), "-");
  EXPECT_EQ(group("header:X-Tenant", "/"), "-");
}

TEST(Grouping, by_host_takes_the_host_without_its_port) {
  std::string room;
  EXPECT_EQ(grouping("host").name(target_of("http://B.com:8080/"), {}, room), "b.com");
  EXPECT_EQ(grouping("host").name(target_of("http://[::1]/"), {}, room), "::1");
}

TEST(Grouping, copies_nothing_where_the_name_stands_in_the_request) {
  const auto request = target_of("http://a.com/guilds/a-name-that-is-too-long-for-a-small-string/x");
  std::string room;
  const auto name = grouping("path:/guilds/{guild}").name(request, {}, room);
  EXPECT_EQ(name.data(), request.resource.data() + 8);
  EXPECT_EQ(grouping("host").name(request, {}, room).data(), request.host.data());
}

TEST(Grouping, ends_a_long_name_in_a_hash_of_the_whole) {
  const std::string long_name(kLongestGroup, 'x');
  EXPECT_EQ(group_of_header(long_name), long_name);
  const auto one = group_of_header(long_name + "1"), other = group_of_header(long_name + "2");
  EXPECT_EQ(one.size(), kLongestGroup);
  EXPECT_NE(one, other);
  EXPECT_THAT(one, testing::MatchesRegex("x+~[0-9a-f]+"));
  const auto joined = group("path:/{a}/{b}", "/" + long_name + "/" + long_name);
  EXPECT_EQ(joined.size(), kLongestGroup);
}

TEST(Grouping, shows_hosts_and_parts_of_paths_as_they_are) {
  EXPECT_EQ(grouping("host").label("b.com"), "b.com");
  EXPECT_EQ(grouping("path:/{x}").label("42"), "42");
}

TEST(Grouping, shows_of_a_headers_value_only_twelve_digits_of_its_key_in_redis) {
  const auto tenants = grouping("header:X-Tenant");
  const auto label = tenants.label("secret");
  const auto digits = tenants.hash()("secret");
  EXPECT_EQ(label, std::string_view(digits.data(), 12));
  EXPECT_NE(label, tenants.label("another"));
  EXPECT_EQ(tenants.label("-"), "-");
}

TEST(Grouping, shows_other_digits_where_there_is_a_key_for_labels_and_follows_it) {
  base::SipKey labels{1, 2};
  const Grouping tenants(parse_group("header:X-Tenant").value(), {"penstock", "github"}, &labels);
  const auto before = tenants.label("secret");
  EXPECT_THAT(before, testing::MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(before.size(), 12u);
  EXPECT_NE(before, grouping("header:X-Tenant").label("secret"));
  EXPECT_EQ(before, tenants.label("secret"));
  EXPECT_NE(before, tenants.label("another"));
  EXPECT_EQ(tenants.label("-"), "-");
  labels = {3, 4};
  EXPECT_NE(before, tenants.label("secret"));
}

TEST(Grouping, knows_of_a_tunnel_its_host_only) {
  const auto tunnel = http::parse_target("CONNECT", "a.com:443").value();
  http::Fields fields;
  fields.add("X-Tenant", "acme");  // of the CONNECT, not of what goes through it
  std::string room;
  EXPECT_EQ(grouping("header:X-Tenant").name(tunnel, fields, room), kNoGroup);
  EXPECT_EQ(grouping("path:/a/{b}").name(tunnel, fields, room), kNoGroup);
  EXPECT_EQ(grouping("host").name(tunnel, fields, room), "a.com");
}

}  // namespace
}  // namespace penstock::proxy
