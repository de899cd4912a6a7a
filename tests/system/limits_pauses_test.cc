// SPDX-License-Identifier: Apache-2.0
// Learned pauses: a 429 or 503 with Retry-After stops its upstream, or its group, for as long as it says. The answer
// itself passes as it came.
#include <gmock/gmock.h>

#include <ctime>

#include "system/limited.h"

namespace penstock::trial {
namespace {

using testing::ElementsAre;

struct Asked {
  int status;
  std::string lines;
  Clock::duration pause;
};
void PrintTo(const Asked& asked, std::ostream* out) { *out << asked.status << " " << shown(asked.lines); }

class Pause : public testing::TestWithParam<Asked> {};

TEST_P(Pause, that_an_answer_asks_for_is_kept_and_the_answer_is_untouched) {
  Limited stage("maxPause: 1500ms");
  const auto [status, lines, pause] = GetParam();
  stage.origin.on("/busy", scripts::answers(status, "come back later", lines));
  stage.begin();
  const Reply busy = stage.fetch("/busy");
  EXPECT_EQ(busy.status, status);
  EXPECT_EQ(busy.reason, "Said by the origin");
  EXPECT_EQ(busy.body, "come back later");
  EXPECT_THAT(busy.head, testing::HasSubstr("\r\n" + lines)) << "line for line";
  EXPECT_FALSE(busy.fields.has("proxy-status"));
  stage.send_at_once(3, "/next");
  stage.expect_all_served();
  stage.expect_arrivals(
      3, [pause = pause](int) { return pause; }, "/next");
  EXPECT_THAT(stage.limited_by(4, "dispatch"), ElementsAre("", "pause", "pause", "pause"));
}
INSTANTIATE_TEST_SUITE_P(
    Asked, Pause,
    testing::Values(
        Asked{429, "Retry-After: 1\r\n", 1s}, Asked{503, "Retry-After: 1\r\n", 1s},
        Asked{429, "Retry-After: 0.75\r\n", 750ms},
        Asked{503, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:38 GMT\r\n", 1s},
        Asked{429, "Retry-After: 86400\r\n", 1500ms},
        Asked{429, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Mon, 07 Nov 1994 08:49:37 GMT\r\n", 1500ms}));

class NoPause : public testing::TestWithParam<Asked> {};

TEST_P(NoPause, is_made_of_such_an_answer) {
  Limited stage("maxPause: 10s");
  const auto [status, lines, ignored] = GetParam();
  stage.origin.on("/busy", scripts::answers(status, "never mind", lines));
  EXPECT_EQ(stage.fetch("/busy").status, status);
  EXPECT_EQ(stage.fetch("/next", "Penstock-Max-Wait: 0s\r\n").status, 200);
}
INSTANTIATE_TEST_SUITE_P(
    Answers, NoPause,
    testing::Values(Asked{429, "", 0s}, Asked{200, "Retry-After: 9\r\n", 0s}, Asked{404, "Retry-After: 9\r\n", 0s},
                    Asked{500, "Retry-After: 9\r\n", 0s}, Asked{301, "Location: /x\r\nRetry-After: 9\r\n", 0s},
                    Asked{429, "Retry-After: 0\r\n", 0s}, Asked{429, "Retry-After: -9\r\n", 0s},
                    Asked{503, "Retry-After: soon\r\n", 0s}, Asked{429, "Retry-After: 9 seconds\r\n", 0s},
                    Asked{503, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:30 GMT\r\n",
                          0s}));

/// An HTTP-date.
std::string date(std::time_t when) {
  char text[40];
  std::tm utc;
  std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&when, &utc));
  return text;
}

TEST(Pauses, until_a_date_are_measured_on_our_clock_where_the_answer_has_none) {
  Limited stage("maxConcurrent: 5");
  const auto until = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()) + 2;
  stage.origin.on("/busy", scripts::answers(503, "", "Retry-After: " + date(until) + "\r\n"));
  EXPECT_EQ(stage.fetch("/busy").status, 503);
  EXPECT_EQ(stage.fetch("/next").status, 200);
  const auto wall = std::chrono::system_clock::now() - (Clock::now() - stage.origin.seen()[1].at);
  EXPECT_GE(wall, std::chrono::system_clock::from_time_t(until) - 1ms);
  const auto late = kLate + machine_late(stage.start);
  EXPECT_LE(wall, std::chrono::system_clock::from_time_t(until) + 1s + late) << "whole seconds, rounded either way";
}

TEST(Pauses, are_not_obeyed_where_the_file_says_so) {
  Limited stage("obey: off");
  stage.origin.on("/busy", scripts::answers(429, "", "Retry-After: 60\r\n"));
  const Reply busy = stage.fetch("/busy");
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.field("retry-after"), "60");
  EXPECT_EQ(stage.fetch("/next", "Penstock-Max-Wait: 0s\r\n").status, 200);
}

TEST(Pauses, are_obeyed_by_upstreams_that_no_entry_names) {
  Stage stage;
  Origin another;
  stage.origin.on("/busy", scripts::answers(503, "", "Retry-After: 1\r\n"));
  const auto start = Clock::now();
  EXPECT_EQ(stage.fetch("/busy").status, 503);
  EXPECT_EQ(stage.ask(get(another.url(), "Penstock-Max-Wait: 0s\r\n")).status, 200) << "each by itself";
  EXPECT_EQ(stage.fetch("/next").status, 200);
  EXPECT_GE(stage.origin.seen()[1].at - start, 1s);
  EXPECT_TRUE(within(1s + kLate, start, stage.origin.seen()[1].at));
}

TEST(Pauses, of_a_group_leave_the_other_groups_alone) {
  Limited stage("group: \"path:/{team}\"");
  stage.origin.on("/red", [](Visit& visit) {
    visit.read_body();
    const bool first = visit.request().fields.has("x-first");
    visit.answer(first ? 429 : 200, "", first ? "Retry-After: 1\r\n" : "");
  });
  stage.begin();
  EXPECT_EQ(stage.fetch("/red", "X-First: 1\r\n").status, 429);
  EXPECT_EQ(stage.fetch("/blue", "Penstock-Max-Wait: 0s\r\n").status, 200);
  stage.send(2, "/red");
  EXPECT_EQ(stage.fetch("/green", "Penstock-Max-Wait: 0s\r\n").status, 200);
  stage.expect_all_served();
  stage.expect_arrivals(
      3, [](int k) { return k == 0 ? 0s : 1s; }, "/red");
}

TEST(Pauses, hold_those_who_are_pending_already) {
  Limited stage("maxConcurrent: 1");
  stage.origin.on("/busy", [](Visit& visit) {
    visit.hold();
    visit.answer(429, "", "Retry-After: 1\r\n");
  });
  Client busy(stage.daemon.port());
  busy.send(get(stage.url("/busy")));
  ASSERT_TRUE(stage.origin.await(1));
  for (int i = 0; i < 3; ++i) stage.send_one("/next");
  const auto before = Clock::now() - stage.start;
  stage.origin.release();
  EXPECT_EQ(busy.reply().status, 429);
  stage.expect_all_served();
  stage.expect_arrivals(
      3, [&](int) { return before + 1s; }, "/next");
}

TEST(Pauses, are_not_shortened_by_a_later_answer) {
  Limited stage("maxConcurrent: 5");
  stage.origin.on("/long", scripts::answers(429, "", "Retry-After: 1\r\n"));
  stage.origin.on("/short", [](Visit& visit) {
    visit.hold();
    visit.answer(429, "", "Retry-After: 0.1\r\n");
  });
  Client second(stage.daemon.port());
  second.send(get(stage.url("/short")));
  ASSERT_TRUE(stage.origin.await(1));
  stage.begin();
  EXPECT_EQ(stage.fetch("/long").status, 429);
  stage.origin.release();
  EXPECT_EQ(second.reply().status, 429);
  EXPECT_EQ(stage.fetch("/next").status, 200);
  stage.expect_arrivals(
      1, [](int) { return 1s; }, "/next");
}

TEST(Pauses, that_last_too_long_for_a_request_refuse_it_at_once_and_truly_say_until_when) {
  Limited stage("maxConcurrent: 5");
  stage.origin.on("/busy", scripts::answers(429, "", "Retry-After: 2\r\n"));
  EXPECT_EQ(stage.fetch("/busy").status, 429);
  const Reply reply = stage.fetch("/hurried", "Penstock-Max-Wait: 300ms\r\n");
  const auto refused_at = Clock::now();
  expect_limited(reply, 503, "pause");
  EXPECT_LE(retry_after(reply), 2);
  EXPECT_THAT(stage.limited_by(1, "refused"), ElementsAre("pause"));
  ASSERT_TRUE(eventually([&] { return Clock::now() >= refused_at + std::chrono::seconds(retry_after(reply)); }));
  EXPECT_EQ(stage.fetch("/then", "Penstock-Max-Wait: 0s\r\n").status, 200);
}

TEST(Pauses, and_limits_of_the_file_both_hold) {
  Limited stage("rate: 5/s");
  stage.origin.on("/busy", scripts::answers(503, "", "Retry-After: 0.5\r\n"));
  EXPECT_EQ(stage.fetch("/busy").status, 503);
  stage.send_at_once(4, "/next");
  stage.expect_all_served();
  stage.expect_arrivals(
      4, [](int k) { return 500ms + k * 200ms; }, "/next");
  EXPECT_THAT(stage.limited_by(5, "dispatch"), ElementsAre("", "pause", "pacer", "pacer", "pacer"));
}

// One that says nothing of itself, and is refused, must not stop everybody for as long as the answer likes.
TEST(Pauses, that_a_request_without_credentials_drew_hold_such_requests_alone) {
  Limited stage("maxConcurrent: 1");
  const std::string mine = "Authorization: Bearer of-mine\r\nPenstock-Max-Wait: 0s\r\n";
  stage.origin.on("/busy", scripts::answers(429, "later", "Retry-After: 2\r\n"));
  stage.begin();
  EXPECT_EQ(stage.fetch("/busy").status, 429);
  stage.send_one("/anonymous/1");
  stage.send_one("/anonymous/2");
  EXPECT_EQ(stage.fetch("/mine", mine).status, 200) << "nobody waits behind those that are paused";
  const Reply hasty = stage.fetch("/anonymous/hasty", "Penstock-Max-Wait: 500ms\r\n");
  expect_limited(hasty, 503, "pause");
  EXPECT_LE(retry_after(hasty), 2);
  EXPECT_EQ(stage.fetch("/mine", mine).status, 200);
  EXPECT_TRUE(within(2s, stage.start)) << "the pause is not over yet";
  stage.expect_all_served();
  stage.expect_arrivals(
      2, [](int) { return 2s; }, "/anonymous");
  EXPECT_THAT(stage.limited_by(5, "dispatch"), ElementsAre("", "", "", "pause", "pause"));
}

TEST(Pauses, that_a_request_with_credentials_drew_hold_everybody) {
  Limited stage("maxConcurrent: 5");
  stage.origin.on("/busy", scripts::answers(429, "later", "Retry-After: 60\r\n"));
  EXPECT_EQ(stage.fetch("/busy", "Cookie: session=1\r\n").status, 429);
  expect_limited(stage.fetch("/next", "Penstock-Max-Wait: 1s\r\n"), 503, "pause");
  expect_limited(stage.fetch("/next", "X-Api-Key: k\r\nPenstock-Max-Wait: 1s\r\n"), 503, "pause");
}

}  // namespace
}  // namespace penstock::trial
