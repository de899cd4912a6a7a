// SPDX-License-Identifier: Apache-2.0
// Field sections: order, repetition, lists; and the grammar beneath.
#include "http/fields.h"

#include <gtest/gtest.h>

#include "http/grammar.h"

namespace penstock::http {
namespace {

TEST(Fields, keep_order_and_repetitions) {
  Fields fields;
  fields.add("A", "1");
  fields.add("B", "2");
  fields.add("a", "3");
  ASSERT_EQ(fields.size(), 3u);
  EXPECT_EQ(fields[0].name, "A");
  EXPECT_EQ(fields[1].value, "2");
  EXPECT_EQ(fields[2].name, "a");
  EXPECT_EQ(fields[2].value, "3");
  EXPECT_EQ(fields.count("A"), 2u);
}

TEST(Fields, find_the_first_line_whatever_its_case) {
  Fields fields;
  fields.add("Content-TYPE", "text/plain");
  fields.add("content-type", "text/html");
  EXPECT_EQ(fields.find("Content-Type"), "text/plain");
  EXPECT_EQ(fields.find("Content-Typ"), std::nullopt);
}

TEST(Fields, hold_empty_values) {
  Fields fields;
  fields.add("X-Empty", "");
  fields.add("Y", "y");
  EXPECT_EQ(fields.find("x-empty"), "");
  EXPECT_EQ(fields[1].value, "y");
}

TEST(Fields, look_for_tokens_in_all_lines_of_a_list) {
  Fields fields;
  fields.add("Connection", "keep-alive, Foo");
  fields.add("Connection", " ,bar ,");
  EXPECT_TRUE(fields.lists("connection", "foo"));
  EXPECT_TRUE(fields.lists("connection", "BAR"));
  EXPECT_FALSE(fields.lists("connection", "keep"));
  EXPECT_FALSE(fields.lists("upgrade", "foo"));
}

TEST(Fields, are_built_in_pieces_as_well) {
  Fields fields;
  fields.add("First", "1");
  fields.begin();
  fields.extend_name("Se");
  fields.extend_name("cond");
  fields.extend_value("a ");
  fields.extend_value("b \t ");
  fields.trim_value();
  fields.add("Third", "3");
  EXPECT_EQ(fields[1].name, "Second");
  EXPECT_EQ(fields[1].value, "a b");
  EXPECT_EQ(fields[2].value, "3");
}

TEST(Fields, trim_a_value_of_blanks_to_nothing_and_leave_the_name) {
  Fields fields;
  fields.begin();
  fields.extend_name("Name");
  fields.extend_value("  ");
  fields.trim_value();
  EXPECT_EQ(fields[0].name, "Name");
  EXPECT_EQ(fields[0].value, "");
}

TEST(Fields, take_about_as_much_memory_as_their_text_once_shrunk) {
  Fields fields;
  for (int i = 0; i < 8; ++i) fields.add("X-Field-Name", "a value of some 30 characters.");
  fields.shrink_to_fit();
  EXPECT_GE(fields.bytes(), 8u * 42);
  EXPECT_LE(fields.bytes(), 8u * (42 + 16) + 16);
}

TEST(Fields, are_empty_after_clear) {
  Fields fields;
  fields.add("A", "1");
  fields.clear();
  EXPECT_TRUE(fields.empty());
  EXPECT_EQ(fields.find("A"), std::nullopt);
}

TEST(Grammar, knows_tokens) {
  EXPECT_TRUE(is_token("M-SEARCH"));
  EXPECT_TRUE(is_token("!#$%&'*+-.^_`|~09azAZ"));
  for (const char* wrong : {"", "a b", "a(", "a:", "a\"", "caf\xe9", "a\x7f", "a/b"})
    EXPECT_FALSE(is_token(wrong)) << wrong;
}

TEST(Grammar, knows_what_a_field_value_may_hold) {
  EXPECT_TRUE(is_field_value("tab\there, caf\xc3\xa9 \"quoted\""));
  EXPECT_TRUE(is_field_value(""));
  for (const char c : {'\r', '\n', '\0', '\v', '\x7f', '\x1b'}) {
    EXPECT_FALSE(is_field_value(std::string("a") + c + "b")) << static_cast<int>(c);
  }
}

TEST(Grammar, reads_digits_up_to_2_63_minus_1_and_nothing_else) {
  EXPECT_EQ(parse_digits("0"), 0u);
  EXPECT_EQ(parse_digits("007"), 7u);
  EXPECT_EQ(parse_digits("9223372036854775807"), 9223372036854775807u);
  for (const char* wrong :
       {"", "9223372036854775808", "18446744073709551616", "+4", "-4", "0x4", "4_0", "4.0", "4e0", " 4", "4 "}) {
    EXPECT_EQ(parse_digits(wrong), std::nullopt) << wrong;
  }
}

TEST(Grammar, tells_names_of_a_set_from_others) {
  constexpr NameSet kSet({"te", "host", "keep-alive"});
  EXPECT_TRUE(kSet.contains("TE"));
  EXPECT_TRUE(kSet.contains("Keep-Alive"));
  for (const char* other : {"", "tx", "h", "hosts", "hose", "keep-alivf"}) EXPECT_FALSE(kSet.contains(other)) << other;
  EXPECT_FALSE(kSet.contains(std::string(500, 'h')));
}

}  // namespace
}  // namespace penstock::http
