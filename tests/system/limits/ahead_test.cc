// SPDX-License-Identifier: Apache-2.0
// What /ahead says of a request, and when that request leaves.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "system/intercepted.h"
#include "system/limited.h"

namespace penstock::trial {
namespace {

TEST(Ahead, is_when_the_request_leaves_that_comes_next) {
  Limited stage("limits: [{ pacer: { qps: 10 } }], routes: [{ match: { path: /heavy }, weight: 5 }]");
  stage.send(20);
  ASSERT_TRUE(stage.daemon.await_pending("api", 10));
  const Moment asked = Clock::now();
  const Json ahead = Json::parse(stage.daemon.admin("/ahead?url=" + stage.url("/heavy/x")).body);
  const Moment told = Clock::now();
  stage.send_one("/heavy/x");
  stage.expect_all_served();
  const auto wait = std::chrono::microseconds(std::llround(ahead.at("waitMs").get<double>() * 1000));
  const auto seen = stage.origin.seen();
  const auto came = std::ranges::find(seen, "/heavy/x", &Seen::target);
  ASSERT_NE(came, seen.end());
  EXPECT_GT(wait, 500ms);
  EXPECT_GE(came->at, asked + wait - 50ms);
  EXPECT_TRUE(within(wait + 50ms, told, came->at)) << (came->at - told) / 1ms << " ms, told " << wait / 1ms;
  EXPECT_EQ(ahead.at("limitedBy"), "pacer");
  EXPECT_EQ(ahead.at("route"), "/heavy");
  EXPECT_GE(ahead.at("pending"), 10);
}

TEST(Ahead, is_no_event_and_no_request_in_the_metrics) {
  Limited stage("limits: [{ pacer: { qps: 10 } }]");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(stage.daemon.admin("/ahead?url=" + stage.url("/")).status, 200);
  stage.send_one("/");
  stage.expect_all_served();
  EXPECT_EQ(stage.daemon.await_events(1, "dispatch").size(), 1u);
  EXPECT_EQ(stage.daemon.metric("penstock_requests_total"), 1);
}

TEST(Ahead, of_what_would_be_refused_has_the_status_and_the_words_of_the_refusal) {
  Limited stage("limits: [{ slidingWindow: { max: 3, interval: 1m } }]");
  const Reply asked = stage.daemon.admin("/ahead?weight=4&url=" + stage.url("/"));
  const Reply sent = stage.fetch("/", "Penstock-Weight: 4\r\n");
  EXPECT_EQ(asked.status, sent.status);
  EXPECT_THAT(sent.body, testing::HasSubstr(asked.body.substr(0, asked.body.find('\n'))));
  EXPECT_EQ(stage.daemon.admin("/ahead?weight=x&url=" + stage.url("/")).status, 400);
  EXPECT_EQ(stage.daemon.admin("/ahead").status, 400);
}

/// An upstream whose tunnels are opened here, one departure an hour, and that is spent.
TEST(Ahead, of_an_https_url_that_is_intercepted_is_that_of_the_request_inside) {
  Intercepted stage({.settings = "queue: { maxWait: 24h }, limits: [{ pacer: { qps: 0.000278 } }], routes: [{ match: { "
                                 "path: /whole }, queue: { maxWait: 1s } }]"});
  EXPECT_EQ(stage.fetch("/first").status, 200);
  const Json any = Json::parse(stage.daemon.admin("/ahead?url=https://" + stage.at() + "/any").body),
             whole = Json::parse(stage.daemon.admin("/ahead?url=https://" + stage.at() + "/whole/x").body);
  EXPECT_TRUE(any.at("route").is_null());
  EXPECT_GT(any.at("waitMs"), 3'500'000);
  EXPECT_FALSE(any.contains("refused"));
  EXPECT_EQ(whole.at("route"), "/whole") << "a tunnel has none";
  EXPECT_NE(whole.at("refused"), "");
  const Reply met = stage.fetch("/whole/x");
  EXPECT_EQ(met.status, 503);
  EXPECT_THAT(met.body, testing::HasSubstr(whole.at("refused").get<std::string>()));
}

}  // namespace
}  // namespace penstock::trial
