// SPDX-License-Identifier: Apache-2.0
// Which parts of a path people do not see.
#include "http/redaction.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::http {
namespace {

using Patterns = std::vector<std::string>;

std::string shown(std::string_view path, const Patterns& patterns) {
  std::string room;
  return std::string(shown_path(path, patterns, room));
}

const Patterns kBot{"/bot{}/"}, kServices{"/services/{}"}, kWebhooks{"/webhooks/{}/{}/"};

TEST(Redaction, hides_up_to_the_next_text_of_the_pattern) {
  EXPECT_EQ(shown("/bot123:ABC/sendMessage", kBot), "/bot…/sendMessage");
  EXPECT_EQ(shown("/a/x-1.json/b", {"/x-{}.json"}), "/a/x-….json/b");
  EXPECT_EQ(shown("/api/webhooks/1/secret/messages/2", kWebhooks), "/api/webhooks/…/…/messages/2");
}

TEST(Redaction, hides_the_rest_behind_a_pattern_that_ends_in_a_secret) {
  EXPECT_EQ(shown("/services/T0/B0/xyz", kServices), "/services/…");
  EXPECT_EQ(shown("/a/b/c", {"/{}"}), "/…");
}

TEST(Redaction, hides_the_rest_of_a_path_that_ends_before_the_next_text) {
  EXPECT_EQ(shown("/bot123:ABC", kBot), "/bot…");
  EXPECT_EQ(shown("/webhooks/1", kWebhooks), "/webhooks/…");
  EXPECT_EQ(shown("/webhooks/1/secret", kWebhooks), "/webhooks/…/…");
}

TEST(Redaction, shows_what_no_pattern_fits) {
  for (const char* path : {"", "/", "*", "/bot", "/robot1/x", "/services", "/services/", "/service/1", "/x/services"}) {
    EXPECT_EQ(shown(path, {"/bot{}/", "/services/{}"}), path);
  }
  EXPECT_EQ(shown("/bot123/x", {}), "/bot123/x");
}

TEST(Redaction, finds_a_pattern_at_each_segment) {
  EXPECT_EQ(shown("/file/bot123:ABC/photos/a.jpg", kBot), "/file/bot…/photos/a.jpg");
  EXPECT_EQ(shown("/@telegram/bot123:ABC/getMe", kBot), "/@telegram/bot…/getMe") << "the form of a gateway";
  EXPECT_EQ(shown("/bot1/bot2/bot3", kBot), "/bot…/bot…/bot…");
}

TEST(Redaction, finds_text_in_all_its_spellings) {
  EXPECT_EQ(shown("/b%6ft123/x", kBot), "/b%6ft…/x");
  EXPECT_EQ(shown("/%42OT123/x", kBot), "/%42OT…/x");
  EXPECT_EQ(shown("//services///T0/B0", kServices), "//services///…");
  EXPECT_EQ(shown("%2Fservices%2fT0", kServices), "%2Fservices%2f…");
  EXPECT_EQ(shown("/services%5CT0", kServices), "/services%5C…");
  EXPECT_EQ(shown("/services\\T0", kServices), "/services\\…");
}

TEST(Redaction, takes_an_encoded_slash_for_a_part_of_the_secret) {
  EXPECT_EQ(shown("/bot123%2FABC/x", kBot), "/bot…/x");
  EXPECT_EQ(shown("/bot123%2FgetMe", kBot), "/bot…");
  EXPECT_EQ(shown("/bot//123/x", kBot), "/bot…/x") << "one character at least";
}

TEST(Redaction, takes_a_broken_escape_as_it_is) {
  EXPECT_EQ(shown("/bot%/x", kBot), "/bot…/x");
  EXPECT_EQ(shown("/%zzbot1/bot%4", kBot), "/%zzbot1/bot…");
}

TEST(Redaction, shows_nothing_of_a_path_that_servers_read_in_different_ways) {
  EXPECT_EQ(shown("/webhooks/1/../1/secret/x", kWebhooks), "/…");
  EXPECT_EQ(shown("/./services/T0", kServices), "/…");
  EXPECT_EQ(shown("/x/%2e%2e/y", kServices), "/…");
  EXPECT_EQ(shown("/x/../y", {}), "/x/../y");
}

TEST(Redaction, joins_what_several_patterns_hide) {
  EXPECT_EQ(shown("/a/b/c/d", {"/b/{}/", "/a/{}/"}), "/a/…/…/d");
  EXPECT_EQ(shown("/a/b/c/d", {"/c/{}", "/a/{}/c"}), "/a/…/c/…");
  EXPECT_EQ(shown("/a/b/c/d", {"/b/{}", "/a/{}"}), "/a/…");
  EXPECT_EQ(shown("/a/b/c/d", {"/{}/", "/{}"}), "/…");
}

TEST(Redaction, hides_all_that_follows_where_there_are_too_many) {
  std::string path;
  for (int i = 0; i < 40; ++i) path += "/bot" + std::to_string(1000 + i);
  const auto all = shown(path + "/x", kBot);
  EXPECT_EQ(all.find("10"), std::string::npos) << all;
}

TEST(Redaction, copies_only_what_it_changes) {
  std::string room;
  const std::string_view path = "/getMe";
  EXPECT_EQ(shown_path(path, kBot, room).data(), path.data());
  EXPECT_EQ(room, "");
}

TEST(Redaction, of_a_url_leaves_all_but_the_path) {
  EXPECT_EQ(shown_url("https://bot.test/bot1/x?bot2/#/bot3/", kBot), "https://bot.test/bot…/x?bot2/#/bot3/");
  EXPECT_EQ(shown_url("/@telegram/bot1/x", kBot), "/@telegram/bot…/x");
  EXPECT_EQ(shown_url("https://a.test", kBot), "https://a.test");
  EXPECT_EQ(shown_url("https://a.test?x=/bot1/", kBot), "https://a.test?x=/bot1/");
}

}  // namespace
}  // namespace penstock::http
