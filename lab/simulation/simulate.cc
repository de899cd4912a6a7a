// SPDX-License-Identifier: Apache-2.0
// The program: plays whole fleets in virtual time, regime after regime.
//   simulate SECONDS [--seed N | --fresh] [--only REGIME] [--rule RULE] [--keep-going] [--rounds N]
//   simulate SECONDS --keep-going --tally FILE [--page FILE]
//   simulate --once [--only REGIME] [--seed N]
//   simulate [SECONDS] --fixed FILE
//   simulate --allowances docs/limits.md
//   simulate --list
// Ends with 1 if anything failed, with 2 if an option makes no sense.
#include <CLI/CLI.hpp>
#include <cmath>
#include <iostream>
#include <optional>
#include <random>
#include <utility>

#include "simulation/allowances_page.h"
#include "simulation/fleet.h"
#include "simulation/judges.h"
#include "simulation/pages.h"
#include "simulation/session.h"

namespace penstock::simulation {

namespace {

std::optional<double> judged(double figure, bool was_judged = true) {
  return was_judged && std::isfinite(figure) ? std::optional(figure) : std::nullopt;
}

Outcome play(const Plan& plan, const Mutation& mutation) {
  const Journal journal = run(plan, mutation);
  Judgement judgement = judge(plan, journal);
  const Figures& figures = judgement.figures;
  return {.broken = std::move(judgement.broken),
          .departures = journal.departures.size(),
          .worst_excess = judged(figures.worst_excess),
          .least_use = judged(figures.least_use, figures.stretches > 0),
          .least_permit_use = judged(figures.least_permit_use),
          .widest_shares = judged(figures.widest_shares, figures.shares > 0),
          .calls = judged(figures.calls_a_request, figures.calls_a_request > 0)};
}

int run_program(int count, char** words) {
  Options options;
  double seconds = 0;
  bool fresh = false, list = false;
  std::string allowances;
  std::pair<std::string, std::string> texts;  // the text to be replaced, and its replacement
  CLI::App app{"Plays fleets of processes in virtual time, and judges every departure."};
  auto* const time = app.add_option("SECONDS", seconds, "No run begins later")->check(CLI::NonNegativeNumber);
  auto* const seed = app.add_option("--seed", options.seed, "Of each regime's first run; the next has the next");
  app.add_flag("--fresh", fresh, "Take a seed that nobody has taken, and say it")->excludes(seed);
  app.add_option("--only", options.only, "One regime, or with a star all whose names begin so");
  auto* const once = app.add_flag("--once", options.once, "Run each regime once");
  app.add_option("--fixed", options.fixed, "Run the regimes and seeds of this file, once each")->excludes(once);
  app.add_option("--rule", options.rule, "Only what breaks this rule is a failure, and crashes");
  app.add_flag("--keep-going", options.keep_going, "Sum failures up by regime and rule, instead of ending");
  app.add_option("--rounds", options.rounds, "No more than so many runs of each regime");
  app.add_option("--tally", options.tally, "Go on where the run ended that is in this file, and keep it")
      ->excludes("--fixed");
  app.add_option("--page", options.page, "Write what the tally has into this page of documentation");
  app.add_option("--mutation", texts, "Put one text in the place of another in the scripts: lab/mutations");
  app.add_option("--shrink", options.shrink_seconds, "For how long at most what fails is made smaller, in seconds");
  app.add_option("--allowances", allowances, "Write what faults may cost into this page of documentation, and end");
  app.add_flag("--list", list, "Name all regimes, and say what they are about");
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (list) {
    std::cout << listed();
    return 0;
  }
  if (!allowances.empty()) {
    const std::string wrong = write_part(allowances, "allowances", allowances_page());
    std::cout << wrong << (wrong.empty() ? "" : "\n");
    return wrong.empty() ? 0 : 2;
  }
  if (time->count() > 0) options.seconds = seconds;
  if (fresh) {
    options.seed = std::random_device{}();
    std::cout << "--seed " << options.seed << "\n" << std::flush;
  }
  const Mutation mutation{texts.first, texts.second};
  switch (simulate(
      options, [&](const Plan& plan) { return play(plan, mutation); }, std::cout)) {
    case Ended::well: return 0;
    case Ended::failed: return 1;
    case Ended::unusable: break;
  }
  return 2;
}

}  // namespace

}  // namespace penstock::simulation

int main(int count, char** words) { return penstock::simulation::run_program(count, words); }
