// SPDX-License-Identifier: Apache-2.0
// Networks as an operator writes them, and what they contain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "access/verdict.h"

namespace penstock::access {
namespace {

bool holds(std::string_view network, std::string_view address) {
  const auto networks = parse_networks(network).value();
  return std::any_of(networks.begin(), networks.end(), [&](auto& n) { return n.contains(*parse_address(address)); });
}

std::string refusal(std::string_view text) {
  const auto networks = parse_networks(text);
  return networks ? "" : networks.error();
}

TEST(Networks, contain_their_first_and_their_last_address_and_not_their_neighbours) {
  EXPECT_TRUE(holds("10.1.0.0/16", "10.1.0.0"));
  EXPECT_TRUE(holds("10.1.0.0/16", "10.1.255.255"));
  EXPECT_FALSE(holds("10.1.0.0/16", "10.0.255.255"));
  EXPECT_FALSE(holds("10.1.0.0/16", "10.2.0.0"));
}

TEST(Networks, may_end_within_a_byte) {
  EXPECT_TRUE(holds("172.16.0.0/12", "172.31.255.255"));
  EXPECT_FALSE(holds("172.16.0.0/12", "172.32.0.0"));
  EXPECT_TRUE(holds("2001:db8:8000::/33", "2001:db8:ffff::"));
  EXPECT_FALSE(holds("2001:db8:8000::/33", "2001:db8:7fff::"));
}

TEST(Networks, of_prefix_zero_hold_everything_of_their_family) {
  EXPECT_TRUE(holds("0.0.0.0/0", "203.0.113.9"));
  EXPECT_FALSE(holds("0.0.0.0/0", "::1"));
  EXPECT_TRUE(holds("::/0", "ff02::1"));
  EXPECT_FALSE(holds("::/0", "203.0.113.9"));
}

TEST(Networks, of_a_single_address_hold_only_that) {
  EXPECT_TRUE(holds("192.0.2.7", "192.0.2.7"));
  EXPECT_FALSE(holds("192.0.2.7", "192.0.2.6"));
  EXPECT_TRUE(holds("::1", "::1"));
}

TEST(Networks, in_mapped_form_hold_the_ipv4_addresses_they_name) {
  EXPECT_TRUE(holds("::ffff:10.0.0.0/104", "10.200.0.1"));
  EXPECT_FALSE(holds("::ffff:10.0.0.0/104", "11.0.0.0"));
}

TEST(Networks, have_names_for_loopback_and_private) {
  EXPECT_TRUE(holds("loopback", "127.255.255.254"));
  EXPECT_TRUE(holds("loopback", "::1"));
  EXPECT_FALSE(holds("loopback", "10.0.0.1"));
  for (const auto* inside : {"10.0.0.1", "172.16.0.1", "192.168.255.255", "fd00::1"}) {
    EXPECT_TRUE(holds("private", inside)) << inside;
  }
  EXPECT_FALSE(holds("private", "172.32.0.1"));
  EXPECT_FALSE(holds("private", "127.0.0.1"));
}

TEST(Networks, with_bits_beyond_the_prefix_are_refused_with_the_one_that_was_meant) {
  EXPECT_EQ(refusal("10.1.2.3/8"), "'10.1.2.3/8' has bits beyond its prefix; write 10.0.0.0/8");
  EXPECT_EQ(refusal("fc00::1/7"), "'fc00::1/7' has bits beyond its prefix; write fc00::/7");
}

TEST(Networks, that_are_not_networks_are_refused) {
  for (const auto* text : {"", "/8", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/8 ", "10/8", "Loopback",
                           "example.com", "10.0.0.0/255.0.0.0", "10.0.0.0/8/8", "127.0.0.1:80"}) {
    EXPECT_NE(refusal(text), "") << text;
  }
  for (const auto* text : {"10.0.0.0/33", "::/129", "::ffff:0.0.0.0/95"}) {
    EXPECT_THAT(refusal(text), testing::HasSubstr("a prefix that does not fit")) << text;
  }
}

}  // namespace
}  // namespace penstock::access
