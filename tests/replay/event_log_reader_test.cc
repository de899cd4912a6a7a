// SPDX-License-Identifier: Apache-2.0
// Lines become requests: joined by id in whatever order, bad ones counted, all of them within bounds.
#include "replay/event_log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <utility>

#include "http/refusal.h"
#include "replay/log_lines.h"

namespace penstock::replay {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> bad_lines(const RequestLog& log) {
  std::vector<std::uint64_t> lines;
  for (const auto& bad : log.first_bad_lines) lines.push_back(bad.line);
  return lines;
}

TEST(EventLogReader, joins_the_lines_of_a_request) {
  const ReadLog read(sent("a", kSecond, 30 * kMillisecond, 40 * kMillisecond, R"("weight":3)"));
  ASSERT_EQ(read.log.size(), 1U);
  const auto& request = read.log[0];
  EXPECT_EQ(request.arrived, kMorning + kSecond);
  EXPECT_EQ(request.wait, 30 * kMillisecond);
  EXPECT_EQ(request.flight, 40 * kMillisecond);
  EXPECT_EQ(request.weight, 3);
  EXPECT_EQ(request.fate, Fate::sent);
  EXPECT_EQ(read.log.events, 2U);
  EXPECT_EQ(read.log.bad_lines, 0U);
}

TEST(EventLogReader, joins_them_in_any_order) {
  const auto take_off = line("dispatch", "a", 50'000, wait_of(50'000));
  const auto end = line("complete", "a", 90'000, wait_of(50'000) + R"(,"flightMs":40.000,"status":200)");
  const ReadLog forth(take_off + end), back(end + take_off), end_alone(end);
  for (const auto* log : {&forth.log, &back.log, &end_alone.log}) {
    ASSERT_EQ(log->size(), 1U);
    EXPECT_EQ((*log)[0].arrived, kMorning);
    EXPECT_EQ((*log)[0].wait, 50'000);
    EXPECT_EQ((*log)[0].flight, 40'000);
  }
}

// Waits 10 ms, flies 20, waits 30 more, flies 40: waitMs of the end has both waits, flightMs the last flight.
TEST(EventLogReader, takes_the_mean_flight_of_a_request_that_was_sent_again) {
  const auto take_off = line("dispatch", "a", 10'000, wait_of(10'000));
  const auto end = line("complete", "a", 100'000, wait_of(40'000) + R"(,"flightMs":40.000,"status":200,"attempts":2)");
  const ReadLog forth(take_off + end), back(end + take_off);
  for (const auto* log : {&forth.log, &back.log}) {
    ASSERT_EQ(log->size(), 1U);
    EXPECT_EQ((*log)[0].arrived, kMorning);
    EXPECT_EQ((*log)[0].wait, 10'000);
    EXPECT_EQ((*log)[0].flight, 30'000);
    EXPECT_EQ((*log)[0].attempts, 2);
  }
}

TEST(EventLogReader, knows_why_a_request_was_refused) {
  const auto refused = [](const std::string& more) {
    const ReadLog read(line("refused", "a", kSecond, more));
    return read.log.size() == 1 ? read.log[0].fate : Fate::sent;
  };
  // Its kind alone counts: sentences may change.
  EXPECT_EQ(refused(R"("status":503,"refusal":"queue_full","detail":"whatever")"), Fate::queue_full);
  EXPECT_EQ(refused(R"("status":503,"refusal":"wait_over","detail":"api queue full")"), Fate::wait_over);
  EXPECT_EQ(refused(R"("status":403,"refusal":"destination_denied")"), Fate::other);
  EXPECT_EQ(refused(R"("status":503,"refusal":"sent")"), Fate::other);
}

TEST(EventLogReader, counts_refusals_that_lack_their_kind) {
  const ReadLog read(line("refused", "a", kSecond, R"("status":503)") + queue_full("b", kSecond));
  EXPECT_EQ(read.log[0].fate, Fate::other);
  EXPECT_EQ(read.log.refused_without_kind, 1);
}

TEST(EventLogReader, knows_refusals_by_the_kinds_that_the_proxy_has) {
  using enum http::Reason;
  constexpr std::pair<http::Reason, Fate> kKinds[]{{queue_full, Fate::queue_full},
                                                   {wait_over, Fate::wait_over},
                                                   {limit_refused, Fate::limit_refused},
                                                   {limit_too_heavy, Fate::limit_too_heavy},
                                                   {limiter_down, Fate::limiter_down},
                                                   {pending_memory, Fate::pending_memory},
                                                   {unreachable, Fate::unreachable},
                                                   {draining, Fate::draining},
                                                   {destination_unnamed, Fate::destination_unnamed}};
  for (const auto& [reason, fate] : kKinds) EXPECT_EQ(name_of(fate), http::wording(reason).kind);
  EXPECT_EQ(std::size(kKinds), kFateNames.size() - 3) << "but for sent, gone and other, each is one of the proxy's";
}

TEST(EventLogReader, knows_who_left_the_queue_from_what_never_stood_in_it) {
  const ReadLog left(line("gone", "a", kSecond, wait_of(kSecond / 2)));
  EXPECT_EQ(left.log[0].fate, Fate::gone);
  EXPECT_EQ(left.log[0].arrived, kMorning + kSecond / 2);
  const ReadLog handshake(line("gone", "a", kSecond, R"("tunnel":true,"error":"tls_alert_received")"));
  EXPECT_EQ(handshake.log[0].fate, Fate::other);
}

TEST(EventLogReader, takes_nothing_said_twice) {
  const auto twice = [](const std::string& first, const std::string& second) {
    const ReadLog read(first + second);
    return read.log.size() == 1 && read.log.bad_lines == 1 && bad_lines(read.log) == std::vector<std::uint64_t>{2};
  };
  const auto dispatch = line("dispatch", "a", 0, wait_of(0)), complete = line("complete", "a", 0, wait_of(0));
  const auto gone = line("gone", "a", 0, wait_of(0));
  EXPECT_TRUE(twice(dispatch, dispatch));
  EXPECT_TRUE(twice(complete, complete));
  EXPECT_TRUE(twice(gone, gone));
  EXPECT_TRUE(twice(gone, dispatch));
  EXPECT_TRUE(twice(gone, complete));
  EXPECT_TRUE(twice(dispatch, gone));
  EXPECT_TRUE(twice(dispatch, queue_full("a", 0)));
}

TEST(EventLogReader, counts_bad_lines_and_tells_the_first_ten) {
  std::string text = sent("a", 0, 0, 0) + "\n \r\n";
  for (int i = 0; i < 12; ++i) text += "{\"ts\":1}\n";
  const ReadLog read(text + sent("b", 0, 0, 0));
  EXPECT_EQ(read.log.bad_lines, 12U);
  EXPECT_THAT(bad_lines(read.log), ElementsAre(5, 6, 7, 8, 9, 10, 11, 12, 13, 14));
  EXPECT_EQ(read.log.first_bad_lines.front().file, "events.jsonl");
  EXPECT_EQ(read.log.size(), 2U);
  EXPECT_EQ(read.log.lines, 16U);  // empty ones do not count
}

TEST(EventLogReader, takes_no_line_beyond_16_kib) {
  const auto of_size = [](std::size_t size) {
    auto text = line("dispatch", "a", 0, R"("x":"")");
    text.insert(text.rfind("\"}"), std::string(size + 1 - text.size(), 'x'));
    return text;
  };
  EXPECT_EQ(ReadLog(of_size(EventLogReader::kLongestLine)).log.bad_lines, 0U);
  const ReadLog longer(of_size(EventLogReader::kLongestLine + 1) + sent("b", 0, 0, 0));
  EXPECT_THAT(bad_lines(longer.log), ElementsAre(1));
  EXPECT_EQ(longer.log.size(), 1U);
  const ReadLog without_end(std::string(EventLogReader::kLongestLine + 1, 'x'));
  EXPECT_THAT(bad_lines(without_end.log), ElementsAre(1));
}

TEST(EventLogReader, reads_the_same_however_the_bytes_are_cut) {
  const std::string text = sent("a", 0, 10, 20) + "nonsense\n" + std::string(20'000, 'x') + "\n" +
                           sent("b", 50, 0, 7, R"("weight":2)") +
                           R"({"ts":"2026-11-21T09:30:00Z","event":"gone","id":"c"})";
  for (const std::size_t size : {1UL, 7UL, 4096UL, 100'000UL}) {
    RequestLog log;
    EventLogReader reader(log, {one_place});
    reader.begin("events.jsonl");
    for (std::size_t at = 0; at < text.size(); at += size) EXPECT_TRUE(reader.read(text.substr(at, size)));
    reader.end();
    ASSERT_EQ(log.size(), 3U) << size;
    EXPECT_EQ(log[0].wait, 10);
    EXPECT_EQ(log[1].weight, 2);
    EXPECT_THAT(bad_lines(log), ElementsAre(3, 4));
  }
}

TEST(EventLogReader, stops_at_the_most_events) {
  const ReadLog read(sent("a", 0, 0, 0) + sent("b", 0, 0, 0), one_place, 3);
  EXPECT_TRUE(read.log.is_cut);
  EXPECT_EQ(read.log.events, 3U);
  EXPECT_EQ(read.log.size(), 2U);
  EXPECT_FALSE(ReadLog(sent("a", 0, 0, 0), one_place, 2).log.is_cut);
}

TEST(EventLogReader, finds_each_of_many_ids) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += line("dispatch", "id" + std::to_string(i), i, wait_of(0));
  for (int i = 0; i < 5000; ++i)
    text += line("complete", "id" + std::to_string(i), i + 10, wait_of(0) + R"(,"flightMs":0.010)");
  const ReadLog read(text);
  EXPECT_EQ(read.log.size(), 5000U);
  EXPECT_EQ(read.log.bad_lines, 0U);
  for (const auto& request : read.log.requests) EXPECT_TRUE(request.dispatched && request.ended);
}

}  // namespace
}  // namespace penstock::replay
