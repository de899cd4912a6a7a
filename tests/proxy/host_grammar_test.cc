// SPDX-License-Identifier: Apache-2.0
// Hosts are read in two places, in requests (http) and in the configuration (access): what one takes the other takes
// too, and both know it by the same name afterwards. Otherwise a rule could name what nobody can ask for, or miss what
// somebody can.
#include <gtest/gtest.h>

#include "access/rule.h"
#include "http/target.h"

namespace penstock {
namespace {

void expect_read_alike(const std::string& text) {
  const auto asked = http::parse_authority(text);
  const auto configured = access::parse_name(text);
  ASSERT_EQ(asked.has_value(), configured.has_value()) << "'" << text << "'";
  if (!asked) return;
  ASSERT_EQ(asked->host, *configured) << "'" << text << "'";
}

void expect_all_read_alike(std::string& text, std::size_t longest) {
  expect_read_alike(text);
  if (text.size() == longest) return;
  for (const char c : std::string_view("aZ09x.-_*% \xc3")) {
    text.push_back(c);
    expect_all_read_alike(text, longest);
    text.pop_back();
  }
}

TEST(Host, is_the_same_in_a_request_and_in_the_configuration_whatever_it_consists_of) {
  std::string text;
  expect_all_read_alike(text, 5);
}

TEST(Host, is_the_same_in_a_request_and_in_the_configuration_at_its_limits) {
  const std::string longest(63, 'a');
  const std::string name = longest + "." + longest + "." + longest + "." + std::string(61, 'b');
  for (const auto& text : {longest, longest + "a", longest + ".b", "b." + longest, "b." + longest + "a",
                           longest + "a.b", name, name + ".", name + "b", name + "b.", name + "..", "." + name}) {
    expect_read_alike(text);
  }
  EXPECT_TRUE(access::parse_name(name));
}

TEST(Host, is_the_same_in_a_request_and_in_the_configuration_where_it_looks_like_an_address) {
  for (const char* text : {"1.2.3.4", "1.2.3.4.", "1.2.3.04", "1.2.3.256",  "1.2.3",   "1.2.3.4.5", "0x7f.1",
                           "a.0x7f",  "a.0X7F",   "a.0x",     "127.0.0.1a", "1.2.3.a", "a.1",       "a.1.",
                           "0",       "00.0.0.0", "999",      "1.2.3.4.a",  "1..2.3",  "0x",        "0x.a"}) {
    expect_read_alike(text);
  }
}

}  // namespace
}  // namespace penstock
