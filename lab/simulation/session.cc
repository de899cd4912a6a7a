// SPDX-License-Identifier: Apache-2.0
// See session.h.
#include "simulation/session.h"

#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <ostream>
#include <sstream>
#include <utility>

#include "simulation/apart.h"
#include "simulation/report.h"
#include "simulation/shrink.h"

namespace penstock::simulation {

namespace {

using std::chrono::steady_clock;

/// Not before so many seconds have passed.
class Deadline {
 public:
  explicit Deadline(std::optional<double> seconds)
      : at_(seconds ? steady_clock::now() +
                          std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(*seconds))
                    : steady_clock::time_point::max()) {}
  bool passed() const { return steady_clock::now() >= at_; }

 private:
  steady_clock::time_point at_;
};

/// Which run is next: those of a list, or of each regime in turn, each round with the next seed.
class Jobs {
 public:
  Jobs(std::vector<Job> list, std::uint64_t seed, bool endless)
      : list_(std::move(list)), seed_(seed), endless_(endless) {}

  std::optional<Job> next() {
    if (list_.empty() || (!endless_ && given_ == list_.size())) return std::nullopt;
    Job job = list_[given_ % list_.size()];
    if (endless_) job.seed = seed_ + given_ / list_.size();
    ++given_;
    return job;
  }
  std::size_t left() const { return endless_ ? 0 : list_.size() - given_; }

 private:
  const std::vector<Job> list_;
  const std::uint64_t seed_;
  const bool endless_;
  std::size_t given_ = 0;
};

std::expected<Jobs, std::string> jobs_for(const Options& options) {
  if (!options.fixed.empty()) {
    std::ifstream file(options.fixed);
    if (!file) return std::unexpected("cannot read " + options.fixed);
    auto jobs = jobs_of({std::string(std::istreambuf_iterator<char>(file), {})});
    if (!jobs) return std::unexpected(options.fixed + ", " + jobs.error());
    return Jobs(std::move(*jobs), 0, false);
  }
  const auto regimes = chosen(options.only);
  if (!regimes) return std::unexpected(regimes.error());
  if (!options.once && !options.seconds) return std::unexpected("say for how many seconds");
  std::vector<Job> jobs;
  for (const Regime* regime : *regimes) jobs.push_back({regime, options.seed});
  return Jobs(std::move(jobs), options.seed, !options.once);
}

class Session {
 public:
  Session(const Options& options, const Play& play, Jobs jobs, std::ostream& out)
      : options_(options),
        out_(out),
        deadline_(options.seconds),
        jobs_(std::move(jobs)),
        apart_(play, options.at_once, std::chrono::seconds(options.longest)) {}

  Ended run() {
    while (true) {
      while (!apart_.full() && begin_next()) {
      }
      if (apart_.idle()) break;
      hear();
    }
    if (first_) say_failure(first_->first, first_->second);
    out_ << report_.table();
    if (options_.keep_going) out_ << report_.failures();
    if (jobs_.left() > 0) out_ << jobs_.left() << " runs did not fit into the time\n";
    const bool all_fixed = options_.fixed.empty() || jobs_.left() == 0;
    return report_.failed() || !all_fixed ? Ended::failed : Ended::well;
  }

 private:
  bool begin_next() {
    if (deadline_.passed() || first_) return false;
    const auto job = jobs_.next();
    if (!job) return false;
    const auto [run, fresh] = runs_.emplace(begun_, Run{draw(*job->regime, job->seed), job->open});
    apart_.begin(begun_++, run->second.plan);
    return true;
  }

  /// Whoever looks at one rule still wants to know of crashes.
  Apart::Done next_done() {
    auto done = apart_.wait();
    std::erase_if(done.outcome.broken, [&](const Verdict& verdict) {
      return !options_.rule.empty() && verdict.rule != options_.rule && verdict.rule != Apart::kCrash &&
             verdict.rule != Apart::kTime;
    });
    return done;
  }

