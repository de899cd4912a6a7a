// SPDX-License-Identifier: Apache-2.0
// Who may use the proxy and which destinations may be dialled, under different settings and listeners.
#include <gtest/gtest.h>

#include "access/verdict.h"

namespace penstock::access {
namespace {

using Networks = std::vector<std::string>;

const std::vector<Endpoint> kLoopback{{"127.0.0.1", 3128}, {"127.0.0.1", 9128}};
const std::vector<Endpoint> kEverywhere{{"0.0.0.0", 3128}, {"::", 9128}};

Address address_of(std::string_view text) { return parse_address(text).value(); }

Config allowing(Networks allow, Networks deny = {}) {
  Config config;
  config.access.allow = std::move(allow);
  config.access.deny = std::move(deny);
  return config;
}

/// Nothing special is allowed, but there are these upstreams.
Config with_upstreams(std::vector<Match> matches, std::optional<BaseUrl> url = {}) {
  Config config = allowing({});
  config.upstreams.push_back({.name = "api", .match = std::move(matches), .settings = {}, .base_url = std::move(url)});
  return config;
}

TEST(Client, is_let_in_from_loopback_and_from_nowhere_else_by_default) {
  const Verdict verdict{Config{}, kLoopback};
  EXPECT_TRUE(verdict.client(address_of("127.0.0.1")));
  EXPECT_TRUE(verdict.client(address_of("::1")));
  EXPECT_TRUE(verdict.client(address_of("::ffff:127.0.0.1")));
  EXPECT_FALSE(verdict.client(address_of("192.168.0.2")));
  EXPECT_FALSE(verdict.client(address_of("8.8.8.8")));
}

TEST(Client, is_let_in_from_the_networks_that_are_named) {
  Config config;
  config.access.clients = {"private", "203.0.113.7"};
  const Verdict verdict{config, kEverywhere};
  EXPECT_TRUE(verdict.client(address_of("172.17.0.3")));
  EXPECT_TRUE(verdict.client(address_of("203.0.113.7")));
  EXPECT_FALSE(verdict.client(address_of("203.0.113.8")));
  EXPECT_FALSE(verdict.client(address_of("127.0.0.1")));
}

TEST(Destination, on_the_plain_internet_is_allowed) {
  const Verdict verdict{Config{}, kEverywhere};
  EXPECT_EQ(verdict.destination(address_of("8.8.8.8"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("2606:4700::1111"), 443), Destination::allowed);
}

TEST(Destination, on_loopback_is_allowed_while_all_listeners_are_on_loopback) {
  EXPECT_EQ(Verdict(Config{}, kLoopback).destination(address_of("127.0.0.1"), 8080), Destination::allowed);
  EXPECT_EQ(Verdict(Config{}, kEverywhere).destination(address_of("127.0.0.1"), 8080), Destination::denied);
  const std::vector<Endpoint> mixed{{"127.0.0.1", 3128}, {"192.168.0.2", 9128}};
  EXPECT_EQ(Verdict(Config{}, mixed).destination(address_of("::1"), 8080), Destination::denied);
}

TEST(Destination, that_is_special_is_denied_by_default) {
  const Verdict verdict{Config{}, kLoopback};
  for (const auto* address : {"10.0.0.1", "169.254.169.254", "0.0.0.0", "::", "fd00:ec2::254", "64:ff9b::808:808",
                              "::ffff:192.168.1.1", "ff02::1"}) {
    EXPECT_EQ(verdict.destination(address_of(address), 80), Destination::denied) << address;
  }
}

TEST(Destination, is_allowed_by_exactly_what_allow_names) {
  const Verdict verdict{allowing({"10.1.0.0/16", "fd00::5"}), kLoopback};
  EXPECT_EQ(verdict.destination(address_of("10.1.2.3"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("::ffff:10.1.2.3"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("fd00::5"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("10.2.0.0"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 8080), Destination::denied);
}

TEST(Destination, on_loopback_can_be_denied_by_an_empty_allow) {
  EXPECT_EQ(Verdict(allowing({}), kLoopback).destination(address_of("127.0.0.1"), 8080), Destination::denied);
}

TEST(Destination, that_deny_names_is_denied_whatever_allow_says) {
  const Verdict verdict{allowing({"private"}, {"10.0.0.5", "8.8.8.0/24"}), kLoopback};
  EXPECT_EQ(verdict.destination(address_of("10.0.0.4"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("10.0.0.5"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("8.8.8.8"), 80), Destination::denied);
}

TEST(Destination, behind_a_gateway_prefix_is_judged_by_the_ipv4_address_too) {
  const Verdict verdict{allowing({"64:ff9b::/96", "2002::/16", "2001::/32", "::/96"}, {"8.8.8.8"}), kLoopback};
  EXPECT_EQ(verdict.destination(address_of("64:ff9b::1.1.1.1"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("64:ff9b::127.0.0.1"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("64:ff9b::8.8.8.8"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("2002:101:101::1"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("2002:a00:1::1"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("::10.0.0.1"), 80), Destination::denied);
  // Teredo, RFC 4380 section 4: server 1.1.1.1, client 192.168.0.1 with its bits turned over.
  EXPECT_EQ(verdict.destination(address_of("2001:0:101:101::3f57:fffe"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("2001:0:101:101::f7f7:fbfb"), 80), Destination::allowed);
}

TEST(Destination, that_is_our_own_listener_is_recognised) {
  const Verdict verdict{Config{}, kLoopback};
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 3128), Destination::own);
  EXPECT_EQ(verdict.destination(address_of("::ffff:127.0.0.1"), 9128), Destination::own);
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 3129), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("127.0.0.2"), 3128), Destination::allowed);
}

TEST(Destination, that_is_unspecified_is_this_machine) {
  const Verdict verdict{allowing({"0.0.0.0/8", "::/96"}), kLoopback};
  EXPECT_EQ(verdict.destination(address_of("0.0.0.0"), 3128), Destination::own);
  EXPECT_EQ(verdict.destination(address_of("::"), 9128), Destination::own);
}

TEST(Destination, on_any_loopback_address_is_our_own_where_we_listen_everywhere) {
  const Verdict verdict{allowing({"loopback"}), kEverywhere};
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 3128), Destination::own);
  EXPECT_EQ(verdict.destination(address_of("127.9.9.9"), 9128), Destination::own);
  EXPECT_EQ(verdict.destination(address_of("::1"), 3128), Destination::own);
  EXPECT_EQ(verdict.destination(address_of("::1"), 8080), Destination::allowed);
}

TEST(Destination, on_any_address_of_this_machine_is_our_own_where_we_listen_everywhere) {
  const Networks all{"0.0.0.0/0", "::/0"}, here{"172.17.0.2", "2001:db8::2", "8.8.8.8"};
  const Verdict everywhere{allowing(all), kEverywhere, {}, here};
  for (const auto* address : {"172.17.0.2", "::ffff:172.17.0.2", "64:ff9b::172.17.0.2", "2001:db8::2", "8.8.8.8"}) {
    EXPECT_EQ(everywhere.destination(address_of(address), 3128), Destination::own) << address;
    EXPECT_EQ(everywhere.destination(address_of(address), 9128), Destination::own) << address;
    EXPECT_EQ(everywhere.destination(address_of(address), 80), Destination::allowed) << address;
    EXPECT_EQ(Verdict(allowing(all), kLoopback, {}, here).destination(address_of(address), 3128), Destination::allowed)
        << "somebody else's may be there: " << address;
  }
  EXPECT_EQ(everywhere.destination(address_of("172.17.0.3"), 3128), Destination::allowed);
}

TEST(Destination, that_is_our_own_stays_so_behind_a_gateway_prefix) {
  const Verdict verdict{allowing({"loopback", "64:ff9b::/96"}), kLoopback};
  EXPECT_EQ(verdict.destination(address_of("64:ff9b::127.0.0.1"), 3128), Destination::own);
}

TEST(Destination, that_is_our_own_cannot_be_allowed) {
  EXPECT_EQ(Verdict(allowing({"127.0.0.1"}), kLoopback).destination(address_of("127.0.0.1"), 3128), Destination::own);
}

TEST(Destination, may_be_allowed_on_one_port_alone) {
  const Verdict verdict{allowing({"127.0.0.1:8080", "[fd00::5]:443", "[::1]"}), kEverywhere};
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 8080), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("::ffff:127.0.0.1"), 8080), Destination::allowed) << "the same address";
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 8081), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("127.0.0.2"), 8080), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("::127.0.0.1"), 8080), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("fd00::5"), 443), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("fd00::5"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("::1"), 80), Destination::allowed);
}

