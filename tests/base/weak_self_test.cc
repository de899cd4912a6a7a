// SPDX-License-Identifier: Apache-2.0
// What a reference says of an owner that has gone.
#include "base/weak_self.h"

#include <gtest/gtest.h>

#include <memory>

namespace penstock::base {
namespace {

struct Owner {
  int value = 7;
  WeakSelf<Owner> self{this};
};

TEST(WeakSelf, is_null_when_its_owner_has_gone) {
  auto owner = std::make_unique<Owner>();
  const auto ref = owner->self.ref();
  ASSERT_TRUE(ref);
  EXPECT_EQ(ref->value, 7);
  owner.reset();
  EXPECT_FALSE(ref);
}

TEST(WeakSelf, is_null_when_its_owner_says_so) {
  Owner owner;
  const auto ref = owner.self.ref();
  owner.self.expire();
  EXPECT_FALSE(ref);
  EXPECT_FALSE(owner.self.ref());
}

}  // namespace
}  // namespace penstock::base
