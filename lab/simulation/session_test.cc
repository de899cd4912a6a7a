// SPDX-License-Identifier: Apache-2.0
// What the program says and how it ends, with runs that are not played: here each test decides the outcome of a plan.
#include "simulation/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

#include "simulation/apart.h"
#include "simulation/report.h"

namespace penstock::simulation {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

Outcome well() { return {.departures = 100, .least_use = 0.995, .widest_shares = 1.02, .calls = 0.15}; }

Outcome broken(const std::string& rule, const std::string& detail) {
  Outcome outcome = well();
  outcome.broken.push_back({.rule = rule, .detail = detail, .figure = 1});
  return outcome;
}

struct Said {
  Ended ended;
  std::string text;
};

Said said(const Options& options, const Play& play) {
  std::ostringstream out;
  const Ended ended = simulate(options, play, out);
  return {ended, out.str()};
}

TEST(Session, runs_each_regime_once) {
  const auto [ended, text] = said({.once = true}, [](const Plan&) { return well(); });
  EXPECT_EQ(ended, Ended::well);
  for (const Regime& regime : regimes()) EXPECT_THAT(text, HasSubstr("\n" + std::string(regime.name) + " "));
  EXPECT_THAT(text, HasSubstr("0.9950"));
  EXPECT_THAT(text, HasSubstr("1.02"));
  EXPECT_THAT(text, Not(HasSubstr("FAILED")));
}

TEST(Session, ends_when_the_time_is_over) {
  const auto [ended, text] = said({.seconds = 0.2, .only = "any*"}, [](const Plan&) { return well(); });
  EXPECT_EQ(ended, Ended::well);
  EXPECT_EQ(said({.seconds = 0.0}, [](const Plan&) { return broken("keeps", ""); }).ended, Ended::well);
}

/// Each round of all regimes has the next seed.
TEST(Session, goes_on_with_the_next_seed) {
  const auto [ended, text] = said({.seconds = 30, .seed = 5, .only = "burst-25", .shrink_seconds = 0},
                                  [](const Plan& plan) { return plan.seed < 9 ? well() : broken("use", "54 %"); });
  EXPECT_EQ(ended, Ended::failed);
  EXPECT_THAT(text, HasSubstr("FAILED: burst-25, seed 9\n  use: 54 %\n"));
}

TEST(Session, shrinks_what_fails_and_says_how_to_play_it_again) {
  const auto [ended, text] = said({.seed = 3, .only = "burst-100", .once = true}, [](const Plan& plan) {
    return plan.members.size() >= 2 ? broken("use", std::to_string(plan.members.size()) + " processes") : well();
  });
  EXPECT_EQ(ended, Ended::failed);
  EXPECT_THAT(text, HasSubstr("script/simulate --once --only burst-100 --seed 3\n"));
  EXPECT_THAT(text, HasSubstr("  processes 0 to 1: "));
  EXPECT_THAT(text, HasSubstr("  use: 2 processes\n"));
}

/// A plan that breaks another rule is not the same failure.
TEST(Session, shrinks_by_the_rule_that_was_broken) {
  const auto [ended, text] = said({.only = "burst-100", .once = true}, [](const Plan& plan) {
    return broken(plan.members.size() >= 3 ? "use" : "shares", "said");
  });
  EXPECT_THAT(text, AllOf(HasSubstr("  processes 0 to 2: "), Not(HasSubstr("shares: "))));
}

TEST(Session, sums_failures_up_where_it_keeps_going) {
  const auto [ended, text] = said({.only = "permits*", .once = true, .keep_going = true}, [](const Plan& plan) {
    return plan.regime == "permits-far" ? broken("keeps", "11 of 10") : well();
  });
  EXPECT_EQ(ended, Ended::failed);
  EXPECT_THAT(text, HasSubstr("permits-far, keeps: 1 run, as with seed 1: 11 of 10\n"));
  EXPECT_THAT(text, HasSubstr("\npermits-mailbox "));
}

TEST(Session, looks_at_one_rule) {
  const Play play = [](const Plan& plan) {
    if (plan.regime == "permits-far") std::abort();
    return broken(plan.regime == "permits" ? "keeps" : "use", "said");
  };
  const auto [ended, text] = said({.only = "permits*", .once = true, .rule = "keeps", .keep_going = true}, play);
  EXPECT_EQ(ended, Ended::failed);
  EXPECT_THAT(text, AllOf(HasSubstr("permits, keeps: 1 run"), HasSubstr("permits-far, crash: 1 run"),
                          Not(HasSubstr("use: 1 run"))));
}

TEST(Session, plays_fixed_seeds) {
  const std::string path = ::testing::TempDir() + "/seeds-" + std::to_string(::getpid());
  std::ofstream(path) << "# Seeds that failed once.\nburst-25 7  # the burst was counted twice\n\npermits 12\n";
  const auto [ended, text] = said({.fixed = path, .keep_going = true}, [](const Plan& plan) {
    return broken("seen", plan.regime + " " + std::to_string(plan.seed));
  });
  std::remove(path.c_str());
  EXPECT_THAT(text, AllOf(HasSubstr("seen: 1 run, as with seed 7: burst-25 7"), HasSubstr("permits 12\n")));
}

/// Plays a file of one line, whose run breaks these rules.
std::string fixed_line(const std::string& line, const std::vector<std::string>& rules) {
  const std::string path = ::testing::TempDir() + "/line-" + std::to_string(::getpid());
  std::ofstream(path) << line << "\n";
  const auto [ended, text] = said({.fixed = path, .keep_going = true}, [&](const Plan&) {
    Outcome outcome;
    for (const auto& rule : rules) outcome.broken.push_back({rule, "so"});
    return outcome;
  });
  std::remove(path.c_str());
  return (ended == Ended::well ? "well: " : "failed: ") + text;
}

TEST(Session, forgives_fixed_seeds_what_they_are_known_to_break_until_they_do_not) {
  EXPECT_THAT(fixed_line("burst-25 7 breaks told use", {"use", "told", "told"}), StartsWith("well"));
  EXPECT_THAT(fixed_line("burst-25 7 breaks told", {"told", "keeps"}),
              AllOf(StartsWith("failed"), HasSubstr("burst-25, keeps: 1 run")));
  EXPECT_THAT(fixed_line("burst-25 7 breaks told use", {"told"}),
              AllOf(StartsWith("failed"), HasSubstr("burst-25, mended: 1 run"), HasSubstr("'use'")));
}

/// A file for one test, deleted with this object.
struct TemporaryFile {
  explicit TemporaryFile(const std::string& name)
      : path(::testing::TempDir() + "/" + name + "-" + std::to_string(::getpid())) {}
  ~TemporaryFile() { std::remove(path.c_str()); }
  std::string text() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const std::string path;
};

TEST(Session, plays_so_many_rounds) {
  const auto [ended, text] =
      said({.seed = 5, .only = "burst-25", .keep_going = true, .rounds = 3}, [](const Plan&) { return well(); });
  EXPECT_EQ(ended, Ended::well);
  EXPECT_THAT(text, HasSubstr("\nburst-25                              3 "));
}

/// What was played before is not played again, but counts.
TEST(Session, goes_on_where_its_tally_ended) {
  const TemporaryFile tally("tally");
  const Options twice{.only = "permits*", .keep_going = true, .rounds = 2, .tally = tally.path};
  said(twice, [](const Plan& plan) { return plan.seed == 2 ? broken("use", "of two") : well(); });
  Options thrice = twice;
  thrice.rounds = 3;
  const auto [ended, text] = said(thrice, [](const Plan& plan) { return plan.seed < 3 ? broken("use", "") : well(); });
  EXPECT_THAT(text, AllOf(HasSubstr("permits-far, use: 1 run, as with seed 2: of two\n"),
                          HasSubstr("permits-far                           3           1 ")));
  thrice.seed = 9;
  EXPECT_EQ(said(thrice, [](const Plan&) { return well(); }).ended, Ended::unusable) << "another run's";
}

TEST(Session, writes_its_page) {
  const TemporaryFile page("page");
  std::ofstream(page.path) << "# Before\n<!-- simulate: runs -->\nold\n<!-- simulate: end -->\nbehind\n";
  const Options options{.only = "permits-first", .keep_going = true, .rounds = 2, .page = page.path};
  said(options, [](const Plan& plan) { return plan.seed == 2 ? broken("use", "") : well(); });
  EXPECT_THAT(page.text(), AllOf(StartsWith("# Before\n<!-- simulate: runs -->\n200 departures were judged, of 2 runs"),
                                 HasSubstr("\n| permits-first | 2 | 1 |"), HasSubstr("\n| none | 2 |\n"),
                                 HasSubstr("\n| permits-first | use | 1 | 2 |\n"), Not(HasSubstr("old")),
                                 ::testing::EndsWith("<!-- simulate: end -->\nbehind\n")));
  std::ofstream(page.path) << "nothing to write into";
  EXPECT_EQ(said(options, [](const Plan&) { return well(); }).ended, Ended::failed);
}

TEST(Session, refuses_what_means_nothing) {
  const Play play = [](const Plan&) { return well(); };
  EXPECT_EQ(said({.only = "no-such", .once = true}, play).ended, Ended::unusable);
  EXPECT_EQ(said({}, play).ended, Ended::unusable);
  EXPECT_EQ(said({.fixed = "/no/such/file"}, play).ended, Ended::unusable);
}

TEST(Session, reads_seeds_line_by_line) {
  EXPECT_EQ(jobs_of("").value().size(), 0u);
  EXPECT_EQ(jobs_of("burst-25 1\nburst-25 2").value()[1].seed, 2u);
  for (const char* wrong :
       {"burst-25", "no-such 1", "burst-25 x", "burst-25 1 2", "burst-25 1 breaks", "burst-25 1 broke use"}) {
    EXPECT_THAT(jobs_of(std::string("\n") + wrong).error(), HasSubstr("line 2")) << wrong;
  }
}

/// The file that script/simulate and the tests play.
TEST(Session, reads_the_fixed_seeds) {
  std::ifstream file(PENSTOCK_SIMULATION_SEEDS);
  ASSERT_TRUE(file);
  const auto jobs = jobs_of(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_TRUE(jobs) << jobs.error();
  EXPECT_FALSE(jobs->empty());
}

TEST(Apart, takes_a_crash_for_a_failure) {
  const auto [ended, text] =
      said({.only = "burst-25", .once = true, .keep_going = true}, [](const Plan&) -> Outcome { std::abort(); });
  EXPECT_THAT(text, HasSubstr("burst-25, crash: 1 run, as with seed 1: Aborted"));
}

TEST(Apart, takes_an_exception_for_a_failure) {
  const auto [ended, text] = said({.only = "burst-25", .once = true, .keep_going = true},
                                  [](const Plan&) -> Outcome { throw std::runtime_error("no such key"); });
  EXPECT_THAT(text, HasSubstr("crash: 1 run, as with seed 1: no such key"));
}

TEST(Apart, ends_what_never_ends) {
  const auto [ended, text] =
      said({.only = "burst-25", .once = true, .keep_going = true, .longest = 1}, [](const Plan&) -> Outcome {
        volatile bool on = true;
        while (on) {
        }
        return {};
      });
  EXPECT_THAT(text, HasSubstr("burst-25, time: 1 run"));
}

TEST(Apart, hands_over_a_large_outcome) {
  Apart apart([](const Plan&) { return broken("keeps", std::string(300'000, 'x')); }, 2, std::chrono::seconds(60));
  apart.begin(3, Plan{});
  apart.begin(4, Plan{});
  EXPECT_TRUE(apart.full());
  const auto done = apart.wait();
  EXPECT_EQ(done.outcome.broken.at(0).detail.size(), 300'000u);
  EXPECT_EQ(done.number + apart.wait().number, 7u);
  EXPECT_TRUE(apart.idle());
}

TEST(OutcomeText, says_all) {
  Outcome outcome = broken("told", "two\nlines");
  outcome.worst_excess = -1.0 / 3;
  const auto again = outcome_of(to_text(outcome));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->departures, 100u);
  EXPECT_EQ(again->worst_excess, outcome.worst_excess);
  EXPECT_EQ(again->least_use, outcome.least_use);
  EXPECT_EQ(again->least_permit_use, std::nullopt);
  ASSERT_EQ(again->broken.size(), 1u);
  EXPECT_EQ(again->broken[0].detail, "two lines");
  EXPECT_FALSE(outcome_of(to_text(outcome).substr(0, 20)));
  EXPECT_FALSE(outcome_of(""));
}

TEST(Report, keeps_the_worst) {
  Report report;
  Plan plan = draw(*regime_named("permits"), 1);
  for (const double use : {0.999, 0.54, 0.998}) {
    Outcome outcome = well();
    outcome.least_use = use;
    outcome.worst_excess = use * 10;
    report.add(plan, outcome);
  }
  EXPECT_FALSE(report.failed());
  EXPECT_THAT(report.table(), AllOf(HasSubstr("0.5400"), HasSubstr("+10.0"), HasSubstr(" 300 ")));
  plan.seed = 8;
  report.add(plan, broken("use", "of eight"));
  plan.seed = 6;
  report.add(plan, broken("use", "of six"));
  EXPECT_EQ(report.failure_text(), "permits, use: 2 runs, as with seed 6: of six\n");
  const auto again = Report::of(report.saved());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->table(), report.table());
  EXPECT_EQ(again->failure_text(), report.failure_text());
  EXPECT_EQ(again->cells(), report.cells());
  EXPECT_FALSE(Report::of(report.saved() + "cell\tno number\n"));
}

TEST(Report, counts_the_runs_of_each_kind_and_fault) {
  Report report;
  Plan plan;
  plan.regime = "some";
  plan.limits = draw(*regime_named("permits-and-pacer"), 1).limits;
  report.add(plan, well());
  plan.faults = {{.kind = Fault::Kind::frozen}, {.kind = Fault::Kind::frozen}, {.kind = Fault::Kind::redis_stops}};
  report.add(plan, well());
  report.add(plan, well());
  const auto runs = [&](const char* kind, const char* fault) { return report.cells().at({"some", kind, fault}); };
  EXPECT_EQ(report.cells().size(), 6u);
  EXPECT_EQ(runs("pacer", "none"), 1u);
  EXPECT_EQ(runs("pacer", "frozen"), 2u);
  EXPECT_EQ(runs("semaphore", "Redis stops"), 2u);
}

}  // namespace
}  // namespace penstock::simulation
