// SPDX-License-Identifier: Apache-2.0
// What a course of requests comes to at one upstream, as it was logged or as it was replayed. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "penstock/config.h"
#include "replay/replay.h"
#include "replay/request_log.h"
#include "replay/usage.h"

namespace penstock::replay {

struct Waits {
  Time p50 = 0, p95 = 0, p99 = 0, max = 0;  ///< µs; each is the wait of some request
};

struct Figures {
  std::array<std::uint64_t, kFateNames.size()> fates{};  ///< how many requests had it
  std::uint64_t sendings = 0;                            ///< also those of requests that were sent again
  Waits waits;                                           ///< of those that were sent, to their first take-off
  std::uint64_t longest_queue = 0;
  std::uint64_t most_in_flight = 0;
  double slots_used = 0;                     ///< mean share of maxConcurrent
  std::vector<Usage> limits;                 ///< of the upstream, those that count departures
  std::optional<std::uint64_t> api_refused;  ///< by its quota; nullopt: nobody said what that is

  std::uint64_t of(Fate fate) const { return fates[static_cast<std::size_t>(fate)]; }
};

/// The requests of one upstream, and by what they are measured: the same for each course that is compared.
struct Measure {
  const RequestLog& log;
  const std::deque<Place>& places;
  std::span<const std::uint32_t> order;  ///< its requests by arrival, as numbers of `log`
  const UpstreamSettings& settings;      ///< whose limits are meant
  std::optional<Rate> quota;             ///< of the API
  Time flight = 0;                       ///< where the log has none
};

using SomeRepeats = std::ranges::subrange<std::deque<Sending>::const_iterator>;

/// As it was logged. When repeats left is not in the log: they count in means alone.
Figures logged(const Measure& measure);
/// As it was replayed, `repeats` of these requests included.
Figures replayed(const Measure& measure, std::span<const Outcome> outcomes, const SomeRepeats& repeats);

}  // namespace penstock::replay
