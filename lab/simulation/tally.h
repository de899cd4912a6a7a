// SPDX-License-Identifier: Apache-2.0
// What a long run came to so far, in a file: it may be ended at any moment, and goes on from there.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "simulation/report.h"

namespace penstock::simulation {

struct Tally {
  std::string what;        ///< which regimes, from which seed on: whoever goes on does the same
  std::uint64_t jobs = 0;  ///< so many of them, the first ones, are in the report
  std::uint64_t wall = 0;  ///< seconds that went by
  Report report;
};

/// A file that is not there is an empty tally. Or what is wrong with it.
std::expected<Tally, std::string> read_tally(const std::string& path, const std::string& what);
/// False: it cannot be written. The file is always whole.
bool write_tally(const std::string& path, const Tally& tally);

/// As docs/reliability.md has it: what was played, a line for each regime, how often each kind met each fault, and what
/// was broken.
std::string page_of(const Tally& tally);

}  // namespace penstock::simulation
