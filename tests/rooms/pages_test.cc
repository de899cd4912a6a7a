// SPDX-License-Identifier: Apache-2.0
// docs/security.md names the tests that hold what it promises; and that this check can fail.
#include "rooms/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rooms/tree.h"

namespace penstock::rooms {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<File> kTests{
    {"tests/a/a_test.cc", "\nTEST(Gate, opens) {\n}\n\nTEST_P(Sluice,\n       closes_slowly) {}\n"},
    {"tests/b/b.py", ""}};

std::vector<File> page(std::string text) { return {{"docs/x.md", std::move(text)}}; }

TEST(MissingTests, a_test_a_suite_and_a_file_that_are_there_are_none) {
  EXPECT_THAT(
      missing_tests(page("`Gate.opens`, `Sluice.closes_slowly`\n`Sluice.*` in `tests/b/b.py` and `tests/a`"), kTests),
      IsEmpty());
}

TEST(MissingTests, others_are_told_with_their_line) {
  EXPECT_THAT(missing_tests(page("x\n`Gate.closes` `Weir.*`\n`tests/c` `tests/b/b`"), kTests),
              ElementsAre("docs/x.md:2: there is no Gate.closes", "docs/x.md:2: there is no Weir.*",
                          "docs/x.md:3: there is no tests/c", "docs/x.md:3: there is no tests/b/b"));
}

TEST(MissingTests, words_that_name_no_test_are_left_alone) {
  EXPECT_THAT(
      missing_tests(page("`caps.headerBytes` `Host` `HTTP/1.1` `Keep-Alive: max=1` `GET /a.b` ` unclosed"), kTests),
      IsEmpty());
}

TEST(SecurityPage, names_only_tests_that_exist) {
  auto pages = read_tree({"docs"});
  std::erase_if(pages, [](const File& page) { return page.path != "docs/security.md"; });
  ASSERT_EQ(pages.size(), 1u);
  const auto tests = read_tree({"tests"});
  std::string told;
  for (const auto& offence : missing_tests(pages, tests)) told += offence + "\n";
  EXPECT_EQ(told, "");
}

}  // namespace
}  // namespace penstock::rooms