TEST(Destination, may_be_denied_on_one_port_alone) {
  const Verdict verdict{allowing({"loopback"}, {"127.0.0.1:8080"}), kLoopback};
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 8080), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 8081), Destination::allowed);
}

TEST(Destination, that_is_special_is_allowed_to_the_hosts_that_allow_names_and_to_no_other) {
  const Verdict verdict{allowing({"internal.corp", "*.lab.corp:8080"}), kEverywhere};
  const auto private_one = address_of("10.0.0.1");
  EXPECT_EQ(verdict.destination(private_one, 80, "internal.corp"), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("64:ff9b::10.0.0.1"), 80, "internal.corp"), Destination::allowed);
  EXPECT_EQ(verdict.destination(private_one, 80, "other.corp"), Destination::denied);
  EXPECT_EQ(verdict.destination(private_one, 80, "x.internal.corp"), Destination::denied);
  EXPECT_EQ(verdict.destination(private_one, 80, "10.0.0.1"), Destination::denied);
  EXPECT_EQ(verdict.destination(private_one, 80), Destination::denied);
  EXPECT_EQ(verdict.destination(private_one, 8080, "a.b.lab.corp"), Destination::allowed);
  EXPECT_EQ(verdict.destination(private_one, 8081, "a.b.lab.corp"), Destination::denied);
  EXPECT_EQ(verdict.destination(private_one, 8080, "lab.corp"), Destination::denied);
}

