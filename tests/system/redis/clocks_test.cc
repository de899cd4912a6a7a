// SPDX-License-Identifier: Apache-2.0
// Daemons on machines whose clocks are wrong: only that of Redis counts.
#include <gmock/gmock.h>

#include "system/bookings.h"
#include "system/clockwork.h"

namespace penstock::trial {
namespace {

using testing::Each;
using testing::Le;

TEST(WrongClocks, of_the_daemons_change_nothing_about_what_they_share) {
  const std::vector<int> clocks{-10, 0, 10};
  AtWork stage(patiently("pacer: { qps: 100 }\n- window: { reservoir: 30, interval: 500ms }"), clocks, 12);
  for (int i = 0; i < 4; ++i) stage.await_window(500ms, 30);
  stage.expect_all_served_in_their_time();

  EXPECT_THAT(stage.bookings.per_window(500ms), Each(Le(30u)));
  stage.bookings.expect_paced(100, 1);
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    EXPECT_NEAR(seconds_ahead(stage.daemons[i]), clocks[i], 4) << "the clock is wrong indeed";
    EXPECT_GT(stage.daemons[i].status("api").at("totals").at("dispatched"), stage.bookings.count() / 6)
        << "a third is its share";
  }
}

}  // namespace
}  // namespace penstock::trial
