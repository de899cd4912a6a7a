// SPDX-License-Identifier: Apache-2.0
// Members of a JSON object, and what is none.
#include "replay/json_object.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::replay {
namespace {

bool is_object(std::string_view line) {
  std::string room;
  JsonObject object(line, room);
  while (object.next()) continue;
  return object.whole();
}

/// The text of the member `a`.
std::string text_of(std::string_view line) {
  std::string room, text = "none";
  JsonObject object(line, room);
  while (object.next()) {
    if (object.key() == "a") text = object.text().value_or("no text");
  }
  return object.whole() ? text : "no object";
}

TEST(JsonObject, has_members_of_each_type) {
  std::string room;
  JsonObject object(R"( { "a" : "b", "n":-1.5e2 ,"t":true,"f":false,"z":null,"o":{"x":[1,{"y":[]}]} } )", room);
  ASSERT_TRUE(object.next());
  EXPECT_EQ(object.key(), "a");
  EXPECT_EQ(object.text(), "b");
  EXPECT_FALSE(object.number() || object.truth());
  ASSERT_TRUE(object.next());
  EXPECT_EQ(object.number(), -150.0);
  EXPECT_FALSE(object.text());
  ASSERT_TRUE(object.next());
  EXPECT_EQ(object.truth(), true);
  ASSERT_TRUE(object.next());
  EXPECT_EQ(object.truth(), false);
  ASSERT_TRUE(object.next());
  EXPECT_TRUE(object.is_null());
  ASSERT_TRUE(object.next());
  EXPECT_EQ(object.key(), "o");
  EXPECT_FALSE(object.text() || object.number() || object.truth() || object.is_null());
  EXPECT_FALSE(object.next());
  EXPECT_TRUE(object.whole());
}

TEST(JsonObject, undoes_escapes) {
  EXPECT_EQ(text_of(R"({"a":"\"\\\/\b\f\n\r\t"})"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(text_of(R"({"a":"\u0041\u00e9\u20AC\ud83d\ude00"})"), "A\u00e9\u20ac\U0001f600");
  EXPECT_EQ(text_of(R"({"\u0061":"x"})"), "x");
  EXPECT_EQ(text_of(R"({"b":"\u0041","a":"\n"})"), "\n");
}

TEST(JsonObject, tells_what_is_no_object) {
  for (const auto* line : {"",
                           "{",
                           "}",
                           "[]",
                           "1",
                           "{}x",
                           "{} {}",
                           R"({"a"})",
                           R"({"a":})",
                           R"({"a":1,})",
                           R"({,"a":1})",
                           R"({a:1})",
                           R"({"a":01})",
                           R"({"a":1.})",
                           R"({"a":.5})",
                           R"({"a":+1})",
                           R"({"a":1e})",
                           R"({"a":tru})",
                           R"({"a":"x)",
                           R"({"a":"\x"})",
                           R"({"a":"\u12"})",
                           R"({"a":"\ud800"})",
                           R"({"a":"\udc00"})",
                           R"({"a":[1,]})",
                           R"({"a":{"b"}})",
                           R"({"a":[})",
                           R"({"a":1 "b":2})",
                           "{\"a\":\"\x01\"}",
                           R"({"a":nan})",
                           R"({"a":-})"})
    EXPECT_FALSE(is_object(line)) << line;
  EXPECT_TRUE(is_object("{}"));
  EXPECT_TRUE(is_object("\t{ }\r"));
}

TEST(JsonObject, does_not_follow_nested_values_without_end) {
  const auto nested = [](int depth) {
    return R"({"a":)" + std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']') + "}";
  };
  EXPECT_TRUE(is_object(nested(JsonObject::kDeepest)));
  EXPECT_FALSE(is_object(nested(JsonObject::kDeepest + 1)));
  EXPECT_FALSE(is_object(std::string(R"({"a":)") + std::string(100'000, '[')));
}

}  // namespace
}  // namespace penstock::replay