TEST(Destination, of_a_host_that_deny_names_is_denied_whatever_its_address_is) {
  const Verdict verdict{allowing({"api.corp", "private"}, {"api.corp", "*.evil.example:443"}), kLoopback};
  EXPECT_EQ(verdict.destination(address_of("10.0.0.1"), 80, "api.corp"), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("8.8.8.8"), 80, "api.corp"), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("8.8.8.8"), 443, "a.evil.example"), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("8.8.8.8"), 80, "a.evil.example"), Destination::allowed);
  EXPECT_TRUE(verdict.denies("api.corp", 1));
  EXPECT_FALSE(verdict.denies("evil.example", 443));
}

TEST(Destination, that_is_an_upstream_s_literal_address_is_allowed_by_that_address) {
  const Verdict verdict{with_upstreams({{.host = "10.0.0.5"}, {.host = "fd00::5", .port = 8080}}), kEverywhere};
  EXPECT_EQ(verdict.destination(address_of("10.0.0.5"), 1234, "10.0.0.5"), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("fd00::5"), 8080, "fd00::5"), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("fd00::5"), 80, "fd00::5"), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("10.0.0.6"), 80, "10.0.0.6"), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("10.0.0.5"), 80, "a-name.example"), Destination::denied);
}

TEST(Destination, that_is_the_literal_address_of_a_base_url_is_allowed_on_its_port) {
  const Verdict verdict{with_upstreams({}, BaseUrl{.secure = false, .host = "10.0.0.5", .port = 8080}), kEverywhere};
  EXPECT_EQ(verdict.destination(address_of("10.0.0.5"), 8080, "10.0.0.5"), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("10.0.0.5"), 80, "10.0.0.5"), Destination::denied);
}

TEST(Destination, that_is_an_upstream_s_may_still_be_denied_or_our_own) {
  Config config = with_upstreams({{.host = "10.0.0.5"}, {.host = "127.0.0.1"}});
  config.access.deny = {"10.0.0.0/8"};
  const Verdict verdict{config, kLoopback};
  EXPECT_EQ(verdict.destination(address_of("10.0.0.5"), 80, "10.0.0.5"), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 3128, "127.0.0.1"), Destination::own);
}

