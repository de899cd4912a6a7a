// SPDX-License-Identifier: Apache-2.0
// Limits as the upstream sees them: nothing comes sooner than they allow, and what they allow is used.
#include <gmock/gmock.h>

#include "system/limited.h"

namespace penstock::trial {
namespace {

TEST(Rate, spreads_a_crowd_evenly) {
  Limited stage("rate: 20/s");
  stage.send(16);
  stage.expect_all_served();
  stage.expect_arrivals(16, [](int k) { return k * 51'100us; });
}

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
  EXPECT_THAT(reply.body, testing::HasSubstr("api limited by counter"));
  expect_refused_by(stage, "/refused", "counter");
  EXPECT_EQ(stage.daemon.metric("penstock_refusals_total", "kind=\"limit_refused\""), 1);
  ASSERT_LE(retry_after(reply), 2);
  ASSERT_TRUE(eventually([&] { return Clock::now() >= refused_at + std::chrono::seconds(retry_after(reply)); }));
  EXPECT_EQ(stage.fetch("/then").status, 200) << "the moment that it named was true";
}

TEST(Weight, costs_units_of_a_rate_and_is_not_forwarded) {
  Limited stage("limits: [ pacer: { qps: 10 } ]");
  EXPECT_EQ(stage.fetch("/1").status, 200);
  EXPECT_EQ(stage.fetch("/2", "Penstock-Weight: 4\r\n").status, 200);
  EXPECT_EQ(stage.fetch("/3").status, 200);
  stage.expect_arrivals(3, [](int k) { return std::vector{0ms, 100ms, 500ms}[static_cast<std::size_t>(k)]; });
  for (const auto& seen : stage.origin.seen()) EXPECT_FALSE(seen.fields.has("penstock-weight")) << seen.head;
}

TEST(Weight, of_a_request_is_one_permit) {
  Limited stage("limits: [ semaphore: { capacity: 2 } ]");
  stage.origin.otherwise(scripts::held());
  stage.send(2, "/", "Penstock-Weight: 7\r\n");
  EXPECT_TRUE(stage.origin.await(2));
  stage.origin.release_all();
  stage.expect_all_served();
}

}  // namespace
}  // namespace penstock::trial
