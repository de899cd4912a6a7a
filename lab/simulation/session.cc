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
#include "simulation/pages.h"
#include "simulation/shrink.h"
#include "simulation/tally.h"

namespace penstock::simulation {

namespace {

using std::chrono::steady_clock;

/// Passes after `seconds`; nullopt: never.
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

/// The runs in their order: those of a list, or of each regime in turn, each round with the next seed.
class Jobs {
 public:
  /// `rounds`: how many, each with the next seeds; 0: no end.
  Jobs(std::vector<Job> list, std::uint64_t rounds) : list_(std::move(list)), rounds_(rounds) {}

  std::optional<Job> next() {
    if (list_.empty() || (rounds_ > 0 && left() == 0)) return std::nullopt;
    Job job = list_[given_ % list_.size()];
    job.seed += given_++ / list_.size();
    return job;
  }
  std::size_t left() const { return rounds_ > 0 ? rounds_ * list_.size() - given_ : 0; }
  void skip(std::size_t jobs) { given_ = jobs; }

 private:
  const std::vector<Job> list_;
  const std::uint64_t rounds_;
  std::size_t given_ = 0;
};

std::expected<Jobs, std::string> jobs_for(const Options& options) {
  if (!options.fixed.empty()) {
    std::ifstream file(options.fixed);
    if (!file) return std::unexpected("cannot read " + options.fixed);
    auto jobs = jobs_of({std::string(std::istreambuf_iterator<char>(file), {})});
    if (!jobs) return std::unexpected(options.fixed + ", " + jobs.error());
    return Jobs(std::move(*jobs), 1);
  }
  const auto regimes = chosen(options.only);
  if (!regimes) return std::unexpected(regimes.error());
  const std::uint64_t rounds = options.once ? 1 : options.rounds;
  if (rounds == 0 && !options.seconds) return std::unexpected("say for how many seconds");
  std::vector<Job> jobs;
  for (const Regime* regime : *regimes) jobs.push_back({regime, options.seed});
  return Jobs(std::move(jobs), rounds);
}

/// What a tally is about.
std::string said_of(const Options& options) {
  const auto regimes = chosen(options.only);
  const std::string names = options.only.empty() ? "all " : "'" + options.only + "': ";
  const std::size_t count = regimes ? regimes->size() : 0;
  return names + std::to_string(count) + " regimes, each from seed " + std::to_string(options.seed) + " on";
}

class Session {
 public:
  Session(const Options& options, const Play& play, Jobs jobs, Tally tally, std::ostream& out)
      : options_(options),
        out_(out),
        deadline_(options.seconds),
        jobs_(std::move(jobs)),
        apart_(play, options.at_once, std::chrono::seconds(options.longest)),
        tally_(std::move(tally)),
        wall_before_(tally_.wall),
        begun_(tally_.jobs) {
    jobs_.skip(begun_);
  }

  Ended run() {
    while (true) {
      while (!apart_.full() && begin_next()) {
      }
      if (apart_.idle()) break;
      hear();
    }
    if (first_) say_failure(first_->first, first_->second);
    const Report& report = tally_.report;
    out_ << report.table();
    if (options_.keep_going) out_ << report.failure_text();
    if (jobs_.left() > 0) out_ << jobs_.left() << " runs did not fit into the time\n";
    const bool all_fixed = options_.fixed.empty() || jobs_.left() == 0;
    return !keep() || !write_page() || report.failed() || !all_fixed ? Ended::failed : Ended::well;
  }

 private:
  static constexpr std::chrono::seconds kKeptEvery{10};

  struct Run {
    Plan plan;
    std::vector<std::string> open;
    std::optional<Outcome> outcome;  // once the run has ended
  };

  bool begin_next() {
    if (deadline_.passed() || first_) return false;
    const auto job = jobs_.next();
    if (!job) return false;
    const auto [run, fresh] = runs_.emplace(begun_, Run{draw(*job->regime, job->seed), job->open, {}});
    apart_.begin(begun_++, run->second.plan);
    return true;
  }

  /// With one rule selected, crashes and time-outs still count.
  Apart::Done next_done() {
    auto done = apart_.wait();
    std::erase_if(done.outcome.broken, [&](const Verdict& verdict) {
      return !options_.rule.empty() && verdict.rule != options_.rule && verdict.rule != Apart::kCrash &&
             verdict.rule != Apart::kTime;
    });
    return done;
  }

  /// Outcomes are processed in the order in which the runs began, whichever ended first.
  void hear() {
    auto done = next_done();
    runs_.at(done.number).outcome = std::move(done.outcome);
    for (auto next = runs_.find(tally_.jobs); next != runs_.end() && next->second.outcome;
         next = runs_.find(tally_.jobs)) {
      take_up(next->second);
      runs_.erase(next);
      ++tally_.jobs;
    }
    if (steady_clock::now() - kept_at_ >= kKeptEvery) keep();
  }

  void take_up(Run& run) {
    forgive(run.open, *run.outcome);
    tally_.report.add(run.plan, *run.outcome);
    if (run.outcome->broken.empty() || options_.keep_going || first_) return;
    first_.emplace(run.plan, *run.outcome);
  }

  bool keep() {
    kept_at_ = steady_clock::now();
    tally_.wall = wall_before_ + std::chrono::duration_cast<std::chrono::seconds>(kept_at_ - began_at_).count();
    if (options_.tally.empty() || write_tally(options_.tally, tally_)) return true;
    out_ << "cannot write " << options_.tally << "\n";
    return false;
  }
  bool write_page() {
    if (options_.page.empty()) return true;
    const std::string wrong = write_part(options_.page, "runs", page_of(tally_));
    if (!wrong.empty()) out_ << wrong << "\n";
    return wrong.empty();
  }

  /// A known breach is no failure as long as it lasts; once it is mended, the line must no longer name it.
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
  Tally tally_;
  const std::uint64_t wall_before_;
  const steady_clock::time_point began_at_ = steady_clock::now();
  steady_clock::time_point kept_at_ = began_at_;
  std::map<std::uint64_t, Run> runs_;  // running, or not processed yet
  std::uint64_t begun_;
  std::optional<std::pair<Plan, Outcome>> first_;  // the first run that failed, which ends the session
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
  auto tally = read_tally(options.tally, said_of(options));
  if (!tally) {
    out << tally.error() << "\n";
    return Ended::unusable;
  }
  Session session(options, play, std::move(*jobs), std::move(*tally), out);
  return session.run();
}

}  // namespace penstock::simulation
