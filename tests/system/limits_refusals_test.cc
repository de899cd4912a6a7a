// SPDX-License-Identifier: Apache-2.0
// Whom a limit turns away: in refuse mode, for a weight it can never allow, for a wait that would be too long. The
// limit is named, the time to come back is true, and nothing was spent.
#include <gmock/gmock.h>

#include <atomic>

#include "support/name_server.h"
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

TEST(RefuseMode, leaves_no_trace) {
  Limited stage(
      "maxConcurrent: 1, limits: [ counter: { max: 3, period: 2s, mode: refuse }, semaphore: { capacity: 1 } ]");
  EXPECT_EQ(stage.fetch("/served").status, 200);
  const auto begun = Clock::now();  // the period, at the latest
  for (int i = 0; i < 2; ++i) EXPECT_EQ(stage.fetch("/served").status, 200);
  for (int i = 0; i < 50 && Clock::now() < stage.start + 1s; ++i) EXPECT_EQ(stage.fetch("/refused").status, 429);
  EXPECT_EQ(stage.daemon.status("api").at("inFlight"), 0);
  EXPECT_EQ(stage.daemon.status("api").at("pending"), 0);
  std::this_thread::sleep_until(begun + 2s);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.fetch("/served").status, 200) << "refusals do not count";
  EXPECT_EQ(stage.arrivals().size(), 6u);
}

TEST(RefuseMode, of_a_group_refuses_this_group_alone) {
  Limited stage("group: \"path:/{team}\", limits: [ counter: { max: 1, period: 1m, mode: refuse, per: group } ]");
  EXPECT_EQ(stage.fetch("/red").status, 200);
  expect_limited(stage.fetch("/red"), 429, "counter");
  EXPECT_EQ(stage.fetch("/blue").status, 200);
  expect_limited(stage.fetch("/red"), 429, "counter");
  expect_limited(stage.fetch("/blue"), 429, "counter");
}

TEST(RefuseMode, refuses_whom_it_no_longer_allows_when_a_slot_comes_free) {
  Limited stage("maxConcurrent: 1, queue: { maxWait: 1h }, limits: [ counter: { max: 2, period: 1m, mode: refuse } ]");
  stage.origin.otherwise(scripts::held());
  stage.send(1);
  ASSERT_TRUE(stage.origin.await(1));
  stage.send_one("/second");
  Client& third = stage.send_one("/third");
  stage.origin.release_all();
  expect_limited(third.reply(), 429, "counter");
  EXPECT_EQ(stage.clients[1].reply().status, 200);
  expect_refused_by(stage, "/third", "counter");
}

TEST(RefuseMode, says_to_the_millisecond_when_to_come_back) {
  Limited stage("limits: [ counter: { max: 1, period: 1500ms, mode: refuse } ]");
  EXPECT_EQ(stage.fetch("/served").status, 200);
  const Reply reply = stage.fetch("/refused");
  const auto refused_at = Clock::now();
  expect_limited(reply, 429, "counter");
  const auto wait = retry_after_ms(reply);
  EXPECT_GT(wait, 0ms);
  EXPECT_LE(wait, 1501ms);
  EXPECT_EQ(retry_after(reply), std::chrono::ceil<std::chrono::seconds>(wait - 1ms).count());
  ASSERT_TRUE(eventually([&] { return Clock::now() >= refused_at + wait; }));
  EXPECT_EQ(stage.fetch("/then").status, 200);
}

TEST(RefuseMode, tells_the_truth_of_waits_of_many_hours_and_says_it_in_hours) {
  Limited stage("limits: [ counter: { max: 1, period: 14h, mode: refuse } ]");
  EXPECT_EQ(stage.fetch("/served").status, 200);
  const Reply reply = stage.fetch("/refused");
  expect_limited(reply, 429, "counter");
  EXPECT_THAT(retry_after(reply), testing::AllOf(testing::Gt(50'000), testing::Le(50'400)));
  EXPECT_THAT(reply.body, testing::AnyOf(HasSubstr("retry in 14h\n"), HasSubstr("retry in 13h 59m\n")));
}

