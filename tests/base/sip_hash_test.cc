// SPDX-License-Identifier: Apache-2.0
// The values that its authors publish.
#include "base/sip_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::base {
namespace {

// https://github.com/veorq/SipHash, vectors.h: the key is the bytes 00 to 0f, the text the bytes 00 to length - 1.
TEST(SipHash, gives_the_values_of_its_authors) {
  constexpr SipKey kKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string text;
  for (char c = 0; c < 63; ++c) text += c;
  const auto of = [&](std::size_t length) { return sip_hash(kKey, std::string_view(text).substr(0, length)); };
  EXPECT_EQ(of(0), 0x726fdb47dd0e0e31);
  EXPECT_EQ(of(1), 0x74f839c593dc67fd);
  EXPECT_EQ(of(7), 0xab0200f58b01d137);
  EXPECT_EQ(of(8), 0x93f5f5799a932462);
  EXPECT_EQ(of(15), 0xa129ca6149be45e5);
}

}  // namespace
}  // namespace penstock::base
