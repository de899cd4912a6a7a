// SPDX-License-Identifier: Apache-2.0
// When Redis is asked for pauses, because messages may have been lost.
#include "redis/limits/missed_pauses.h"

#include <gtest/gtest.h>

namespace penstock::redis {
namespace {

TEST(MissedPauses, are_asked_for_once_when_messages_arrive_again) {
  MissedPauses pauses;
  EXPECT_FALSE(pauses.ask(5)) << "none was missed";
  EXPECT_FALSE(pauses.set_subscribed(false));
  EXPECT_FALSE(pauses.ask(6)) << "as long as none arrives, no lane starts anyway";
  EXPECT_TRUE(pauses.set_subscribed(true));
  EXPECT_FALSE(pauses.set_subscribed(true)) << "they did already";
  EXPECT_TRUE(pauses.ask(10));
  EXPECT_FALSE(pauses.ask(11));
  EXPECT_TRUE(pauses.asked());
}

TEST(MissedPauses, are_known_when_a_call_is_answered_that_was_sent_since) {
  MissedPauses pauses;
  pauses.redis_back();
  ASSERT_TRUE(pauses.ask(10));
  pauses.answered(9);
  EXPECT_TRUE(pauses.asked());
  pauses.answered(10);
  EXPECT_FALSE(pauses.asked());
}

}  // namespace
}  // namespace penstock::redis
