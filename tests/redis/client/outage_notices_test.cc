// SPDX-License-Identifier: Apache-2.0
// How often people are told that Redis is down.
#include "redis/client/outage_notices.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace penstock::redis {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kSecondOfOutage = 1'000'000, kMinuteOfOutage = 60 * kSecondOfOutage;

const Failure kRefused{FailureKind::unreachable, "Connection refused"}, kLoading{FailureKind::loading, "LOADING"},
    kWrongPassword{FailureKind::noauth, "WRONGPASS"}, kReplica{FailureKind::readonly, "READONLY"},
    kExpired{.kind = FailureKind::unreachable, .text = "its certificate has expired", .of_tls = true};

std::string is_down(const Failure& why) { return "Redis at r1:6379 is down: " + why.text; }

class OutageNoticesTest : public testing::Test {
 protected:
  std::vector<std::string> told_;
  OutageNotices notices_{[this](const Notice& notice) { told_.push_back(notice.text); }, "r1:6379", 0};
};

TEST_F(OutageNoticesTest, tell_of_an_outage_once_however_long_it_lasts) {
  for (int i = 0; i < 10; ++i) notices_.down(i * kMinuteOfOutage, kRefused);
  notices_.up(10 * kMinuteOfOutage);
  EXPECT_THAT(told_, ElementsAre(is_down(kRefused), "Redis at r1:6379 is up again, after 600.0 s"));
}

TEST_F(OutageNoticesTest, tell_of_each_sequel_once_and_once_a_minute_at_most) {
  notices_.down(0, kRefused);
  notices_.down(kSecondOfOutage, kLoading);
  EXPECT_THAT(told_, ElementsAre(is_down(kRefused)));
  for (int i = 1; i < 10; ++i) {
    notices_.down(i * kMinuteOfOutage, kLoading);
    notices_.down(i * kMinuteOfOutage + 1, kRefused);
  }
  EXPECT_THAT(told_, ElementsAre(is_down(kRefused), is_down(kLoading)));
}

TEST_F(OutageNoticesTest, tell_of_another_cause_at_once_and_once) {
  notices_.down(0, kRefused);
  for (int i = 1; i < 200; ++i) {
    notices_.down(i * kSecondOfOutage, kWrongPassword);
    notices_.down(i * kSecondOfOutage + 1, kExpired);
    if (i == 1) {
      EXPECT_THAT(told_, ElementsAre(is_down(kRefused), is_down(kWrongPassword), is_down(kExpired)));
    }
    notices_.down(i * kSecondOfOutage + 2, kRefused);
  }
  EXPECT_EQ(told_.size(), 3U);
}

TEST_F(OutageNoticesTest, tell_of_one_cause_at_several_hosts_once) {
  for (int i = 0; i < 100; ++i) {
    const std::string host = "10.0.0." + std::to_string(i % 4);
    notices_.down(i * kSecondOfOutage,
                  {.kind = FailureKind::noauth, .text = host + ": WRONGPASS", .cause = "WRONGPASS"});
  }
  EXPECT_THAT(told_, ElementsAre("Redis at r1:6379 is down: 10.0.0.0: WRONGPASS"));
}

TEST_F(OutageNoticesTest, tell_of_many_causes_only_of_the_first) {
  for (int i = 0; i < 100; ++i) notices_.down(i * kSecondOfOutage, {FailureKind::error, "ERR " + std::to_string(i)});
  EXPECT_EQ(told_.size(), 8U);
}

/// Its outages have two causes by turns: neither is told each time.
TEST_F(OutageNoticesTest, of_one_that_comes_and_goes_stay_rare) {
  constexpr int kSeconds = 120;
  for (int i = 0; i < kSeconds; ++i) {
    notices_.down(i * kSecondOfOutage, i % 2 ? kReplica : kWrongPassword);
    notices_.up(i * kSecondOfOutage + kSecondOfOutage / 2);
    if (i == 1) {
      EXPECT_THAT(told_, testing::Contains(is_down(kReplica))) << "another cause, for the first time";
    }
  }
  EXPECT_LE(told_.size(), 2 * (2 + kSeconds / 10U)) << "with the line that it is up again";
}

TEST_F(OutageNoticesTest, tell_of_a_cause_in_the_next_outage_again) {
  notices_.down(0, kRefused);
  notices_.down(1, kWrongPassword);
  notices_.up(20 * kSecondOfOutage);
  notices_.down(30 * kSecondOfOutage, kRefused);
  told_.clear();
  for (int i = 31; i < 200; ++i) notices_.down(i * kSecondOfOutage, kWrongPassword);
  EXPECT_THAT(told_, ElementsAre(is_down(kWrongPassword)));
}

TEST_F(OutageNoticesTest, tell_of_the_next_outage_again) {
  notices_.down(0, kRefused);
  notices_.up(kMinuteOfOutage);
  notices_.down(2 * kMinuteOfOutage, kRefused);
  EXPECT_EQ(told_.size(), 3u);
}

}  // namespace
}  // namespace penstock::redis
