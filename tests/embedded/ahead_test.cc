// SPDX-License-Identifier: Apache-2.0
// When a request would leave, asked in-process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stage.h"

namespace embedding {
namespace {

using namespace std::chrono_literals;
using penstock::Proxy;
using testing::HasSubstr;

/// A permit each hour.
penstock::Config hourly() {
  auto config = quiet();
  auto& db = config.upstreams.emplace_back();
  db.name = "db";
  db.permits = true;
  db.settings.queue.max_wait = 24h;
  db.settings.limits = {{.kind = penstock::PacerConfig{.qps = 1.0 / 3600}}};
  return config;
}

TEST(Ahead, says_what_is_waited_for_and_for_how_long) {
  Proxy proxy(hourly());
  ASSERT_TRUE(proxy.start());
  const auto now = proxy.ahead({.url = "/@db"});
  ASSERT_TRUE(now) << now.error().message;
  EXPECT_EQ(now->upstream, "db");
  EXPECT_TRUE(now->permit);
  EXPECT_EQ(now->wait, 0s);
  EXPECT_EQ(now->limited_by, "");
  const auto permit = proxy.acquire("db");
  ASSERT_TRUE(permit) << permit.error().message;
  const auto next = proxy.ahead({.url = "/@db"});
  ASSERT_TRUE(next) << next.error().message;
  ASSERT_TRUE(next->wait);
  EXPECT_GT(*next->wait, 59min);
  EXPECT_LE(*next->wait, 1h);
  EXPECT_EQ(next->limited_by, "pacer");
  EXPECT_EQ(next->refused, "");
  EXPECT_EQ(proxy.snapshot().upstreams.front().totals.dispatched, 1u) << "nothing is spent by asking";
}

TEST(Ahead, says_what_the_request_would_be_told) {
  Proxy proxy(hourly());
  ASSERT_TRUE(proxy.start());
  const auto unknown = proxy.ahead({.url = "/@other"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().status, 404);
  const auto same = proxy.acquire("other");
  ASSERT_FALSE(same);
  EXPECT_EQ(unknown.error().message, same.error().message);
  EXPECT_EQ(proxy.ahead({.url = "nonsense"}).error().status, 400);
  EXPECT_EQ(proxy.ahead({.url = "/@db", .weight = 0}).error().status, 400);
}

TEST(Ahead, makes_no_upstream_of_a_host_that_is_only_asked_about) {
  Proxy proxy(quiet());
  ASSERT_TRUE(proxy.start());
  const auto ahead = proxy.ahead({.url = "http://a.example/"});
  ASSERT_TRUE(ahead) << ahead.error().message;
  EXPECT_EQ(ahead->upstream, "a.example:80");
  EXPECT_FALSE(ahead->permit);
  EXPECT_EQ(ahead->wait, 0s);
  EXPECT_TRUE(proxy.snapshot().upstreams.empty());
}

TEST(Ahead, of_a_proxy_that_does_not_run_says_so) {
  Proxy proxy(hourly());
  EXPECT_EQ(proxy.ahead({.url = "/@db"}).error().status, 0);
  EXPECT_THAT(proxy.ahead({.url = "/@db"}).error().message, HasSubstr("not running"));
}

}  // namespace
}  // namespace embedding