TEST(Metadata, is_reached_by_its_literal_only) {
  const Networks all{"private", "169.254.0.0/16", "100.64.0.0/10", "fe80::/10", "192.0.0.0/24", "metadata.example"};
  const Verdict verdict{allowing(all), kLoopback};
  for (const auto* address :
       {"169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "192.0.0.192", "fd00:ec2::254",
        "fd00:ec2::23", "fd20:ce::254", "fe80::a9fe:a9fe", "168.63.129.16", "::ffff:169.254.169.254"}) {
    EXPECT_EQ(verdict.destination(address_of(address), 80, address), Destination::denied) << address;
    EXPECT_EQ(verdict.destination(address_of(address), 80, "metadata.example"), Destination::denied) << address;
    EXPECT_EQ(Verdict(allowing({address}), kLoopback).destination(address_of(address), 80), Destination::allowed)
        << address;
  }
  EXPECT_EQ(verdict.destination(address_of("169.254.169.253"), 80), Destination::allowed);
  EXPECT_EQ(Verdict(with_upstreams({{.host = "169.254.169.254"}}), kLoopback)
                .destination(address_of("169.254.169.254"), 80, "169.254.169.254"),
            Destination::allowed);
}

TEST(Closed, is_dialled_by_nobody_neither_by_address_nor_by_name) {
  Config config = allowing({"private", "127.0.0.1:6379", "redis.corp"});
  config.upstreams.push_back({.name = "it", .match = {{.host = "127.0.0.1"}}, .settings = {}});
  std::vector<Endpoint> closed{{"127.0.0.1", 6379}, {"redis.corp", 6379}};
  Verdict verdict{config, kLoopback, closed};
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 6379, "127.0.0.1"), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 6380, "127.0.0.1"), Destination::allowed);
  EXPECT_TRUE(verdict.denies("redis.corp", 6379));
  EXPECT_FALSE(verdict.denies("redis.corp", 80));
  EXPECT_EQ(verdict.destination(address_of("10.0.0.7"), 6379), Destination::allowed) << "nobody knows yet";
  closed.push_back({"10.0.0.7", 6379});
  verdict = Verdict{config, kLoopback, closed};
  EXPECT_EQ(verdict.destination(address_of("10.0.0.7"), 6379), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("10.0.0.7"), 80), Destination::allowed);
}

TEST(Closed, is_at_every_address_of_this_machine_what_is_at_one_of_them) {
  const Config config = allowing({"0.0.0.0/0", "::/0"});
  for (const auto* place : {"127.0.0.1", "127.3.2.1", "::1", "0.0.0.0", "::", "172.17.0.2", "2001:db8::2"}) {
    const Verdict verdict{config, kLoopback, {{place, 6379}}, {"172.17.0.2", "2001:db8::2"}};
    for (const auto* address : {"127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "172.17.0.2", "2001:db8::2"}) {
      EXPECT_EQ(verdict.destination(address_of(address), 6379), Destination::denied) << place << ", " << address;
      EXPECT_EQ(verdict.destination(address_of(address), 6380), Destination::allowed) << place << ", " << address;
    }
    EXPECT_EQ(verdict.destination(address_of("172.17.0.3"), 6379), Destination::allowed) << place;
  }
}

TEST(Closed, elsewhere_closes_no_address_of_this_machine) {
  const Verdict verdict{allowing({"0.0.0.0/0", "::/0"}), kLoopback, {{"10.0.0.7", 6379}}, {"172.17.0.2"}};
  EXPECT_EQ(verdict.destination(address_of("10.0.0.7"), 6379), Destination::denied);
  EXPECT_EQ(verdict.destination(address_of("127.0.0.1"), 6379), Destination::allowed);
  EXPECT_EQ(verdict.destination(address_of("172.17.0.2"), 6379), Destination::allowed);
}

}  // namespace
}  // namespace penstock::access
