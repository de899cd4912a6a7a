// SPDX-License-Identifier: Apache-2.0
// A log and what other settings would have made of it, side by side for each upstream; and what cannot be known. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/config.h"
#include "replay/figures.h"
#include "replay/request_log.h"
#include "replay/side.h"

namespace penstock::replay {

struct ComparedUpstream {
  std::string name;
  std::uint64_t requests = 0;
  std::uint64_t answered_429 = 0;  ///< in the log
  std::uint64_t tunnels = 0;
  int max_concurrent = 0;  ///< by the new settings
  std::optional<Rate> quota{};
  Figures logged;
  std::optional<Figures> by_old;
  Figures by_new;
};

struct Comparison {
  std::vector<ComparedUpstream> upstreams;  ///< those with most requests first
  std::vector<std::string> unknown;         ///< sentences about what the log could not tell
};

/// Replays the log with the new settings, and with the old ones if there are any.
Comparison compare(const RequestLog& log, const Side& now, const Side* before);

/// For people; only printable ASCII.
std::string in_words(const Comparison& comparison, const RequestLog& log);
/// For programs: one JSON object and a line end.
std::string in_json(const Comparison& comparison, const RequestLog& log);

/// Printable ASCII, at most `longest` bytes; a '?' replaces every other byte. For names that a log has.
std::string printable(std::string_view text, std::size_t longest = 255);

}  // namespace penstock::replay
