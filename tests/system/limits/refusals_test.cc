// SPDX-License-Identifier: Apache-2.0
// Whom a limit turns away: in refuse mode, for a weight it can never allow, for a wait that would be too long. The
// limit is named, the time to come back is true, and nothing was spent.
#include <gmock/gmock.h>

#include "system/limited.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using Addresses = std::vector<std::string>;

/// The one event of a refusal names the limit, and nothing came to the origin.
void expect_refused_by(const Limited& stage, const std::string& path, const std::string& limit) {
  const auto events = stage.daemon.await_events(1, [&](const Json& event) { return event.at("path") == path; });
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("event"), "refused");
  EXPECT_EQ(events[0].value("limitedBy", ""), limit);
  EXPECT_THAT(stage.arrivals(path), testing::IsEmpty());
}

TEST(RefuseMode, answers_429_and_says_when_to_come_back) {
  Limited stage("limits: [ counter: { max: 2, period: 2s, mode: refuse } ]");
  EXPECT_EQ(stage.fetch("/1").status, 200);
  EXPECT_EQ(stage.fetch("/2").status, 200);
  const Reply reply = stage.fetch("/refused");
  const auto refused_at = Clock::now();
  expect_limited(reply, 429, "counter");
  EXPECT_THAT(reply.body, HasSubstr("api limited by counter"));
  expect_refused_by(stage, "/refused", "counter");
  EXPECT_EQ(stage.daemon.metric("penstock_refusals_total", "kind=\"limit_refused\""), 1);
  ASSERT_LE(retry_after(reply), 2);
  ASSERT_TRUE(eventually([&] { return Clock::now() >= refused_at + std::chrono::seconds(retry_after(reply)); }));
  EXPECT_EQ(stage.fetch("/then").status, 200) << "the moment that it named was true";
}

TEST(TooHeavy, a_weight_is_400_and_names_the_limit) {
  Limited stage(
      "limits: [ pacer: { qps: 1000 }, window: { reservoir: 10, interval: 1s }, tokenBucket: { capacity: 3, "
      "refillAmount: 1, "
      "refillFrequency: 1m } ]");
  const Reply reply = stage.fetch("/heavy", "Penstock-Weight: 4\r\n");
  expect_own_answer(reply, {400});
  EXPECT_THAT(reply.field("proxy-status"), HasSubstr("tokenBucket"));
  EXPECT_FALSE(reply.fields.has("retry-after")) << "it will never be allowed";
  expect_refused_by(stage, "/heavy", "tokenBucket");
  EXPECT_EQ(stage.daemon.metric("penstock_refusals_total", "kind=\"limit_too_heavy\""), 1);
  EXPECT_EQ(stage.fetch("/fits", "Penstock-Weight: 3\r\n").status, 200) << "nothing was spent";
}

TEST(HopelessWait, is_refused_at_once_and_spends_nothing) {
  Limited stage("rate: 20/m");
  EXPECT_EQ(stage.fetch("/1").status, 200);
  for (int i = 0; i < 20; ++i) {
    const auto asked = Clock::now();
    const Reply reply = stage.fetch("/hurried", "Penstock-Max-Wait: 1s\r\n");
    if (Clock::now() > stage.start + 1800ms) break;  // now it might be in time
    expect_limited(reply, 503, "pacer");
    EXPECT_THAT(retry_after(reply), testing::AllOf(testing::Ge(2), testing::Le(3)));
    EXPECT_TRUE(within(kLate, asked)) << "not at the deadline";
  }
  expect_limited(stage.fetch("/refused", "Penstock-Max-Wait: 1ms\r\n"), 503, "pacer");
  expect_refused_by(stage, "/refused", "pacer");
  EXPECT_EQ(stage.fetch("/2").status, 200);
  stage.expect_arrivals(
      1, [](int) { return 3s; }, "/2");
}

// A request that holds the only slot, and one whose time is over: the pacer, which would let it go at once, is not to
// blame. One that gets the slot says so, too.
TEST(Slots, are_named_by_whoever_waits_for_one_and_not_the_pacer) {
  Limited stage("maxConcurrent: 1, rate: 20/s, queue: { maxWait: 1s }");
  stage.origin.on("/held", scripts::held());
  stage.send_one("/held");
  stage.send_one("/over");
  const Reply over = stage.clients.back().reply();
  expect_limited(over, 503, "slots");
  EXPECT_THAT(over.body, HasSubstr("api queue wait over (limited by slots)"));
  expect_refused_by(stage, "/over", "maxConcurrent");
  Client& next = stage.send_one("/then");
  const auto waits = [&] { return stage.daemon.status("api").at("oldestWaitMs").get<double>() > 200; };
  ASSERT_TRUE(eventually(waits)) << "longer than the pacer could hold it";
  stage.origin.release();
  EXPECT_EQ(next.reply().status, 200);
  EXPECT_THAT(stage.limited_by(2, "dispatch"), testing::ElementsAre("", "maxConcurrent"));
  EXPECT_EQ(stage.daemon.metric("penstock_limit_waits_total", "limit=\"maxConcurrent\""), 2);
  EXPECT_EQ(stage.daemon.metric("penstock_limit_waits_total", "limit=\"pacer\""), 0);
}

}  // namespace
}  // namespace penstock::trial
