// SPDX-License-Identifier: Apache-2.0
// One line of an event log, as docs/events.md has it. Anybody may have written it: what is absurd makes it a bad line.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "flow/limit.h"
#include "penstock/event.h"

namespace penstock::replay {

using flow::Time;

/// A wait or a flight that is longer is absurd.
inline constexpr Time kLongestSpan = 366 * Time{86'400'000'000};
inline constexpr int kMostWeight = 1'000'000;
inline constexpr int kMostAttempts = 1'000;

struct EventLine {
  std::optional<EventKind> kind;  ///< nullopt: it is not known here, and says nothing of requests
  Time at = 0;                    ///< µs since 1970; a moment of the years 2000 to 2099
  std::string_view id, upstream, group, route, host, path, refusal;
  std::optional<Time> wait, flight;  ///< µs, from 0 to kLongestSpan
  std::optional<int> weight, attempts;
  int status = 0;
  bool tunnel = false;   ///< a CONNECT, or it has become a tunnel
  bool upgrade = false;  ///< it may become one
  bool permit = false;   ///< of an upstream that leads to no host
};

/// The line without its end. Texts are views of `line` or `room`. nullopt: it is none.
std::optional<EventLine> read_event(std::string_view line, std::string& room);

/// `2026-11-21T09:30:00.104512Z` in µs since 1970. nullopt: it is no such text.
std::optional<Time> read_moment(std::string_view text);

}  // namespace penstock::replay
