// SPDX-License-Identifier: Apache-2.0
// Names for texts.
#include "tls/digest.h"

#include <gtest/gtest.h>

namespace penstock::tls {
namespace {

TEST(Digest, is_the_first_half_of_sha_256) {
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223");  // as everybody computes it
  EXPECT_NE(digest("abd"), digest("abc"));
}

}  // namespace
}  // namespace penstock::tls
