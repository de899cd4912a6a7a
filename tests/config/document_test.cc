// SPDX-License-Identifier: Apache-2.0
// The subset of YAML that is read, and the traps of the parser below it.
#include "config/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::config {
namespace {

std::string place(const Problem& problem) {
  return std::to_string(problem.line) + ":" + std::to_string(problem.column) + ": " + problem.message;
}

std::string syntax_error(std::string_view text) {
  const auto document = parse_document(text);
  return document ? "read" : place(document.error());
}

std::vector<std::string> problems(std::string_view text) {
  std::vector<std::string> all;
  const auto document = parse_document(text).value();
  for (const auto& problem : document.problems) all.push_back(place(problem));
  return all;
}

TEST(YamlText, becomes_a_tree_with_positions) {
  const auto document = parse_document("a: [1, 'x']\nb:\n  c: 010\n").value();
  EXPECT_TRUE(document.problems.empty());
  ASSERT_EQ(document.root.entries.size(), 2U);
  const auto& list = document.root.entries[0].value;
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[1].text, "x");
  EXPECT_TRUE(list.items[1].quoted);
  const auto& inner = document.root.entries[1].value.entries.at(0);
  EXPECT_EQ(inner.key.text, "c");
  EXPECT_EQ(inner.value.text, "010");
  EXPECT_EQ(inner.value.line, 3);
  EXPECT_EQ(inner.value.column, 6);
}

TEST(YamlText, may_be_empty_or_only_comments) {
  EXPECT_EQ(parse_document("").value().root.kind, Node::Kind::null);
  EXPECT_EQ(parse_document("# nothing\n").value().root.kind, Node::Kind::null);
}

TEST(YamlText, keeps_duplicate_keys_for_the_reader_to_name) {
  EXPECT_EQ(parse_document("a: 1\na: 2\n").value().root.entries.size(), 2U);
}

TEST(YamlText, may_begin_with_a_byte_order_mark) {
  const auto document = parse_document(
                            "\xef\xbb\xbf"
                            "a: 'b'\n")
                            .value();
  EXPECT_EQ(document.root.entries.at(0).value.column, 4);
}

TEST(YamlText, has_positions_with_windows_line_ends_too) {
  const auto document = parse_document("a: 1\r\nb: \"2\"\r\n").value();
  EXPECT_EQ(document.root.entries.at(1).value.line, 2);
  EXPECT_EQ(document.root.entries.at(1).value.text, "2");
}

TEST(YamlText, with_anchors_or_aliases_is_a_problem_at_each) {
  EXPECT_THAT(problems("a: &x 1\nb: *x\n"), testing::ElementsAre("1:4: anchors and aliases are not supported",
                                                                 "2:4: anchors and aliases are not supported"));
}

TEST(YamlText, that_refers_to_itself_is_read_without_end_being_needed) {
  EXPECT_EQ(problems("a: &x [*x]\n").size(), 2U);
}

TEST(YamlText, that_would_grow_without_bound_stays_small) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 20; ++i) {
    const std::string previous = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + previous + ", " + previous + "]\n";
  }
  EXPECT_EQ(problems(bomb).size(), 20U + 38U);
}

TEST(YamlText, with_tags_or_structured_keys_is_a_problem) {
  EXPECT_THAT(problems("a: !!str 1\n"), testing::ElementsAre("1:4: tags such as !!str are not supported"));
  EXPECT_THAT(problems("? [a, b]\n: 1\n"), testing::ElementsAre("1:3: a key must be a plain word"));
}

TEST(YamlText, has_one_document_only) {
  EXPECT_EQ(syntax_error("a: 1\n---\nb: 2\n"), "2:1: a second document is not supported");
}

TEST(YamlText, with_a_quote_that_is_never_closed_is_refused_where_it_opens) {
  EXPECT_EQ(syntax_error("a: 1\nb: \"x\nc: 2\n"), "2:4: this quote is never closed");
  EXPECT_EQ(syntax_error("a: 'it''s\n"), "1:4: this quote is never closed");
  EXPECT_EQ(syntax_error("a: \"x\\\"\n"), "1:4: this quote is never closed");
  EXPECT_EQ(syntax_error("a: 'it''s'\nb: \"\\\"\"\n"), "read");
}

TEST(YamlText, that_is_no_yaml_is_refused_with_a_hint_at_the_likely_slip) {
  EXPECT_THAT(syntax_error("a: [1\n"), testing::StartsWith("1:4: not YAML: this [ is never closed"));
  EXPECT_THAT(syntax_error("\ta: 1\n"), testing::HasSubstr("not with tabs"));
  EXPECT_THAT(syntax_error("match: *.a.com\n"), testing::HasSubstr("needs quotes"));
  EXPECT_THAT(syntax_error("a: { b: ${X} }\n"), testing::HasSubstr("\"${NAME}\" in quotes"));
}

TEST(YamlText, that_is_nested_too_deeply_or_too_long_is_refused) {
  EXPECT_THAT(syntax_error(std::string(20'000, '[')), testing::HasSubstr("nested too deeply"));
  EXPECT_THAT(syntax_error("a: [" + std::string(300'000, ',')), testing::StartsWith("1:"));
  EXPECT_THAT(syntax_error(std::string(1024 * 1024 + 1, '#')), testing::HasSubstr("larger than 1MiB"));
}

TEST(YamlText, that_is_not_utf8_or_has_control_characters_is_refused_at_the_byte) {
  EXPECT_EQ(syntax_error("a: 1\nb: \xff\n"), "2:4: the file is not UTF-8 here");
  for (const auto* bytes :
       {"\xc0\x80", "\xed\xa0\x80", "\xe0\x80\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xc3"}) {
    EXPECT_EQ(syntax_error(bytes), "1:1: the file is not UTF-8 here") << testing::PrintToString(bytes);
  }
  EXPECT_EQ(syntax_error(std::string("a: \0", 4)), "1:4: a control character stands here");
  EXPECT_EQ(syntax_error("a: ä€😀\n"), "read");
}

}  // namespace
}  // namespace penstock::config