  /// The first that failed is the one that was begun first, whichever ended first.
  void hear() {
    auto done = next_done();
    const auto run = runs_.extract(done.number);
    const Plan& plan = run.mapped().plan;
    forgive(run.mapped().open, done.outcome);
    report_.add(plan, done.outcome);
    if (done.outcome.broken.empty() || options_.keep_going) return;
    if (first_ && first_number_ < done.number) return;
    first_number_ = done.number;
    first_.emplace(plan, done.outcome);
  }

  /// What is known to be broken is no failure until it is mended: then it must not be known so any longer.
  static void forgive(const std::vector<std::string>& open, Outcome& outcome) {
    for (const std::string& rule : open) {
      const auto erased = std::erase_if(outcome.broken, [&](const Verdict& verdict) { return verdict.rule == rule; });
      if (erased == 0) outcome.broken.push_back({"mended", "it breaks '" + rule + "' no more: take that off its line"});
    }
  }

  void say_failure(const Plan& plan, const Outcome& outcome) {
    out_ << "FAILED: " << plan.regime << ", seed " << plan.seed << "\n";
    for (const Verdict& verdict : outcome.broken) out_ << "  " << verdict.rule << ": " << verdict.detail << "\n";
    out_ << "Again: script/simulate --once --only " << plan.regime << " --seed " << plan.seed << "\n" << std::flush;
    const std::string rule = outcome.broken.front().rule;
    Outcome smallest = outcome;
    const Deadline deadline(options_.shrink_seconds);
    const auto fails = [&](const Plan& next) {
      if (deadline.passed()) return false;
      apart_.begin(0, next);
      Outcome seen = next_done().outcome;
      const bool so = seen.breaks(rule);
      if (so) smallest = std::move(seen);
      return so;
    };
    const Shrunk shrunk = shrink(plan, fails, options_.most_tries);
    out_ << "The smallest of " << shrunk.tries << " plans that still fails:\n" << shrunk.plan.text();
    for (const Verdict& verdict : smallest.broken) {
      if (verdict.rule == rule) out_ << "  " << rule << ": " << verdict.detail << "\n";
    }
    out_ << std::flush;
  }

  const Options& options_;
  std::ostream& out_;
  const Deadline deadline_;
  Jobs jobs_;
  Apart apart_;
  Report report_;
  struct Run {
    Plan plan;
    std::vector<std::string> open;
  };
  std::map<std::size_t, Run> runs_;  // under way
  std::size_t begun_ = 0, first_number_ = 0;
  std::optional<std::pair<Plan, Outcome>> first_;  // that failed, and ends it
};

}  // namespace

std::expected<std::vector<const Regime*>, std::string> chosen(std::string_view only) {
  const bool star = only.ends_with('*');
  const std::string_view beginning = star ? only.substr(0, only.size() - 1) : only;
  std::vector<const Regime*> found;
  for (const Regime& regime : regimes()) {
    const bool meant = star ? regime.name.starts_with(beginning) : only.empty() || regime.name == only;
    if (meant) found.push_back(&regime);
  }
  if (found.empty()) return std::unexpected("no regime is named '" + std::string(only) + "'; --list names all");
  return found;
}

std::expected<std::vector<Job>, std::string> jobs_of(std::string_view text) {
  std::vector<Job> jobs;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, word;
    if (!(words >> name)) continue;
    Job job{.regime = regime_named(name)};
    bool sense = job.regime && words >> job.seed;
    if (sense && words >> word) {
      job.open.assign(std::istream_iterator<std::string>(words), {});
      sense = word == "breaks" && !job.open.empty();
    }
    if (!sense) return std::unexpected("line " + std::to_string(number) + ": not a regime and a seed: " + line);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

std::string listed() {
  std::string text;
  for (const Regime& regime : regimes()) text += std::string(regime.name) + ": " + std::string(regime.about) + "\n";
  return text;
}

Ended simulate(const Options& options, const Play& play, std::ostream& out) {
  auto jobs = jobs_for(options);
  if (!jobs) {
    out << jobs.error() << "\n";
    return Ended::unusable;
  }
  Session session(options, play, std::move(*jobs), out);
  return session.run();
}

}  // namespace penstock::simulation
