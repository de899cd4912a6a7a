// SPDX-License-Identifier: Apache-2.0
// What is known of our user's rights, and what is news.
#include "redis/client/rights.h"

#include <gtest/gtest.h>

namespace penstock::redis {
namespace {

constexpr const char* kNoChannel = "NOPERM No permissions to access a channel";

Refusals refusing(std::string_view command, std::string_view reply) {
  Refusals refused;
  EXPECT_TRUE(refused.note(command, reply));
  return refused;
}

TEST(Rights, allow_messages_until_something_is_refused) {
  Rights rights;
  EXPECT_TRUE(rights.messages_come());
  rights.tested(refusing("publish", kNoChannel));
  EXPECT_FALSE(rights.messages_come());
  EXPECT_FALSE(rights.messages_pass_the_test());
  rights.tested({});
  EXPECT_TRUE(rights.subscribe_failed(kNoChannel));
  EXPECT_FALSE(rights.messages_come());
  EXPECT_TRUE(rights.messages_pass_the_test()) << "the test does not subscribe";
}

TEST(Rights, are_no_news_before_both_connections_were_tried) {
  Rights rights;
  rights.tested(refusing("publish", kNoChannel));
  rights.messages_reported();
  EXPECT_FALSE(rights.take_news().refused);
  rights.subscribed();
  const auto news = rights.take_news();
  ASSERT_TRUE(news.refused);
  EXPECT_TRUE(news.refused->stop_messages());
  EXPECT_FALSE(news.messages_come) << "that was told";
}

TEST(Rights, are_news_once_each_way) {
  Rights rights;
  rights.messages_reported();
  rights.subscribe_failed(kNoChannel);
  EXPECT_EQ(rights.take_news().messages_come, false);
  EXPECT_EQ(rights.take_news().messages_come, std::nullopt);
  rights.subscribed();
  const auto news = rights.take_news();
  EXPECT_EQ(news.messages_come, true);
  ASSERT_TRUE(news.refused);
  EXPECT_TRUE(news.refused->none());
}

TEST(Rights, are_not_touched_by_another_failure_of_subscribe) {
  Rights rights;
  EXPECT_FALSE(rights.subscribe_failed("LOADING Redis is loading the dataset in memory"));
  EXPECT_TRUE(rights.messages_come());
}

}  // namespace
}  // namespace penstock::redis
