// SPDX-License-Identifier: Apache-2.0
// Which texts are addresses. The odd ones are those that lenient parsers take for 127.0.0.1.
#include <gtest/gtest.h>

#include "access/verdict.h"

namespace penstock::access {
namespace {

std::string canonical(std::string_view text) {
  const auto address = parse_address(text);
  return address ? to_string(*address) : "none";
}

TEST(Address, reads_a_dotted_quad) { EXPECT_EQ(canonical("192.0.2.1"), "192.0.2.1"); }

TEST(Address, writes_ipv6_in_its_shortest_form) {
  EXPECT_EQ(canonical("2001:DB8:0:0:0:0:0:1"), "2001:db8::1");
  EXPECT_EQ(canonical("::"), "::");
}

TEST(Address, keeps_a_mapped_address_as_ipv4) {
  EXPECT_EQ(canonical("::ffff:7f00:1"), "127.0.0.1");
  EXPECT_EQ(canonical("::ffff:10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(parse_address("::ffff:127.0.0.1"), parse_address("127.0.0.1"));
}

TEST(Address, keeps_other_forms_that_embed_ipv4_as_they_are) {
  EXPECT_EQ(canonical("64:ff9b::127.0.0.1"), "64:ff9b::7f00:1");
}

TEST(Address, of_ipv6_is_one_client_with_all_of_its_64) {
  const auto client = [](std::string_view text) { return to_string(client_of(*parse_address(text))); };
  EXPECT_EQ(client("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
  EXPECT_EQ(client("192.0.2.77"), "192.0.2.77");
}

class NotAnAddress : public testing::TestWithParam<std::string_view> {};

TEST_P(NotAnAddress, is_refused) { EXPECT_EQ(canonical(GetParam()), "none"); }

using namespace std::string_view_literals;
INSTANTIATE_TEST_SUITE_P(Address, NotAnAddress,
                         testing::Values("", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.0.0.01", "127.0.0.1.",
                                         "1.2.3.4.5", "1.2.3.256", " 127.0.0.1", "127.0.0.1 ", "[::1]", "fe80::1%eth0",
                                         "::1%1", ":::", "1:2:3:4:5:6:7:8:9", "localhost", "１27.0.0.1",
                                         "127.0.0.1\0"sv, "0000:0000:0000:0000:0000:0000:0000:0000:0000:0001"));

}  // namespace
}  // namespace penstock::access
