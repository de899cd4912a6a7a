// SPDX-License-Identifier: Apache-2.0
// The special ranges, each with its first, its last, and the addresses just outside.
#include <gtest/gtest.h>

#include "access/verdict.h"

namespace penstock::access {
namespace {

struct Range {
  std::string_view name, first, last;
  std::string_view before, after;  // plain neighbours; empty where the neighbour is special too, or does not exist
};

constexpr Range kRanges[] = {
    {"this_network", "0.0.0.0", "0.255.255.255", "", "1.0.0.0"},
    {"private_10", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
    {"carrier_grade_nat", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"},
    {"loopback", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"},
    {"link_local", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"},
    {"private_172", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
    {"protocol_assignments", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"},
    {"documentation_1", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"},
    {"private_192", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"},
    {"benchmarking", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"},
    {"documentation_2", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"},
    {"documentation_3", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"},
    {"multicast", "224.0.0.0", "239.255.255.255", "223.255.255.255", ""},
    {"reserved", "240.0.0.0", "255.255.255.255", "", ""},
    {"compatible", "::", "::ffff:ffff", "", "::1:0:0"},
    {"translated", "::ffff:0:0:0", "::ffff:0:ffff:ffff", "::fffe:ffff:ffff:ffff", "::ffff:1:0:0"},
    {"nat64", "64:ff9b::", "64:ff9b::ffff:ffff", "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", "64:ff9b::1:0:0"},
    {"local_nat64", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "64:ff9b:0:ffff:ffff:ffff:ffff:ffff",
     "64:ff9b:2::"},
    {"discard", "100::", "100::ffff:ffff:ffff:ffff", "ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "100:0:0:1::"},
    {"teredo", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:1::"},
    {"benchmarking_v6", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "2001:1:ffff:ffff:ffff:ffff:ffff:ffff",
     "2001:2:1::"},
    {"documentation_v6", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
     "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"},
    {"six_to_four", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "2003::"},
    {"documentation_v6_2", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
     "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"},
    {"segment_routing", "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "5f01::"},
    {"private_v6", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "fe00::"},
    {"link_local_v6", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     ""},
    {"site_local", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
    {"multicast_v6", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "", ""},
};

bool special(std::string_view text) { return is_special(parse_address(text).value()); }

class SpecialRange : public testing::TestWithParam<Range> {};

TEST_P(SpecialRange, is_special_from_its_first_address_to_its_last) {
  EXPECT_TRUE(special(GetParam().first));
  EXPECT_TRUE(special(GetParam().last));
}

TEST_P(SpecialRange, ends_where_plain_addresses_begin) {
  for (const auto outside : {GetParam().before, GetParam().after}) {
    if (!outside.empty()) {
      EXPECT_FALSE(special(outside)) << outside;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Special, SpecialRange, testing::ValuesIn(kRanges),
                         [](const auto& range) { return std::string(range.param.name); });

TEST(Special, takes_in_the_metadata_services_of_clouds) {
  for (const auto* address : {"169.254.169.254", "100.100.100.200", "fd00:ec2::254"}) {
    EXPECT_TRUE(special(address)) << address;
  }
}

TEST(Special, judges_a_mapped_address_by_its_inner_one) {
  EXPECT_TRUE(special("::ffff:10.0.0.1"));
  EXPECT_FALSE(special("::ffff:8.8.8.8"));
}

TEST(Special, leaves_plain_addresses_alone) {
  for (const auto* address : {"8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450:4001::200e"}) {
    EXPECT_FALSE(special(address)) << address;
  }
}

TEST(Special, tells_loopback_from_the_rest) {
  EXPECT_TRUE(is_loopback(*parse_address("127.0.0.1")));
  EXPECT_TRUE(is_loopback(*parse_address("127.200.0.1")));
  EXPECT_TRUE(is_loopback(*parse_address("::1")));
  EXPECT_TRUE(is_loopback(*parse_address("::ffff:127.0.0.1")));
  EXPECT_FALSE(is_loopback(*parse_address("128.0.0.1")));
  EXPECT_FALSE(is_loopback(*parse_address("::")));
  EXPECT_FALSE(is_loopback(*parse_address("7f00::")));
}

}  // namespace
}  // namespace penstock::access
