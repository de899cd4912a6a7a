// SPDX-License-Identifier: Apache-2.0
// Who is given a slot, and when it is free again.
#include "proxy/client/connection_quota.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace penstock::proxy {
namespace {

class ConnectionQuotaTest : public testing::Test {
 protected:
  /// Whether there was one, which is kept.
  bool take(const char* address) {
    auto slot = quota_->take(access::parse_address(address).value(), caps_);
    if (!slot) why_not_ = slot.error();
    if (slot) kept_.push_back(*std::move(slot));
    return slot.has_value();
  }

  CapsConfig caps_;
  std::optional<ConnectionQuota> quota_{std::in_place};
  std::vector<ConnectionQuota::Slot> kept_;
  std::optional<ConnectionQuota::Full> why_not_;
};

TEST_F(ConnectionQuotaTest, are_as_many_as_the_cap_says_whoever_comes) {
  caps_.connections = 2;
  EXPECT_TRUE(take("192.0.2.1"));
  EXPECT_TRUE(take("192.0.2.2"));
  EXPECT_FALSE(take("192.0.2.3"));
  EXPECT_EQ(why_not_, ConnectionQuota::Full::in_all);
  kept_.pop_back();
  EXPECT_TRUE(take("192.0.2.3"));
}

TEST_F(ConnectionQuotaTest, of_one_address_are_counted_by_themselves) {
  caps_.connections_per_client = 2;
  EXPECT_TRUE(take("192.0.2.1") && take("192.0.2.1"));
  EXPECT_FALSE(take("192.0.2.1"));
  EXPECT_EQ(why_not_, ConnectionQuota::Full::for_this_client);
  EXPECT_TRUE(take("192.0.2.2"));
  kept_.clear();
  EXPECT_TRUE(take("192.0.2.1") && take("192.0.2.1"));
}

TEST_F(ConnectionQuotaTest, of_all_addresses_of_a_v6_network_are_those_of_one_client) {
  caps_.connections_per_client = 2;
  EXPECT_TRUE(take("2001:db8:0:1::1") && take("2001:db8:0:1:ffff::2"));
  EXPECT_FALSE(take("2001:db8:0:1::3"));
  EXPECT_TRUE(take("2001:db8:0:2::1"));
  EXPECT_TRUE(take("::ffff:192.0.2.1") && take("::ffff:192.0.2.2") && take("::ffff:192.0.2.2"));
  EXPECT_FALSE(take("192.0.2.2")) << "the same address in other clothes";
}

TEST_F(ConnectionQuotaTest, of_one_client_know_of_one_sum_that_goes_with_the_last) {
  EXPECT_TRUE(take("192.0.2.1") && take("192.0.2.1") && take("192.0.2.2"));
  *ConnectionQuota::held_by(kept_[0]) += 7;
  EXPECT_EQ(*ConnectionQuota::held_by(kept_[1]), 7u);
  EXPECT_EQ(*ConnectionQuota::held_by(kept_[2]), 0u);
  kept_.clear();
  EXPECT_TRUE(take("192.0.2.1"));
  EXPECT_EQ(*ConnectionQuota::held_by(kept_[0]), 0u);
}

TEST_F(ConnectionQuotaTest, follow_a_lower_cap_as_they_become_free) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(take("192.0.2.1"));
  caps_.connections = 2;
  kept_.resize(2);
  EXPECT_FALSE(take("192.0.2.1"));
  kept_.resize(1);
  EXPECT_TRUE(take("192.0.2.1"));
}

TEST_F(ConnectionQuotaTest, at_the_door_are_few) {
  while (auto slot = quota_->take_at_the_door()) {
    kept_.push_back(std::move(slot));
    ASSERT_LE(kept_.size(), 256u);
  }
  EXPECT_EQ(kept_.size(), 256u);
  kept_.pop_back();
  EXPECT_NE(quota_->take_at_the_door(), nullptr);
}

TEST_F(ConnectionQuotaTest, may_outlive_what_counts_them) {
  EXPECT_TRUE(take("192.0.2.1"));
  quota_.reset();
  kept_.clear();
}

}  // namespace
}  // namespace penstock::proxy