TEST(RefuseMode, sends_nobody_away_for_more_than_a_week) {
  Limited stage("limits: [ counter: { max: 1, period: 30d, mode: refuse } ]");
  EXPECT_EQ(stage.fetch("/served").status, 200);
  EXPECT_EQ(retry_after(stage.fetch("/refused")), 7 * 86'400);
}

TEST(RefuseMode, tells_who_is_heavy_when_all_its_units_are_allowed) {
  Limited stage("limits: [ slidingWindow: { max: 5, interval: 1m, mode: refuse } ]");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.fetch("/served").status, 200);
  const Reply reply = stage.fetch("/refused", "Penstock-Weight: 3\r\n");
  expect_limited(reply, 429, "slidingWindow");
  EXPECT_GE(retry_after(reply), 60 - (Clock::now() - stage.start) / 1s) << "the first must be a minute ago";
}

/// A request counts in a sliding window from when it leaves, and its name is not yet known here.
TEST(RefuseMode, reckons_with_those_who_have_not_left_yet) {
  std::atomic<bool> told = false;
  test::NameServer names([&](const std::string&, std::uint16_t type) {
    eventually([&] { return told.load(); });
    return test::NameServer::Reply{.addresses = type == test::NameServer::kA ? Addresses{"127.0.0.1"} : Addresses{}};
  });
  Stage stage({.yaml = "dns: { servers: [\"" + names.address() +
                       "\"] }\n"
                       "upstreams:\n  api: { match: [slow.test], limits: [ slidingWindow: { max: 1, interval: 500ms, "
                       "mode: refuse } ] }\n"});
  const auto url = [&](std::string_view path) {
    return stage.origin.url_at("slow.test:" + std::to_string(stage.origin.port()), path);
  };
  const auto asked = Clock::now();
  Client first(stage.daemon.port());
  first.send(get(url("/first")));
  ASSERT_TRUE(eventually([&] { return names.asked_in_all() > 0; }));
  const Reply reply = stage.ask(get(url("/refused")));
  const auto refused_at = Clock::now();
  expect_limited(reply, 429, "slidingWindow");
  ASSERT_TRUE(eventually([&] { return Clock::now() >= refused_at + 100ms; }));
  told = true;
  EXPECT_EQ(first.reply().status, 200);
  ASSERT_TRUE(eventually([&] { return Clock::now() >= refused_at + retry_after_ms(reply); }));
  const int then = stage.ask(get(url("/then"))).status;
  if (stage.origin.seen().front().at - asked > 1s)  // by more than was reckoned with
    return test::say_not_judged(machine_late(asked), "the first took more than a second to leave");
  EXPECT_EQ(then, 200) << retry_after_ms(reply).count();
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

TEST(HopelessWait, behind_others_counts_them) {
  Limited stage("rate: 2/s");
  stage.send(1);
  for (int i = 0; i < 4; ++i) stage.send_one("/waits");
  const Reply reply = stage.fetch("/hopeless", "Penstock-Max-Wait: 1s\r\n");
  expect_limited(reply, 503, "pacer");
  EXPECT_GE(retry_after(reply), 2) << "it would be served 2.5 s after the first";
  EXPECT_LE(retry_after(reply), 3);
  stage.expect_all_served();
  stage.expect_arrivals(5, [](int k) { return k * 500ms; });
}

TEST(HopelessWait, of_a_lane_that_another_one_keeps_waiting_names_the_limit_too) {
  Limited stage("group: \"path:/{team}\", rate: 1/s");
  EXPECT_EQ(stage.fetch("/red").status, 200);
  stage.send_one("/red");
  expect_limited(stage.fetch("/blue", "Penstock-Max-Wait: 50ms\r\n"), 503, "pacer");
  expect_refused_by(stage, "/blue", "pacer");
  stage.expect_all_served();
}

TEST(HopelessWait, for_a_limit_of_the_group_names_it_and_is_the_group_s_alone) {
  Limited stage(
      "group: \"path:/{team}\", limits: [ pacer: { qps: 100 }, counter: { max: 1, period: 2s, per: group } ]");
  EXPECT_EQ(stage.fetch("/red").status, 200);
  const Reply reply = stage.fetch("/red", "Penstock-Max-Wait: 500ms\r\n");
  const auto refused_at = Clock::now();
  expect_limited(reply, 503, "counter");
  EXPECT_EQ(stage.fetch("/blue", "Penstock-Max-Wait: 500ms\r\n").status, 200);
  ASSERT_TRUE(eventually([&] { return Clock::now() >= refused_at + std::chrono::seconds(retry_after(reply)); }));
  EXPECT_EQ(stage.fetch("/red", "Penstock-Max-Wait: 500ms\r\n").status, 200);
}

TEST(HopelessWait, for_a_slot_names_slots_and_no_limit_that_made_others_wait_before) {
  Limited stage("maxConcurrent: 1, rate: 4/s");
  stage.send(2);
  stage.expect_all_served();
  EXPECT_THAT(stage.limited_by(2, "dispatch"), testing::ElementsAre("", "pacer"));
  ASSERT_TRUE(eventually([&] { return Clock::now() > stage.start + 1s; })) << "the rate is in nobody's way";
  stage.origin.otherwise(scripts::held());
  stage.send(1);
  ASSERT_TRUE(stage.origin.await(3));
  const Reply reply = stage.fetch("/no-slot", "Penstock-Max-Wait: 0s\r\n");
  expect_own_answer(reply, {503}, "connection_limit_reached");
  EXPECT_THAT(reply.field("proxy-status"), HasSubstr("(limited by slots)"));
  expect_refused_by(stage, "/no-slot", "maxConcurrent");
  stage.origin.release_all();
  stage.expect_all_served();
}

TEST(HopelessWait, for_a_permit_is_over_at_the_deadline_and_names_the_semaphore) {
  Limited stage("limits: [ semaphore: { capacity: 1, name: seats } ]");
  stage.origin.otherwise(scripts::held());
  stage.send(1);
  ASSERT_TRUE(stage.origin.await(1));
  const auto asked = Clock::now();
  expect_limited(stage.fetch("/hurried", "Penstock-Max-Wait: 200ms\r\n"), 503, "seats");
  EXPECT_GE(Clock::now() - asked, 200ms) << "nobody knows when a permit comes free";
  EXPECT_TRUE(within(200ms + kLate, asked));
  expect_limited(stage.fetch("/now", "Penstock-Max-Wait: 0s\r\n"), 503, "seats");
  expect_refused_by(stage, "/hurried", "seats");
  expect_refused_by(stage, "/now", "seats");
  stage.origin.release_all();
  stage.expect_all_served();
}

TEST(NobodyMayWait, so_a_limit_refuses_whom_it_does_not_allow_now) {
  for (const std::string queue : {"maxPending: 0", "maxWait: 0s"}) {
    SCOPED_TRACE(queue);
    Limited stage("limits: [ tokenBucket: { capacity: 2, refillAmount: 2, refillFrequency: 2s } ], queue: { " + queue +
                  " }");
    EXPECT_EQ(stage.fetch("/1").status, 200);
    EXPECT_EQ(stage.fetch("/2").status, 200);
    const auto empty = Clock::now();
    for (int i = 0; i < 5; ++i) expect_limited(stage.fetch("/refused"), 503, "tokenBucket");
    std::this_thread::sleep_until(empty + 2s);
    EXPECT_EQ(stage.fetch("/3").status, 200);
    EXPECT_EQ(stage.fetch("/4").status, 200) << "refusals have spent nothing";
    EXPECT_EQ(stage.arrivals().size(), 4u);
  }
}

TEST(FullQueue, of_those_who_wait_for_a_limit_says_honestly_when_it_will_have_room) {
  Limited stage("rate: 30/m, queue: { maxPending: 2 }");
  stage.send(1);
  for (int i = 0; i < 2; ++i) stage.send_one("/waits");
  const Reply reply = stage.fetch("/one-too-many");
  const auto asked = Clock::now();
  expect_limited(reply, 503, "pacer");
  const auto promised = asked + std::chrono::seconds(retry_after(reply));
  stage.expect_all_served();
  const auto last = stage.start + stage.arrivals().back();
  EXPECT_GE(promised, last) << "whoever comes back then finds the others gone";
  EXPECT_LE(promised, last + 2s + 1s + kLate + machine_late(stage.start)) << "and not much later";
}

TEST(ClientsThatLeave, while_a_limit_makes_them_wait_spend_nothing) {
  Limited stage("rate: 30/m");
  EXPECT_EQ(stage.fetch("/first").status, 200);
  for (int i = 0; i < 3; ++i) stage.send_one("/leaver");
  for (auto& leaver : stage.clients) leaver.reset();
  stage.clients.clear();
  EXPECT_THAT(stage.limited_by(3, "gone"), testing::ElementsAre("pacer", "pacer", "pacer"));
  EXPECT_EQ(stage.fetch("/stayer").status, 200);
  EXPECT_THAT(stage.arrivals("/leaver"), testing::IsEmpty());
  stage.expect_arrivals(
      1, [](int) { return 2s; }, "/stayer");
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
