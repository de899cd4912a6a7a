// SPDX-License-Identifier: Apache-2.0
// What the program does: runs regimes in turn, judges each run, and says what was seen. A run that fails is made
// smaller and printed, with the command that plays it again.
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
  std::optional<double> seconds;  ///< no run begins later; nothing: see `once` and `fixed`
  std::uint64_t seed = 1;         ///< of the first run of each regime; the next has the next
  std::string only;               ///< the name of a regime, or how names begin and a star; empty: all
  bool once = false;              ///< each regime is run once
  std::string fixed;              ///< a file: these runs, once each
  std::string rule;               ///< what breaks another one is no failure; empty: all count
  bool keep_going = false;        ///< failures are summed up, instead of ending it
  std::uint64_t rounds = 0;       ///< of each regime no more runs than that; 0: as many as there is time for
  std::string tally;              ///< a file: goes on where the run ended that is in it, and keeps it
  std::string page;               ///< a file of documentation: what the tally has is written into it at the end
  std::size_t at_once = 2;
  int most_tries = 300;        ///< plans that are tried to make a failing one smaller
  double shrink_seconds = 60;  ///< and for how long
  int longest = 120;           ///< seconds of the processor's time, for one run
};

struct Job {
  const Regime* regime = nullptr;
  std::uint64_t seed = 0;
  std::vector<std::string> open;  ///< rules that it breaks and may, as yet: it fails when it breaks them no more
};

/// Those that `only` names; or what is wrong with it.
std::expected<std::vector<const Regime*>, std::string> chosen(std::string_view only);
/// A regime and a seed in each line, then `breaks` and the rules that it still breaks, if any; what follows `#` is why.
/// Or which line is wrong.
std::expected<std::vector<Job>, std::string> jobs_of(std::string_view text);
/// Names, and what they are about.
std::string listed();

enum class Ended { well, failed, unusable };
/// `unusable`: an option that means nothing; `out` says which.
Ended simulate(const Options& options, const Play& play, std::ostream& out);

}  // namespace penstock::simulation
