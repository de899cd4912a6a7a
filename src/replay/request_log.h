// SPDX-License-Identifier: Apache-2.0
// The requests of an event log, one record each however many lines told of them, and what their log could not say.
// Plain values; millions of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/event_line.h"

namespace penstock::replay {

/// What became of a request.
enum class Fate : std::uint8_t {
  sent,
  gone,  ///< its client left while it waited
  // Refused, by kind:
  queue_full,
  wait_over,
  limit_refused,
  limit_too_heavy,
  limiter_down,
  pending_memory,
  unreachable,
  draining,
  destination_unnamed,  ///< no upstream is configured for it
  other,
};
/// In the order of the enumeration. Those of refusals are the kinds that the log, metrics and /status have.
inline constexpr std::array<std::string_view, 12> kFateNames{
    "sent",         "gone",           "queue_full",  "wait_over", "limit_refused",       "limit_too_heavy",
    "limiter_down", "pending_memory", "unreachable", "draining",  "destination_unnamed", "other"};
constexpr std::string_view name_of(Fate fate) { return kFateNames[static_cast<std::size_t>(fate)]; }

/// Whether other settings of queue and limits may give it another fate: it wanted to be sent, and could have been.
constexpr bool may_change(Fate fate) { return fate <= Fate::pending_memory; }

struct Outcome {
  Time wait : 56 = 0;  ///< from arrival to its first take-off, or to its end without one
  Fate fate : 8 = Fate::other;
};
static_assert(sizeof(Outcome) == 8 && kLongestSpan < Time{1} << 54, "there may be ten million");

struct LoggedRequest {
  static constexpr Time kUnknown = -1;

  Time arrived = 0;    ///< µs since 1970
  Time wait : 56 = 0;  ///< as in Outcome
  Fate fate : 8 = Fate::other;
  Time flight = kUnknown;   ///< of one sending; if it was sent several times, their mean
  std::int32_t weight = 1;  ///< units
  std::uint16_t status = 0;
  std::uint16_t attempts : 13 = 1;
  bool tunnel : 1 = false;      ///< or it may become one
  bool dispatched : 1 = false;  ///< the line of its take-off was there
  bool ended : 1 = false;       ///< that of its end was there

  Outcome outcome() const { return {wait, fate}; }
};
static_assert(sizeof(LoggedRequest) == 32 && kMostAttempts < 1 << 13, "there may be ten million");

/// Where a configuration puts a request.
struct Place {
  static constexpr std::uint64_t kMostRoutes = (1 << 8) - 1;

  std::uint64_t group : 38 = 0;  ///< of a hash of its group's name; 0: its upstream has no groups
  std::uint64_t route : 8 = 0;   ///< that many in UpstreamSettings::routes, from 1; 0: none
  std::uint64_t upstream : 18 = 0;
};
static_assert(sizeof(Place) == 8, "there may be ten million, for each of two configurations");

struct BadLine {
  std::string file;
  std::uint64_t line = 0;  ///< from 1
};

struct RequestLog {
  static constexpr std::size_t kShownBadLines = 10;

  std::deque<LoggedRequest> requests;
  std::vector<std::deque<Place>> places;  ///< of each configuration, for each request

  // What was read.
  std::uint64_t lines = 0;   ///< all but empty ones
  std::uint64_t events = 0;  ///< lines that count
  std::uint64_t bad_lines = 0;
  std::vector<BadLine> first_bad_lines;
  std::size_t files = 0;
  bool is_cut = false;       ///< there are more events than may be
  Time first = 0, last = 0;  ///< of all lines, µs since 1970
  std::uint64_t refused_without_kind = 0;
  bool has_weights = false, has_attempts = false;

  const LoggedRequest& operator[](std::size_t index) const { return requests[index]; }
  std::size_t size() const { return requests.size(); }
};

}  // namespace penstock::replay
