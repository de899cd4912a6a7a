// SPDX-License-Identifier: Apache-2.0
// When it is said that processes differ in their limits, and that they do no more.
#include "redis/limits/agreement.h"

#include <gtest/gtest.h>

namespace penstock::redis {
namespace {

using News = Agreement::News;

class AgreementTest : public testing::Test {
 protected:
  /// A word each second for so long; the news of the last, and that there was none before.
  News hear(std::string_view other, int seconds) {
    News last = News::none;
    for (int i = 0; i < seconds; ++i, now_ += kHeardEvery) {
      EXPECT_EQ(last, News::none) << "after " << i << " s";
      last = agreement_.update(now_, other);
    }
    return last;
  }

  static constexpr flow::Time kHeardEvery = 1'000'000;
  Agreement agreement_;
  flow::Time now_ = kHeardEvery;
};

TEST_F(AgreementTest, is_not_missed_before_ten_seconds_have_passed) {
  EXPECT_EQ(hear("other", 10), News::none);
  EXPECT_FALSE(agreement_.differs(now_));
  EXPECT_EQ(hear("other", 1), News::differ);
  EXPECT_TRUE(agreement_.differs(now_));
}

TEST_F(AgreementTest, is_missed_once_and_is_back_once) {
  EXPECT_EQ(hear("other", 11), News::differ);
  EXPECT_EQ(hear("other", 60), News::none);
  EXPECT_EQ(hear("", 1), News::agree);
  EXPECT_FALSE(agreement_.differs(now_));
  EXPECT_EQ(hear("", 60), News::none);
}

/// As while a new configuration is rolled out, one process after the other.
TEST_F(AgreementTest, of_a_moment_ends_what_was_noticed_before) {
  EXPECT_EQ(hear("other", 9), News::none);
  EXPECT_EQ(hear("", 1), News::none);
  EXPECT_EQ(hear("other", 10), News::none);
  EXPECT_EQ(hear("other", 1), News::differ);
}

TEST_F(AgreementTest, is_not_judged_by_what_was_heard_before_a_long_silence) {
  EXPECT_EQ(hear("other", 5), News::none);
  now_ += 3600 * kHeardEvery;
  EXPECT_EQ(hear("other", 10), News::none);
  EXPECT_EQ(hear("other", 1), News::differ);
  now_ += 3600 * kHeardEvery;
  EXPECT_FALSE(agreement_.differs(now_)) << "no process uses the upstream";
  EXPECT_EQ(hear("", 1), News::agree);
}

}  // namespace
}  // namespace penstock::redis
