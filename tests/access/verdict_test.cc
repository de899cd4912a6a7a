// SPDX-License-Identifier: Apache-2.0
// Who may use the proxy and which destinations may be dialled, under different settings and listeners.
#include <gtest/gtest.h>

#include "access/verdict.h"

namespace penstock::access {
namespace {

using Networks = std::vector<std::string>;

const std::vector<Endpoint> kLoopback{{"127.0.0.1", 3128}, {"127.0.0.1", 9128}};
const std::vector<Endpoint> kEverywhere{{"0.0.0.0", 3128}, {"::", 9128}};

Address at(std::string_view text) { return parse_address(text).value(); }

AccessConfig allowing(Networks allow, Networks deny = {}) {
  AccessConfig config;
  config.allow = std::move(allow);
  config.deny = std::move(deny);
  return config;
}

TEST(Client, is_let_in_from_loopback_and_from_nowhere_else_by_default) {
  const Verdict verdict{AccessConfig{}, kLoopback};
  EXPECT_TRUE(verdict.client(at("127.0.0.1")));
  EXPECT_TRUE(verdict.client(at("::1")));
  EXPECT_TRUE(verdict.client(at("::ffff:127.0.0.1")));
  EXPECT_FALSE(verdict.client(at("192.168.0.2")));
  EXPECT_FALSE(verdict.client(at("8.8.8.8")));
}

TEST(Client, is_let_in_from_the_networks_that_are_named) {
  AccessConfig config;
  config.clients = {"private", "203.0.113.7"};
  const Verdict verdict{config, kEverywhere};
  EXPECT_TRUE(verdict.client(at("172.17.0.3")));
  EXPECT_TRUE(verdict.client(at("203.0.113.7")));
  EXPECT_FALSE(verdict.client(at("203.0.113.8")));
  EXPECT_FALSE(verdict.client(at("127.0.0.1")));
}

TEST(Destination, on_the_plain_internet_is_allowed) {
  const Verdict verdict{AccessConfig{}, kEverywhere};
  EXPECT_EQ(verdict.destination(at("8.8.8.8"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(at("2606:4700::1111"), 443), Destination::allowed);
}

TEST(Destination, on_loopback_is_allowed_while_all_listeners_are_on_loopback) {
  EXPECT_EQ(Verdict(AccessConfig{}, kLoopback).destination(at("127.0.0.1"), 8080), Destination::allowed);
  EXPECT_EQ(Verdict(AccessConfig{}, kEverywhere).destination(at("127.0.0.1"), 8080), Destination::denied);
  const std::vector<Endpoint> mixed{{"127.0.0.1", 3128}, {"192.168.0.2", 9128}};
  EXPECT_EQ(Verdict(AccessConfig{}, mixed).destination(at("::1"), 8080), Destination::denied);
}

TEST(Destination, that_is_special_is_denied_by_default) {
  const Verdict verdict{AccessConfig{}, kLoopback};
  for (const auto* address : {"10.0.0.1", "169.254.169.254", "0.0.0.0", "::", "fd00:ec2::254", "64:ff9b::808:808",
                              "::ffff:192.168.1.1", "ff02::1"}) {
    EXPECT_EQ(verdict.destination(at(address), 80), Destination::denied) << address;
  }
}

TEST(Destination, is_allowed_by_exactly_what_allow_names) {
  const Verdict verdict{allowing({"10.1.0.0/16", "fd00::5"}), kLoopback};
  EXPECT_EQ(verdict.destination(at("10.1.2.3"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(at("::ffff:10.1.2.3"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(at("fd00::5"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(at("10.2.0.0"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(at("127.0.0.1"), 8080), Destination::denied);
}

TEST(Destination, on_loopback_can_be_denied_by_an_empty_allow) {
  EXPECT_EQ(Verdict(allowing({}), kLoopback).destination(at("127.0.0.1"), 8080), Destination::denied);
}

TEST(Destination, that_deny_names_is_denied_whatever_allow_says) {
  const Verdict verdict{allowing({"private"}, {"10.0.0.5", "8.8.8.0/24"}), kLoopback};
  EXPECT_EQ(verdict.destination(at("10.0.0.4"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(at("10.0.0.5"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(at("8.8.8.8"), 80), Destination::denied);
}

TEST(Destination, behind_a_gateway_prefix_is_judged_by_the_ipv4_address_too) {
  const Verdict verdict{allowing({"64:ff9b::/96", "2002::/16", "2001::/32", "::/96"}, {"8.8.8.8"}), kLoopback};
  EXPECT_EQ(verdict.destination(at("64:ff9b::1.1.1.1"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(at("64:ff9b::127.0.0.1"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(at("64:ff9b::8.8.8.8"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(at("2002:101:101::1"), 80), Destination::allowed);
  EXPECT_EQ(verdict.destination(at("2002:a00:1::1"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(at("::10.0.0.1"), 80), Destination::denied);
  // Teredo, RFC 4380 section 4: server 1.1.1.1, client 192.168.0.1 with its bits turned over.
  EXPECT_EQ(verdict.destination(at("2001:0:101:101::3f57:fffe"), 80), Destination::denied);
  EXPECT_EQ(verdict.destination(at("2001:0:101:101::f7f7:fbfb"), 80), Destination::allowed);
}

TEST(Destination, that_is_our_own_listener_is_recognised) {
  const Verdict verdict{AccessConfig{}, kLoopback};
  EXPECT_EQ(verdict.destination(at("127.0.0.1"), 3128), Destination::own);
  EXPECT_EQ(verdict.destination(at("::ffff:127.0.0.1"), 9128), Destination::own);
  EXPECT_EQ(verdict.destination(at("127.0.0.1"), 3129), Destination::allowed);
  EXPECT_EQ(verdict.destination(at("127.0.0.2"), 3128), Destination::allowed);
}

TEST(Destination, that_is_unspecified_is_this_machine) {
  const Verdict verdict{allowing({"0.0.0.0/8", "::/96"}), kLoopback};
  EXPECT_EQ(verdict.destination(at("0.0.0.0"), 3128), Destination::own);
  EXPECT_EQ(verdict.destination(at("::"), 9128), Destination::own);
}

TEST(Destination, on_any_loopback_address_is_our_own_where_we_listen_everywhere) {
  const Verdict verdict{allowing({"loopback"}), kEverywhere};
  EXPECT_EQ(verdict.destination(at("127.0.0.1"), 3128), Destination::own);
  EXPECT_EQ(verdict.destination(at("127.9.9.9"), 9128), Destination::own);
  EXPECT_EQ(verdict.destination(at("::1"), 3128), Destination::own);
  EXPECT_EQ(verdict.destination(at("::1"), 8080), Destination::allowed);
}

TEST(Destination, that_is_our_own_stays_so_behind_a_gateway_prefix) {
  const Verdict verdict{allowing({"loopback", "64:ff9b::/96"}), kLoopback};
  EXPECT_EQ(verdict.destination(at("64:ff9b::127.0.0.1"), 3128), Destination::own);
}

TEST(Destination, that_is_our_own_cannot_be_allowed) {
  EXPECT_EQ(Verdict(allowing({"127.0.0.1"}), kLoopback).destination(at("127.0.0.1"), 3128), Destination::own);
}

}  // namespace
}  // namespace penstock::access
