// SPDX-License-Identifier: Apache-2.0
// What tells a page in a browser from a program, and a name of our own from one that any page could have.
#include "http/browser_guard.h"

#include <gtest/gtest.h>

namespace penstock::http {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

Fields fields(const Lines& lines) {
  Fields made;
  for (const auto& [name, value] : lines) made.add(name, value);
  return made;
}
bool from_page(const Lines& lines) { return comes_from_other_page(fields(lines)); }
bool ours(const std::string& host, const std::vector<std::string>& names = {}) {
  return is_our_host(fields({{"Host", host}}), names);
}

TEST(Page, elsewhere_is_known_by_its_origin) {
  for (const auto* origin : {"https://evil.example", "http://evil.example", "null", "", "http://127.0.0.1:9",
                             "https://127.0.0.1:3128", "http://127.0.0.1:3128/", "file://", "http://localhost:3128"}) {
    EXPECT_TRUE(from_page({{"Host", "127.0.0.1:3128"}, {"Origin", origin}})) << origin;
  }
  EXPECT_TRUE(from_page({{"origin", "http://"}})) << "no Host";
}

TEST(Page, elsewhere_is_known_by_sec_fetch_site) {
  EXPECT_TRUE(from_page({{"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}}));
  EXPECT_TRUE(from_page({{"Host", "localhost"}, {"sec-fetch-site", "same-site"}}));
  EXPECT_TRUE(from_page({{"Host", "localhost"}, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "cross-site"}}));
}

TEST(Page, of_our_own_and_an_address_that_was_typed_in_are_welcome) {
  EXPECT_FALSE(from_page({{"Host", "127.0.0.1:3128"}, {"Origin", "http://127.0.0.1:3128"}}));
  EXPECT_FALSE(from_page({{"Host", "LOCALHOST:80"}, {"Origin", "http://localhost"}}));
  EXPECT_FALSE(from_page({{"Host", "[::1]:3128"}, {"Origin", "http://[::1]:3128"}, {"Sec-Fetch-Site", "same-origin"}}));
  EXPECT_FALSE(from_page({{"Host", "localhost"}, {"Sec-Fetch-Site", "none"}}));
}

TEST(Programs, are_not_taken_for_pages) {
  EXPECT_FALSE(from_page({}));
  EXPECT_FALSE(from_page({{"Host", "localhost"}, {"Sec-Fetch-Mode", "cors"}, {"Referer", "https://a.example/"}}));
}

TEST(OurHost, is_an_address_or_a_name_that_no_page_can_have) {
  for (const auto* host : {"", "127.0.0.1", "127.0.0.1:3128", "[::1]", "[fd00::1]:3128", "localhost", "LOCALHOST:3128",
                           "localhost.", "penstock", "penstock:3128", "my_service", "a.localhost",
                           "host.docker.internal", "printer.local:3128", "penstock.default.svc.cluster.local"}) {
    EXPECT_TRUE(ours(host)) << host;
  }
  EXPECT_TRUE(is_our_host({}, {}));
}

TEST(OurHost, is_no_name_of_public_dns) {
  for (const auto* host :
       {"evil.example", "evil.example:3128", "evil.example.", "127.0.0.1.nip.io", "localhost.evil.example",
        "notlocalhost.com", "internal.evil", "xlocal.com", "1.2.3", "1.2.3.4.5"}) {
    EXPECT_FALSE(ours(host)) << host;
  }
}

TEST(OurHost, is_one_that_the_configuration_names) {
  EXPECT_TRUE(ours("penstock.example.com:3128", {"penstock.example.com"}));
  EXPECT_TRUE(ours("PENSTOCK.example.com.", {"a.example", "penstock.example.com"}));
  EXPECT_TRUE(ours("a.b.example.com", {"*.example.com"}));
  EXPECT_FALSE(ours("example.com", {"*.example.com"}));
  EXPECT_FALSE(ours("xexample.com", {"*.example.com"}));
  EXPECT_FALSE(ours("x.penstock.example.com", {"penstock.example.com"}));
}

}  // namespace
}  // namespace penstock::http
