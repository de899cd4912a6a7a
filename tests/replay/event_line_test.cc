// SPDX-License-Identifier: Apache-2.0
// Lines of an event log: those of the documentation, and those that nobody but an attacker writes.
#include "replay/event_line.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "replay/log_lines.h"

namespace penstock::replay {
namespace {

/// What `text` says. Its views hold until the next one is read.
std::optional<EventLine> read(std::string text) {
  static std::string kept, room;
  kept = std::move(text);
  return read_event(kept, room);
}

/// A sound line with this member.
bool is_sound_with(const std::string& member) { return read(line("dispatch", "a", 0, member)).has_value(); }

TEST(EventLine, has_what_the_log_says) {
  const auto event = read(
      R"({"ts":"2026-11-21T09:30:00.161880Z","event":"complete","id":"JNgnqNgvkMg","upstream":"github","group":"g","method":"GET","host":"api.github.com","path":"/user","pending":3,"inFlight":19,"weight":5,"status":200,"waitMs":104.212,"flightMs":57.368,"bytesIn":1402,"bytesOut":0,"attempts":3})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, EventKind::complete);
  EXPECT_EQ(event->at, kMorning + 30 * 60 * kSecond + 161'880);
  EXPECT_EQ(event->id, "JNgnqNgvkMg");
  EXPECT_EQ(event->upstream, "github");
  EXPECT_EQ(event->group, "g");
  EXPECT_EQ(event->host, "api.github.com");
  EXPECT_EQ(event->path, "/user");
  EXPECT_EQ(event->wait, 104'212);
  EXPECT_EQ(event->flight, 57'368);
  EXPECT_EQ(event->weight, 5);
  EXPECT_EQ(event->attempts, 3);
  EXPECT_EQ(event->status, 200);
  EXPECT_FALSE(event->tunnel || event->upgrade);
}

TEST(EventLine, knows_tunnels) {
  EXPECT_TRUE(read(line("dispatch", "a", 0, R"("tunnel":true)"))->tunnel);
  EXPECT_TRUE(read(line("dispatch", "a", 0, R"("upgrade":"websocket")"))->upgrade);
}

TEST(EventLine, knows_permits) {
  EXPECT_TRUE(read(line("dispatch", "a", 0, R"("permit":true)"))->permit);
  EXPECT_FALSE(read(line("dispatch", "a", 0, R"("tunnel":true)"))->permit);
}

TEST(EventLine, passes_over_what_it_does_not_know) {
  EXPECT_TRUE(is_sound_with(R"("new":{"x":[1,2]},"client":"10.0.0.7","wouldWait":["a"],"waitMs":null)"));
  EXPECT_FALSE(read(line("reloaded", "", 0))->kind);
}

TEST(EventLine, refuses_absurd_numbers) {
  EXPECT_TRUE(is_sound_with(R"("waitMs":0,"flightMs":31622400000)"));  // 366 days
  for (const auto* member : {R"("waitMs":-0.001)",
                             R"("waitMs":1e300)",
                             R"("waitMs":"1")",
                             R"("flightMs":-1)",
                             R"("flightMs":31622400001)",
                             R"("flightMs":1e999)",
                             R"("weight":0)",
                             R"("weight":-1)",
                             R"("weight":1.5)",
                             R"("weight":1000001)",
                             R"("weight":true)",
                             R"("attempts":0)",
                             R"("attempts":1001)",
                             R"("attempts":[])",
                             R"("status":-1)",
                             R"("status":1000)",
                             R"("status":"200")",
                             R"("tunnel":1)",
                             R"("permit":1)",
                             R"("upgrade":1)",
                             R"("id":1)",
                             R"("path":{})"})
    EXPECT_FALSE(is_sound_with(member)) << member;
}

TEST(EventLine, needs_a_moment_an_event_and_an_id) {
  EXPECT_TRUE(read(R"({"ts":"2026-11-21T09:30:00Z","event":"gone","id":"a"})"));
  EXPECT_FALSE(read(R"({"event":"gone","id":"a"})"));
  EXPECT_FALSE(read(R"({"ts":"2026-11-21T09:30:00Z","id":"a"})"));
  EXPECT_FALSE(read(R"({"ts":"2026-11-21T09:30:00Z","event":"gone"})"));
  EXPECT_FALSE(read(R"({"ts":"2026-11-21T09:30:00Z","event":"gone","id":""})"));
  EXPECT_FALSE(read(R"({"ts":"2026-11-21T09:30:00Z","event":"gone","id":"a"} x)"));
}

TEST(EventLine, reads_moments) {
  EXPECT_EQ(read_moment("2026-11-21T09:00:00Z"), kMorning);
  EXPECT_EQ(read_moment("2026-11-21T09:00:00.5Z"), kMorning + 500'000);
  EXPECT_EQ(read_moment("2026-11-21T09:00:00.0000019Z"), kMorning + 1);
  EXPECT_EQ(read_moment("2000-02-29T00:00:00Z"), 951'782'400 * kSecond);
  for (const auto* text :
       {"", "Z", "2026-11-21", "2026-11-21T09:00:00", "2026-11-21 09:00:00Z", "2026-11-21T09:00:00+01:00",
        "2026-11-21T24:00:00Z", "2026-11-21T09:60:00Z", "2026-11-21T09:00:60Z", "2026-13-21T09:00:00Z",
        "2026-02-30T09:00:00Z", "2026-00-21T09:00:00Z", "2026-11-00T09:00:00Z", "1999-12-31T23:59:59Z",
        "2100-01-01T00:00:00Z", "-026-11-21T09:00:00Z", "2026-11-21T09:00:00.Z", "2026-11-21T09:00:00ZZ",
        "999999999-01-01T00:00:00Z"})
    EXPECT_FALSE(read_moment(text)) << text;
}

}  // namespace
}  // namespace penstock::replay
