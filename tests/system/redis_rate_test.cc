// SPDX-License-Identifier: Apache-2.0
// One rate for several daemons under full load: exact in what Redis granted, and used by all of them.
#include <gmock/gmock.h>

#include "support/machine.h"
#include "system/bookings.h"

namespace penstock::trial {
namespace {

using testing::Each;
using testing::Ge;

std::vector<int> dispatched(AtWork& stage) {
  std::vector<int> counts;
  for (const auto& daemon : stage.daemons) counts.push_back(daemon.status("api").at("totals").at("dispatched"));
  return counts;
}

TEST(SharedRate, of_four_daemons_is_kept_to_the_departure_and_everyone_has_a_part) {
  constexpr std::size_t kMany = 300;
  AtWork stage(patiently("pacer: { qps: 100 }"), {0, 0, 0, 0}, 8);
  ASSERT_TRUE(stage.bookings.await(stage.bookings.count() + kMany));
  stage.expect_all_served_in_their_time();
  stage.bookings.expect_paced(100, 1);
  for (const auto& daemon : stage.daemons)
    EXPECT_GT(daemon.status("api").at("totals").at("dispatched"), stage.bookings.count() / 10)
        << "a quarter is its share";
}

TEST(SharedRate, with_a_burst_that_is_spent_is_used_by_three_daemons_in_equal_shares) {
  constexpr std::size_t kBurst = 200, kMany = 400;
  AtWork stage(patiently("pacer: { qps: 200, maxBurst: 200 }"), {0, 0, 0}, 30);
  ASSERT_TRUE(stage.bookings.await(kBurst + 50));
  const auto before = dispatched(stage);
  const auto since = Clock::now();
  ASSERT_TRUE(stage.bookings.await(stage.bookings.count() + kMany));
  EXPECT_TRUE(test::within(2'300ms, since)) << "two seconds' worth";
  auto shares = dispatched(stage);
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] -= before[i];
  EXPECT_THAT(shares, Each(Ge(static_cast<int>(kMany) / 4))) << "a third is its share";
  stage.expect_all_served_in_their_time();
  stage.bookings.expect_paced(200, kBurst + 1);
}

}  // namespace
}  // namespace penstock::trial
