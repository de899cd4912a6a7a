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

TEST(Pacer, lets_a_burst_pass_and_paces_the_rest) {
  Limited stage("limits: [ pacer: { qps: 20, maxBurst: 5 } ]");
  stage.send(12);
  stage.expect_all_served();
  stage.expect_arrivals(12, [](int k) { return std::max(0, k - 5) * 50ms; });
}

/// The window of the wall clock in which a moment lies.
struct Windows {
  explicit Windows(Clock::duration length) : interval(length) {}
  Clock::duration wall(Moment at) const { return at.time_since_epoch() + ahead; }
  long index(Moment at) const { return wall(at) / interval; }
  Moment begin(long index) const { return Moment(index * interval - ahead); }
  /// Waits until the next one has begun, so that all which comes now falls into one.
  void await_begin() const { std::this_thread::sleep_until(begin(index(Clock::now()) + 1)); }

  const Clock::duration interval;
  const Clock::duration ahead = measured();

 private:
  /// Nobody may have held us up between the two.
  static Clock::duration measured() {
    for (;;) {
      const auto before = Clock::now();
      const auto wall = std::chrono::system_clock::now();
      if (Clock::now() - before < 20us) return wall.time_since_epoch() - before.time_since_epoch();
    }
  }
};

TEST(Window, carries_its_reservoir_and_the_rest_goes_to_the_next) {
  Limited stage("limits: [ window: { reservoir: 5, interval: 500ms } ]");
  const Windows windows(500ms);
  windows.await_begin();
  stage.begin();
  const auto first = windows.index(stage.start);
  stage.send(18);
  stage.expect_all_served();
  stage.expect_arrivals(
      18, [&](int k) { return std::max(Clock::duration::zero(), windows.begin(first + k / 5) - stage.start); });
}

TEST(SlidingWindow, looks_back_an_interval_from_every_moment) {
  Limited stage("limits: [ slidingWindow: { max: 4, interval: 300ms } ]");
  stage.send(14);
  stage.expect_all_served();
  stage.expect_arrivals(14, [](int k) { return k / 4 * 300ms; });
}

TEST(TokenBucket, starts_full_and_is_refilled) {
  Limited stage("limits: [ tokenBucket: { capacity: 5, refillAmount: 2, refillFrequency: 200ms } ]");
  stage.send(12);
  stage.expect_all_served();
  stage.expect_arrivals(12, [](int k) { return k < 5 ? 0ms : ((k - 5) / 2 + 1) * 200ms; });
}

TEST(Counter, lets_pass_its_maximum_from_reset_to_reset) {
  Limited stage("limits: [ counter: { max: 4, period: 300ms } ]");
  stage.send(11);
  stage.expect_all_served();
  stage.expect_arrivals(11, [](int k) { return k / 4 * 300ms; });
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
