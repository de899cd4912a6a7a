// SPDX-License-Identifier: Apache-2.0
// Old and new side by side: the figures, what is said not to be known, and that nothing of a log reaches a terminal as
// a control character.
#include "replay/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "replay/log_lines.h"

namespace penstock::replay {
namespace {

using Json = nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

struct Sides {
  explicit Sides(const std::string& text, UpstreamSettings its_settings = {}, std::string name = "api")
      : settings(std::move(its_settings)),
        read(text),
        side{{{.name = std::move(name), .settings = &settings}}, &read.log.places[0]} {}
  Comparison compared(const Side* before = nullptr) const { return compare(read.log, side, before); }
  Json json(const Side* before = nullptr) const { return Json::parse(in_json(compared(before), read.log)); }
  std::string words() const { return in_words(compared(), read.log); }

  UpstreamSettings settings;
  ReadLog read;
  Side side;
};

/// A hundred requests, one every 10 ms, each with a wait of its number in ms, and a flight of 30 ms.
std::string hundred() {
  std::string text;
  for (int i = 1; i <= 100; ++i) text += sent("r" + std::to_string(i), i * 10'000, i * 1'000, 30'000);
  return text;
}

TEST(Comparison, has_the_log_beside_the_new_settings) {
  UpstreamSettings settings;
  settings.max_concurrent = 3;
  const auto upstream = Sides(hundred(), settings).json()["upstreams"][0];
  EXPECT_EQ(upstream["name"], "api");
  EXPECT_EQ(upstream["requests"], 100);
  EXPECT_EQ(upstream["logged"]["sent"], 100);
  EXPECT_EQ(upstream["logged"]["waitMs"]["p50"], 50.0);
  EXPECT_EQ(upstream["logged"]["waitMs"]["p95"], 95.0);
  EXPECT_EQ(upstream["logged"]["waitMs"]["p99"], 99.0);
  EXPECT_EQ(upstream["logged"]["waitMs"]["max"], 100.0);
  EXPECT_EQ(upstream["new"]["sent"], 100);
  EXPECT_EQ(upstream["new"]["waitMs"]["max"], 0.0);
  EXPECT_EQ(upstream["new"]["mostInFlight"], 3);
  EXPECT_EQ(upstream["new"]["longestQueue"], 0);
  // Request n waits from 10 n to 11 n ms: just before 1000, those from 91 to 99 do, and the one at 990 is about to end.
  EXPECT_EQ(upstream["logged"]["longestQueue"], 10);
  EXPECT_FALSE(upstream.contains("old"));
}

TEST(Comparison, has_the_old_settings_too) {
  UpstreamSettings one_slot;
  one_slot.max_concurrent = 1;
  const Sides sides(hundred());
  const Side before{{{.name = "another name", .settings = &one_slot}}, &sides.read.log.places[0]};
  const auto upstream = sides.json(&before)["upstreams"][0];
  EXPECT_EQ(upstream["old"]["waitMs"]["max"], 99 * 20.0);
  EXPECT_EQ(upstream["new"]["waitMs"]["max"], 0.0);
  EXPECT_EQ(upstream["old"]["mostInFlight"], 1);
}

TEST(Comparison, counts_what_is_refused_by_kind) {
  UpstreamSettings settings;
  settings.max_concurrent = 1;
  settings.queue.max_pending = 0;
  const auto text =
      sent("a", 0, 0, kSecond) + sent("b", 1, 0, 0) + queue_full("c", 2) + line("gone", "d", 5, wait_of(2));
  const auto upstream = Sides(text, settings).json()["upstreams"][0];
  EXPECT_EQ(upstream["logged"]["refused"], Json({{"queue_full", 1}}));
  EXPECT_EQ(upstream["logged"]["gone"], 1);
  EXPECT_EQ(upstream["new"]["refused"], Json({{"queue_full", 3}}));
  EXPECT_EQ(upstream["new"]["gone"], 0);
}

TEST(Comparison, says_what_the_api_would_have_refused_only_where_its_quota_is_told) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += sent("r" + std::to_string(i), 0, 0, 0);
  text += line("dispatch", "x", 0, wait_of(0)) +
          line("complete", "x", 10, wait_of(0) + R"(,"flightMs":0.010,"status":429)");
  UpstreamSettings settings;
  settings.limits.push_back({.kind = PacerConfig{.qps = 4}});
  Sides sides(text, settings);
  EXPECT_EQ(sides.json()["upstreams"][0]["logged"]["upstream429"], 1);
  EXPECT_TRUE(sides.json()["upstreams"][0]["new"]["upstream429"].is_null());
  EXPECT_TRUE(sides.json()["upstreams"][0]["new"]["beyondQuota"].is_null());
  EXPECT_THAT(sides.words(), HasSubstr("not known"));
  sides.side.upstreams[0].quota = Rate{5, std::chrono::seconds(1)};
  EXPECT_EQ(sides.json()["upstreams"][0]["logged"]["beyondQuota"], 6);
  EXPECT_EQ(sides.json()["upstreams"][0]["new"]["beyondQuota"], 0);
}

TEST(Comparison, sends_nothing_where_unnamed_hosts_are_denied) {
  Sides sides(hundred());
  sides.side.upstreams[0].is_denied = true;
  const auto upstream = sides.json()["upstreams"][0];
  EXPECT_EQ(upstream["new"]["sent"], 0);
  EXPECT_EQ(upstream["new"]["refused"]["destination_unnamed"], 100);
}

bool is_printable(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
}

TEST(Comparison, shows_no_control_character) {
  const std::string evil = "a\x1b]0;title\x07\u009b31m\u202e%s%n\r\x7f";
  Sides sides(sent("a", 0, 0, 0), {}, evil);
  EXPECT_TRUE(is_printable(sides.words())) << sides.words();
  EXPECT_THAT(sides.words(), HasSubstr("%s%n"));
  sides.read.log.bad_lines = 1;
  sides.read.log.first_bad_lines.push_back({evil, 7});
  EXPECT_TRUE(is_printable(sides.words()));
  EXPECT_TRUE(is_printable(in_json(sides.compared(), sides.read.log)));
}

TEST(Comparison, comes_to_the_same_bytes_each_time) {
  UpstreamSettings settings;
  settings.max_concurrent = 2;
  settings.limits.push_back({.kind = PacerConfig{.qps = 60}});
  const Sides one(hundred(), settings), other(hundred(), settings);
  EXPECT_EQ(one.words(), other.words());
  EXPECT_EQ(in_json(one.compared(), one.read.log), in_json(other.compared(), other.read.log));
}

TEST(Comparison, says_what_the_log_lacks) {
  const auto unknown = Sides(hundred()).compared().unknown;
  EXPECT_THAT(unknown, Contains(HasSubstr("weights: no line has one")));
  EXPECT_THAT(unknown, Contains(HasSubstr("attempts: no line has them")));
  EXPECT_THAT(unknown, Not(Contains(HasSubstr("tunnel"))));
  const auto more = Sides(sent("a", 0, 0, 0, R"("weight":2,"attempts":2,"tunnel":true)") + queue_full("b", 0) +
                          line("dispatch", "c", 0, wait_of(0)) + line("gone", "d", 5, wait_of(1)))
                        .compared()
                        .unknown;
  EXPECT_THAT(more, Not(Contains(HasSubstr("weights:"))));
  EXPECT_THAT(more, Not(Contains(HasSubstr("attempts:"))));
  EXPECT_THAT(more, Contains(HasSubstr("when 1 tunnel rested")));
  EXPECT_THAT(more, Contains(HasSubstr("1 were sent again")));
  EXPECT_THAT(more, Contains(HasSubstr("how long 1 request would have been in flight which Penstock refused")));
  EXPECT_THAT(more, Contains(HasSubstr("how 1 request ended")));
  EXPECT_THAT(more, Contains(HasSubstr("whose client left the queue")));
}

}  // namespace
}  // namespace penstock::replay
