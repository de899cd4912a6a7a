// SPDX-License-Identifier: Apache-2.0
// Writes lines of event logs as docs/events.md has them, at times from a Saturday morning on, and reads them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "replay/event_log_reader.h"

namespace penstock::replay {

inline constexpr Time kMillisecond = 1'000, kSecond = 1'000'000;
/// 2026-11-21 09:00:00 UTC, in µs since 1970: a whole hour.
inline constexpr Time kMorning = 1'795'251'600'000'000;

/// `at`: µs after kMorning, less than a day; 09:00 is its zero.
inline std::string moment(Time at) {
  const auto seconds = static_cast<int>(at / kSecond);
  char text[64];
  std::snprintf(text, sizeof text, "2026-11-21T%02d:%02d:%02d.%06dZ", 9 + seconds / 3600, seconds / 60 % 60,
                seconds % 60, static_cast<int>(at % kSecond));
  return text;
}

inline std::string milliseconds(Time span) {
  char text[64];
  std::snprintf(text, sizeof text, "%d.%03d", static_cast<int>(span / 1000), static_cast<int>(span % 1000));
  return text;
}

/// A line of the upstream `api`; `more` has further members: `"status":200`.
inline std::string line(std::string_view event, std::string_view id, Time at, std::string_view more = "",
                        std::string_view upstream = "api") {
  std::string text = R"({"ts":")" + moment(at) + R"(","event":")" + std::string(event) + R"(","id":")" +
                     std::string(id) + R"(","upstream":")" + std::string(upstream) +
                     R"(","group":"","method":"GET","host":"api.example.com","path":"/x","pending":0,"inFlight":0)";
  if (!more.empty()) text.append(",").append(more);
  return text + "}\n";
}

inline std::string wait_of(Time wait) { return R"("waitMs":)" + milliseconds(wait); }

/// All lines of a request that was sent: arrival after kMorning, wait and flight in µs.
inline std::string sent(std::string_view id, Time arrived, Time wait, Time flight, const std::string& more = "",
                        std::string_view upstream = "api") {
  const auto rest = wait_of(wait) + (more.empty() ? "" : "," + more);
  return line("dispatch", id, arrived + wait, rest, upstream) +
         line("complete", id, arrived + wait + flight,
              R"("status":200,"flightMs":)" + milliseconds(flight) + "," + rest, upstream);
}

inline std::string queue_full(std::string_view id, Time at) {
  return line("refused", id, at,
              R"("status":503,"waitMs":0.000,"refusal":"queue_full","error":"connection_limit_reached")");
}

/// All requests at one upstream without groups.
inline Place one_place(const EventLine&) { return {}; }

struct ReadLog {
  explicit ReadLog(std::string_view text, EventLogReader::Placing placing = one_place,
                   std::uint64_t most = EventLogReader::kMostEvents) {
    EventLogReader reader(log, {std::move(placing)}, most);
    reader.begin("events.jsonl");
    reader.read(text);
    reader.end();
  }
  RequestLog log;
};

}  // namespace penstock::replay
