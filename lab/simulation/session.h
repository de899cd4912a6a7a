// SPDX-License-Identifier: Apache-2.0
// What the program does: it runs regimes in turn and judges each run. A run that fails is shrunk and printed, with the
// command that replays it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/outcome.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

struct Options {
  std::optional<double> seconds;  ///< no run begins later; nullopt: see `once` and `fixed`
  std::uint64_t seed = 1;         ///< of the first run of each regime; each next run has the next seed
  std::string only;               ///< the name of a regime, or a prefix and a star; empty: all
  bool once = false;              ///< run each regime once
  std::string fixed;              ///< a file that lists the runs, once each
  std::string rule;               ///< breaches of other rules are no failures; empty: all count
  bool keep_going = false;        ///< sum failures up, instead of ending at the first
  std::uint64_t rounds = 0;       ///< the most runs of each regime; 0: as many as there is time for
  std::string tally;              ///< a file: go on where the session saved in it ended, and keep saving to it
  std::string page;               ///< a page of documentation: the tally is written into it at the end
  std::size_t at_once = 2;
  int most_tries = 300;        ///< plans that are tried to shrink a failing one
  double shrink_seconds = 60;  ///< and the time for that
  int longest = 120;           ///< processor seconds of one run
};

struct Job {
  const Regime* regime = nullptr;
  std::uint64_t seed = 0;
  std::vector<std::string> open;  ///< rules that it breaks as yet: it fails when it no longer breaks them
};

/// The regimes that `only` names, or an error text.
std::expected<std::vector<const Regime*>, std::string> chosen(std::string_view only);
/// Each line has a regime and a seed, then optionally `breaks` and the rules that it still breaks; `#` begins a
/// comment. The error text says which line is wrong.
std::expected<std::vector<Job>, std::string> jobs_of(std::string_view text);
/// The names of all regimes, and what they are about.
std::string listed();

enum class Ended { well, failed, unusable };
/// `unusable`: an option makes no sense; `out` says which.
Ended simulate(const Options& options, const Play& play, std::ostream& out);

}  // namespace penstock::simulation
