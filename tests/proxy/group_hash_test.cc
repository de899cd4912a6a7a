// SPDX-License-Identifier: Apache-2.0
// Digits that differ wherever they should.
#include "flow/group_hash.h"

#include <gtest/gtest.h>

namespace penstock::flow {
namespace {

std::string digits(const GroupHash& hash, std::string_view group) {
  const auto all = hash(group);
  return {all.data(), all.size()};
}

TEST(GroupHash, is_the_same_wherever_prefix_and_upstream_are) {
  EXPECT_EQ(digits(GroupHash("penstock", "github"), "a"), digits(GroupHash("penstock", "github"), "a"));
}

TEST(GroupHash, differs_by_group_upstream_and_prefix) {
  const auto here = digits(GroupHash("penstock", "github"), "a");
  EXPECT_NE(here, digits(GroupHash("penstock", "github"), "b"));
  EXPECT_NE(here, digits(GroupHash("penstock", "gitlab"), "a"));
  EXPECT_NE(here, digits(GroupHash("staging", "github"), "a"));
}

TEST(GroupHash, under_a_secret_differs_by_it_and_by_all_else) {
  const auto here = digits(GroupHash("penstock", "github", "a long secret"), "a");
  EXPECT_EQ(here, digits(GroupHash("penstock", "github", "a long secret"), "a"));
  EXPECT_NE(here, digits(GroupHash("penstock", "github", "another secret"), "a"));
  EXPECT_NE(here, digits(GroupHash("penstock", "github"), "a"));
  EXPECT_NE(here, digits(GroupHash("penstock", "github", "a long secret"), "b"));
  EXPECT_NE(here, digits(GroupHash("penstock", "gitlab", "a long secret"), "a"));
  EXPECT_NE(here, digits(GroupHash("staging", "github", "a long secret"), "a"));
}

TEST(GroupHash, is_written_as_sixteen_hexadecimal_digits) {
  for (int group = 0; group < 1000; ++group) {
    const auto text = digits(GroupHash("penstock", "github"), std::to_string(group));
    EXPECT_EQ(text.size(), 16u);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace penstock::flow
