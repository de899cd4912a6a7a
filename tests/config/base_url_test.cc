// SPDX-License-Identifier: Apache-2.0
// `baseUrl`, as text and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/config.h"

namespace penstock {
namespace {

std::string url_refusal(std::string_view text) {
  const auto url = parse_base_url(text);
  return url ? "read as " + to_string(*url) : url.error();
}

TEST(BaseUrlText, is_a_scheme_a_host_and_a_path_if_wanted) {
  EXPECT_EQ(parse_base_url("https://api.openai.com/v1"), (BaseUrl{true, "api.openai.com", 443, "/v1"}));
  EXPECT_EQ(parse_base_url("https://api.openai.com"), (BaseUrl{true, "api.openai.com", 443, ""}));
  EXPECT_EQ(parse_base_url("http://models.internal:8080/a/b%20c"),
            (BaseUrl{false, "models.internal", 8080, "/a/b%20c"}));
  EXPECT_EQ(parse_base_url("http://127.0.0.1"), (BaseUrl{false, "127.0.0.1", 80, ""}));
  EXPECT_EQ(parse_base_url("https://[2001:DB8:0::1]:8443/x"), (BaseUrl{true, "2001:db8::1", 8443, "/x"}));
}

TEST(BaseUrlText, is_brought_into_one_form) {
  EXPECT_EQ(to_string(parse_base_url("HTTPS://API.Example.COM.:443/V1//").value()), "https://api.example.com/V1");
  EXPECT_EQ(to_string(parse_base_url("http://a.com:80/").value()), "http://a.com");
  EXPECT_EQ(to_string(parse_base_url("http://a.com:443").value()), "http://a.com:443");
}

TEST(BaseUrlText, is_written_as_it_is_read) {
  for (const auto* text : {"https://a.com", "http://a.com", "https://a.com:80/v1", "https://[::1]:8443/x/y"}) {
    EXPECT_EQ(to_string(parse_base_url(text).value()), text);
  }
}

TEST(BaseUrlText, without_one_of_the_two_schemes_is_refused) {
  for (const auto* text : {"", "api.openai.com/v1", "ftp://a.com", "https:/a.com", "https", "//a.com", "/v1"}) {
    EXPECT_THAT(url_refusal(text), testing::HasSubstr("begins with https:// or http://")) << text;
  }
}

TEST(BaseUrlText, with_more_than_a_place_is_refused_and_not_repeated) {
  const std::string with_password = url_refusal("https://me:hunter2@a.com/");
  EXPECT_THAT(with_password, testing::HasSubstr("no user name"));
  EXPECT_THAT(with_password, testing::Not(testing::HasSubstr("hunter2")));
  EXPECT_THAT(url_refusal("https://a.com/v1?key=1"), testing::HasSubstr("no query, no fragment"));
  EXPECT_THAT(url_refusal("https://a.com/v1#x"), testing::HasSubstr("no query, no fragment"));
  EXPECT_THAT(url_refusal("https://*.a.com/v1"), testing::HasSubstr("no *"));
  EXPECT_THAT(url_refusal("https://a.com/v1/../v2"), testing::HasSubstr(". or .."));
}

TEST(BaseUrlText, with_a_host_that_no_target_may_have_is_refused) {
  for (const auto* text :
       {"https://", "https:///v1", "https://:443", "https://127.1", "https://0x7f.1", "https://a_b.com",
        "https://a..com", "https://::1/", "https://[::1", "https://[::ffff:10.0.0.1]/", "https://bücher.example",
        "https://a%2ecom", "https://a.com:0", "https://a.com:65536", "https://a.com:https", "https://a b.com",
        "https://a.com/x y", "https://http://a.com"}) {
    EXPECT_FALSE(parse_base_url(text)) << text;
  }
  EXPECT_FALSE(parse_base_url("https://" + std::string(64, 'a') + ".com"));
  EXPECT_TRUE(parse_base_url("https://" + std::string(63, 'a') + ".com"));
}

}  // namespace
}  // namespace penstock
