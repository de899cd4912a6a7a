// SPDX-License-Identifier: Apache-2.0
// Each kind of limit as the upstream sees it: nothing comes sooner than it allows, and what it allows is used.
#include <gmock/gmock.h>

#include "system/limited.h"

namespace penstock::trial {
namespace {

TEST(Rate, spreads_a_crowd_evenly) {
  Limited stage("rate: 20/s");
  stage.send(16);
  stage.expect_all_served();
  stage.expect_arrivals(16, [](int k) { return k * 50ms; });
}

TEST(Rate, counts_every_method) {
  Limited stage("rate: 4/s");
  const std::string lines = " HTTP/1.1\r\nHost: " + stage.origin.host() + "\r\n\r\n";
  EXPECT_EQ(stage.ask("HEAD " + stage.url() + lines, true).status, 200);
  EXPECT_EQ(stage.ask("OPTIONS " + stage.url() + lines).status, 200);
  EXPECT_EQ(stage.ask("TRACE " + stage.url() + lines).status, 200);
  EXPECT_EQ(stage.ask(with_body("POST", stage.url(), "charge=1")).status, 200);
  stage.expect_arrivals(4, [](int k) { return k * 250ms; });
}

TEST(Rate, is_kept_for_each_unmatched_host_by_itself) {
  Stage stage({.yaml = "upstreams: { \"*\": { rate: 5/s } }\n"});
  Origin another;
  std::deque<Client> clients;
  const auto start = Clock::now();
  stage.daemon.signal(SIGSTOP);  // they wait in the kernel: no stall of ours lies between them
  for (int i = 0; i < 8; ++i)
    clients.emplace_back(stage.daemon.port()).send(get(i % 2 ? another.url() : stage.origin.url()));
  stage.daemon.signal(SIGCONT);
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
  for (const Origin* origin : {&stage.origin, &another}) {
    const auto seen = origin->seen();
    ASSERT_EQ(seen.size(), 4u);
    for (int k = 0; k < 4; ++k) {
      EXPECT_GE(seen[k].at - start, k * 200ms) << k;
      EXPECT_TRUE(within(k * 200ms + kLate, start, seen[k].at)) << k;
    }
  }
  const auto waited = stage.daemon.await_events(8, "dispatch");
  EXPECT_EQ(std::ranges::count_if(waited, [](const Json& event) { return event.value("limitedBy", "") == "pacer"; }),
            6);
}

TEST(Limits, of_two_kinds_decide_together_and_the_one_in_the_way_is_named) {
  Limited stage(
      "limits: [ pacer: { qps: 10 }, tokenBucket: { capacity: 3, refillAmount: 3, refillFrequency: 1s, name: credits } "
      "]");
  stage.send_at_once(9);
  stage.expect_all_served();
  stage.expect_arrivals(9, [](int k) { return k / 3 * 1s + k % 3 * 100ms; });
  // One that the machine let go late may find another limit in its way than the one that it came for.
  const auto came = stage.arrivals();
  std::vector<testing::Matcher<std::string>> names;
  for (int k = 0; k < 9; ++k) {
    const bool in_time = k == 0 || came[k] - came[0] < k / 3 * 1s + k % 3 * 100ms + 50ms;
    const char* due = k == 0 ? "" : k % 3 == 0 ? "credits" : "pacer";
    names.push_back(in_time ? testing::Matcher<std::string>(due) : testing::AnyOf("credits", "pacer"));
  }
  EXPECT_THAT(stage.limited_by(9, "dispatch"), testing::ElementsAreArray(names));
  EXPECT_THAT(stage.limited_by(9, "complete"), testing::UnorderedElementsAreArray(names)) << "told again at the end";
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
  Limited stage("rate: 10/s");
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
