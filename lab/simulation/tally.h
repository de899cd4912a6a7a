// SPDX-License-Identifier: Apache-2.0
// The result of a long session so far, in a file: the session may be ended at any moment, and goes on from there.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "simulation/report.h"

namespace penstock::simulation {

struct Tally {
  std::string what;        ///< the regimes and the first seed; a continued session must use the same
  std::uint64_t jobs = 0;  ///< how many jobs, from the first on, are in the report
  std::uint64_t wall = 0;  ///< elapsed seconds
  Report report;
};

/// Reads a tally, or returns an error text. A missing file is an empty tally.
std::expected<Tally, std::string> read_tally(const std::string& path, const std::string& what);
/// False: the file cannot be written. The file is always complete.
bool write_tally(const std::string& path, const Tally& tally);

/// The text for docs/reliability.md: what was played, a line for each regime, how often each kind met each fault, and
/// what was broken.
std::string page_of(const Tally& tally);

}  // namespace penstock::simulation
