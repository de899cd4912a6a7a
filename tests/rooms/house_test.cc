// SPDX-License-Identifier: Apache-2.0
// The rules of the house, held against every file in include/ and src/; those on form against tests/ and lab/ too. And
// docs/security.md names the tests that hold what it promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "rooms/pages.h"
#include "rooms/rules.h"
#include "rooms/tree.h"

namespace penstock::rooms {
namespace {

const std::vector<File>& house() {
  static const std::vector<File> files = read_tree({"include", "src"});
  return files;
}

/// The form of a file is the same for tests, and for the laboratory.
const std::vector<File>& all() {
  static const std::vector<File> files = read_tree({"include", "src", "tests", "lab"});
  return files;
}

std::string told(const Offences& offences) {
  std::string text;
  for (const auto& offence : offences) text += offence + "\n";
  return text;
}

TEST(House, was_read_whole) {
  const auto named = [](std::string_view path) {
    return std::ranges::any_of(house(), [&](const File& file) { return file.path == path && !file.text.empty(); });
  };
  EXPECT_TRUE(named("include/penstock/proxy.h"));
  EXPECT_TRUE(named("src/flow/scheduler.cc"));
  EXPECT_TRUE(named("src/flow/CMakeLists.txt"));
}

TEST(House, includes_only_what_the_plan_allows) { EXPECT_EQ(told(stray_includes(house())), ""); }
TEST(House, links_only_what_the_plan_allows) { EXPECT_EQ(told(stray_links(house())), ""); }
TEST(House, has_no_room_outside_the_plan) { EXPECT_EQ(told(unknown_rooms(house())), ""); }
TEST(House, files_begin_with_their_licence_and_say_what_they_are) { EXPECT_EQ(told(unnamed_files(all())), ""); }
TEST(House, files_have_fewer_than_500_lines) { EXPECT_EQ(told(long_files(all())), ""); }
TEST(House, functions_have_60_lines_at_most) { EXPECT_EQ(told(long_functions(all())), ""); }
TEST(House, names_say_something) { EXPECT_EQ(told(forbidden_names(house())), ""); }
TEST(House, files_include_each_other_in_no_circle) { EXPECT_EQ(told(include_circles(house())), ""); }
TEST(House, classes_have_25_members_35_methods_and_3_bools_at_most) {
  EXPECT_EQ(told(large_classes(house())), "");
  if (!std::getenv("PENSTOCK_FIGURES")) return;
  std::printf("members methods bools\n");
  for (const auto& [where, found] : classes_with_functions(house()) | std::views::take(10)) {
    const auto& [members, methods, bools] = found.figures;
    std::printf("%7zu %7zu %5zu  %s%s\n", members, methods, bools, where.c_str(), found.name.c_str());
  }
}

TEST(SecurityPage, names_only_tests_that_exist) {
  auto pages = read_tree({"docs"});
  std::erase_if(pages, [](const File& page) { return page.path != "docs/security.md"; });
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_EQ(told(missing_tests(pages, read_tree({"tests", "lab"}))), "");
}

}  // namespace
}  // namespace penstock::rooms
