// SPDX-License-Identifier: Apache-2.0
// The patterns of `match`, as text and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/config.h"

namespace penstock {
namespace {

Match of(std::string host, bool suffix = false, std::optional<std::uint16_t> port = {}, std::string path = "") {
  return {std::move(host), suffix, port, std::move(path)};
}

std::string match_refusal(std::string_view text) {
  const auto match = parse_match(text);
  return match ? "read as " + to_string(*match) : match.error();
}

TEST(MatchPattern, is_a_host_with_a_port_and_a_path_if_wanted) {
  EXPECT_EQ(parse_match("api.example.com"), of("api.example.com"));
  EXPECT_EQ(parse_match("example.com:8080"), of("example.com", false, 8080));
  EXPECT_EQ(parse_match("example.com/v1"), of("example.com", false, {}, "/v1"));
  EXPECT_EQ(parse_match("example.com:80/v1/x%20y"), of("example.com", false, 80, "/v1/x%20y"));
  EXPECT_EQ(parse_match("localhost"), of("localhost"));
}

TEST(MatchPattern, with_a_star_in_front_is_a_suffix) {
  EXPECT_EQ(parse_match("*.example.com"), of("example.com", true));
  EXPECT_EQ(parse_match("*.example.com:443/a"), of("example.com", true, 443, "/a"));
}

TEST(MatchPattern, of_an_address_is_kept_in_its_plain_form) {
  EXPECT_EQ(parse_match("127.0.0.1:8080"), of("127.0.0.1", false, 8080));
  EXPECT_EQ(parse_match("[2001:DB8:0::1]"), of("2001:db8::1"));
  EXPECT_EQ(parse_match("[::1]:8080/x"), of("::1", false, 8080, "/x"));
}

TEST(MatchPattern, is_brought_into_one_form) {
  EXPECT_EQ(parse_match("API.Example.COM."), of("api.example.com"));
  EXPECT_EQ(parse_match("example.com/"), of("example.com"));
  EXPECT_EQ(parse_match("example.com/v1/"), of("example.com", false, {}, "/v1"));
  EXPECT_EQ(parse_match("example.com/V1"), of("example.com", false, {}, "/V1"));
}

TEST(MatchPattern, is_written_as_it_is_read) {
  for (const auto* text : {"a.com", "*.a.com", "a.com:80", "*.a.com:80/v1/b", "[::1]", "[2001:db8::1]:80/x"}) {
    EXPECT_EQ(to_string(parse_match(text).value()), text);
  }
}

TEST(MatchPattern, that_is_a_url_is_refused_with_what_to_write) {
  EXPECT_THAT(match_refusal("http://example.com/v1"), testing::HasSubstr("without the scheme"));
  EXPECT_THAT(match_refusal("user@example.com"), testing::HasSubstr("no user name"));
  EXPECT_THAT(match_refusal("example.com/x?y=1"), testing::HasSubstr("no query"));
}

TEST(MatchPattern, with_a_star_anywhere_else_is_refused) {
  EXPECT_THAT(match_refusal("*"), testing::HasSubstr("entry named \"*\""));
  EXPECT_THAT(match_refusal("api.*.com"), testing::HasSubstr("only in front"));
  EXPECT_THAT(match_refusal("*example.com"), testing::HasSubstr("only in front"));
  EXPECT_THAT(match_refusal("*.*.com"), testing::HasSubstr("only in front"));
  EXPECT_THAT(match_refusal("example.com/v*"), testing::HasSubstr("no *"));
  EXPECT_THAT(match_refusal("*.127.0.0.1"), testing::HasSubstr("no subdomains"));
}

TEST(MatchPattern, whose_host_could_be_read_in_two_ways_is_refused) {
  EXPECT_THAT(match_refusal("127.1"), testing::HasSubstr("not an IPv4 address"));
  EXPECT_THAT(match_refusal("2130706433"), testing::HasSubstr("not an IPv4 address"));
  EXPECT_THAT(match_refusal("0x7f.0x1"), testing::HasSubstr("not an IPv4 address"));
  EXPECT_THAT(match_refusal("::1"), testing::HasSubstr("in brackets"));
  EXPECT_THAT(match_refusal("[::ffff:10.0.0.1]"), testing::HasSubstr("10.0.0.1"));
  EXPECT_THAT(match_refusal("bücher.example"), testing::HasSubstr("xn--"));
}

TEST(MatchPattern, that_names_nothing_is_refused) {
  for (const auto* text : {"", "*.", "/v1", ":80", "a..com", ".a.com", "a com", "a%2ecom", "[::1", "[::1]x", "[nope]",
                           "a.com:0", "a.com:65536", "a.com:", "a.com:80a", "a.com/ü", "a.com/x y"}) {
    EXPECT_FALSE(parse_match(text)) << text;
  }
}

}  // namespace
}  // namespace penstock
