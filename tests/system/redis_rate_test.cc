// SPDX-License-Identifier: Apache-2.0
// One rate for several daemons under full load: exact in what Redis granted, and used by all of them.
#include <gmock/gmock.h>

#include "system/bookings.h"

namespace penstock::trial {
namespace {

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

}  // namespace
}  // namespace penstock::trial
