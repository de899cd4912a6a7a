// SPDX-License-Identifier: Apache-2.0
// Percent-encoding there and back, and what is none.
#include "base/percent.h"

#include <gtest/gtest.h>

namespace penstock::base {
namespace {

TEST(Percent, digits_of_either_case_are_decoded) {
  EXPECT_EQ(percent_decoded(""), "");
  EXPECT_EQ(percent_decoded("a%3A%2fb%25"), "a:/b%");
}

TEST(Percent, that_is_not_followed_by_two_digits_is_none) {
  for (const char* text : {"%", "a%", "%6", "%zz", "%6z", "%%41"})
    EXPECT_EQ(percent_decoded(text), std::nullopt) << text;
}

TEST(Percent, what_was_encoded_is_decoded_to_the_same) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(percent_decoded(percent_encoded(all)), all);
  EXPECT_EQ(percent_encoded("b.example:80"), "b.example:80");
  EXPECT_EQ(percent_encoded("mi ne&\xff"), "mi%20ne%26%FF");
}

}  // namespace
}  // namespace penstock::base
