// SPDX-License-Identifier: Apache-2.0
// The entries of access.allow and access.deny, one by one: what they name, and what is no entry.
#include <gmock/gmock.h>

#include "access/rule.h"

namespace penstock::access {
namespace {

using testing::HasSubstr;

Rules rules(std::vector<std::string> texts) { return Rules(texts); }
Address at(std::string_view text) { return parse_address(text).value(); }

TEST(Rule, is_a_network_or_a_host_with_or_without_a_port) {
  EXPECT_EQ(parse_rule("private")->networks.size(), 4u);
  EXPECT_EQ(parse_rule("10.0.0.0/8")->networks.size(), 1u);
  EXPECT_EQ(parse_rule("10.0.0.1:8080")->port, 8080);
  EXPECT_EQ(parse_rule("[::1]:8080")->port, 8080);
  EXPECT_EQ(parse_rule("::1")->networks.size(), 1u);
  EXPECT_EQ(parse_rule("Example.COM.")->host, "example.com");
  EXPECT_EQ(parse_rule("example.com:443")->port, 443);
  EXPECT_TRUE(parse_rule("*.example.com")->suffix);
  EXPECT_EQ(parse_rule("my_service")->host, "my_service");
  EXPECT_EQ(parse_rule("XN--BCHER-KVA.example")->host, "xn--bcher-kva.example");
}

TEST(Rule, that_is_none_says_why) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "host is missing"},
           {"10.0.0", "not an IPv4 address"},
           {"256.1.1.1", "not an IPv4 address"},
           {"10.0.0.0/33", "prefix that does not fit"},
           {"10.0.0.1/8", "bits beyond its prefix"},
           {"10.0.0.0/8:80", "not a network"},
           {"example.com/v1", "not a network"},
           {"http://example.com", "not a network"},
           {"example.com:", "does not end with a port"},
           {"example.com:0", "does not end with a port"},
           {"example.com:080", "does not end with a port"},
           {"example.com:65536", "does not end with a port"},
           {"[::1]8080", "does not end with a port"},
           {"[::1", "not closed"},
           {"[127.0.0.1]", "no IPv6 address"},
           {"fe80::1%eth0", "is neither a network"},
           {"a.*.example.com", "may stand only in front"},
           {"*.127.0.0.1", "no subdomains"},
           {"b\xc3\xbc"
            "cher.example",
            "ASCII form"},
           {"a..b", "empty label"},
           {"127.0.0.1.", "not an IPv4 address"},
           {std::string(64, 'a') + ".example", "longer than 63"},
       }) {
    const auto rule = parse_rule(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_THAT(rule.error(), HasSubstr(why)) << text;
  }
}

TEST(Rules, name_hosts_by_all_of_their_labels) {
  const Rules list = rules({"a.example", "*.b.example:80", "*.b.example:443"});
  EXPECT_TRUE(list.name("a.example", 1));
  EXPECT_FALSE(list.name("x.a.example", 1));
  EXPECT_FALSE(list.name("ba.example", 1));
  EXPECT_TRUE(list.name("x.y.b.example", 443));
  EXPECT_FALSE(list.name("x.b.example", 8080));
  EXPECT_FALSE(list.name("b.example", 80));
  EXPECT_FALSE(list.name("xb.example", 80));
  EXPECT_FALSE(list.name("", 80));
}

TEST(Rules, name_an_address_alone_or_in_a_network) {
  const Rules list = rules({"10.0.0.0/8", "10.0.0.1:80"});
  EXPECT_TRUE(list.name(at("10.0.0.1"), 443));
  EXPECT_TRUE(list.name_alone(at("10.0.0.1"), 80));
  EXPECT_FALSE(list.name_alone(at("10.0.0.1"), 443));
  EXPECT_FALSE(list.name_alone(at("10.0.0.2"), 80));
}

TEST(Rules, that_are_no_rules_are_left_out) { EXPECT_FALSE(rules({"a b"}).name("a b", 80)); }

}  // namespace
}  // namespace penstock::access
