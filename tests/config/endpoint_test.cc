// SPDX-License-Identifier: Apache-2.0
// `address:port` for listeners.
#include <gtest/gtest.h>

#include "penstock/config.h"

namespace penstock {
namespace {

TEST(EndpointText, is_an_address_and_a_port) {
  EXPECT_EQ(parse_endpoint("127.0.0.1:3128"), (Endpoint{"127.0.0.1", 3128}));
  EXPECT_EQ(parse_endpoint("0.0.0.0:0"), (Endpoint{"0.0.0.0", 0}));
  EXPECT_EQ(parse_endpoint("[::1]:65535"), (Endpoint{"::1", 65535}));
  EXPECT_EQ(parse_endpoint("[0:0:0:0:0:0:0:1]:80"), (Endpoint{"::1", 80}));
}

TEST(EndpointText, is_written_as_it_is_read) {
  EXPECT_EQ(to_string(Endpoint{"127.0.0.1", 3128}), "127.0.0.1:3128");
  EXPECT_EQ(to_string(Endpoint{"::1", 3128}), "[::1]:3128");
}

TEST(EndpointText, is_refused_without_either_or_with_a_name) {
  for (const auto* text : {"", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:080",
                           "127.0.0.1:80:80", "localhost:80", "::1:80", "[::1]", "[::1]80", "[127.0.0.1]:80", "[]:80",
                           "127.1:80", "[fe80::1%eth0]:80", " 127.0.0.1:80", "http://127.0.0.1:80"}) {
    EXPECT_EQ(parse_endpoint(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace penstock
