// SPDX-License-Identifier: Apache-2.0
// The histogram of the loop's lag, read at the beginning and at the end.
#include "system/loop_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "support/core_time.h"
#include "support/machine.h"

namespace penstock::trial {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view kName = "penstock_loop_lag_seconds_";

/// Of one sample of a page; 0 where it is not there.
double sample(const std::string& page, const std::string& name) {
  const std::string start = "\n" + std::string(kName) + name + " ";
  const auto at = page.find(start);
  return at == std::string::npos ? 0 : std::stod(page.substr(at + start.size()));
}

/// For how many seconds the turns between two pages which came later than a bound were late in all: known in two ways,
/// each from below, by the sum, less the most that the others can have had of it, and by the least that each bucket
/// stands for.
double stood_between(const std::string& before, const std::string& now, double bound) {
  constexpr std::array kBounds = {"0.0001", "0.0005", "0.001", "0.0025", "0.005", "0.01",
                                  "0.025",  "0.05",   "0.1",   "0.25",   "0.5",   "1"};
  const auto grown = [&](const std::string& name) { return sample(now, name) - sample(before, name); };
  double by_sum = grown("sum"), by_buckets = 0, lower = 0, below = 0;
  for (const std::string each : kBounds) {
    const double upper = std::stod(each), up_to = grown("bucket{le=\"" + each + "\"}"), here = up_to - below;
    if (upper <= bound) by_sum -= here * upper;
    if (upper > bound) by_buckets += here * lower;
    lower = upper, below = up_to;
  }
  return std::max(by_sum, by_buckets + (grown("count") - below) * lower);
}

double in_seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// How long each thread of the program has run.
std::map<std::string, std::chrono::nanoseconds> ran_of_threads(const Daemon& daemon) {
  std::map<std::string, std::chrono::nanoseconds> all;
  for (const auto& thread : test::threads_of(daemon.pid())) all[thread] = test::core_time_of(thread).ran;
  return all;
}

/// For how many seconds a processor of this machine has been kept from work that it had, the worst of them: nothing
/// within the machine tells whose work that was.
double stolen_from_a_processor() {
  std::ifstream stat("/proc/stat");
  double most = 0;
  std::string line;
  std::getline(stat, line);  // that of all together
  while (std::getline(stat, line) && line.starts_with("cpu")) {
    std::istringstream words(line.substr(line.find(' ')));
    double ticks = 0;
    for (int i = 1; i <= 8; ++i) words >> ticks;  // the eighth: see proc(5)
    most = std::max(most, ticks);
  }
  return most / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

std::string in_ms(double seconds) { return std::to_string(static_cast<int>(seconds * 1000)) + " ms"; }

}  // namespace

LoopWatch::LoopWatch(const Daemon& daemon)
    : daemon_(daemon), thread_of_loop_(find_thread_of_loop()), before_(so_far()) {}

// It is what runs while nobody asks for anything but this, which no other thread has a part in.
std::string LoopWatch::find_thread_of_loop() const {
  const auto before = ran_of_threads(daemon_);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(daemon_.admin("/healthz").status, 200);
  auto since = ran_of_threads(daemon_);
  for (const auto& [thread, ran] : before) since[thread] -= ran;
  return std::max_element(since.begin(), since.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// A stall is counted when it is over, by the turn that it has made late. That has been done where the count has moved:
// a page may be made between the two.
std::string LoopWatch::page_after_turns(double count) const {
  const double first = sample(daemon_.admin("/metrics").body, "count");
  std::string page;
  EXPECT_TRUE(eventually([&] {
    page = daemon_.admin("/metrics").body;
    return sample(page, "count") >= first + count;
  })) << "the loop's timer does not come";
  return page;
}

LoopWatch::Turns LoopWatch::so_far() const {
  std::string page = page_after_turns(1);
  const auto [ran, waited] = test::core_time_of(thread_of_loop_);
  return {.page = std::move(page), .ran = in_seconds(ran), .waited = in_seconds(waited) + stolen_from_a_processor()};
}

Clock::duration LoopWatch::waited() const {
  const std::chrono::duration<double> stolen(stolen_from_a_processor());
  return std::chrono::duration_cast<Clock::duration>(stolen) + test::core_time_of(thread_of_loop_).waited +
         test::core_time_of().waited;
}

// The machine explains late turns in two ways, which overlap: the system tells how long it let this thread wait, and
// the measure how long it let others wait. A late turn that waited has also run, for less than the bound: no more of it
// may be left than was waited for.
void LoopWatch::expect_in_time(double bound) const {
  const Turns now = so_far();
  const double stood = stood_between(before_.page, now.page, bound);
  const double waited = now.waited - before_.waited;
  const std::chrono::duration<double> late = test::machine_late(began_);
  const double slow = is_sanitized() ? 1 : 0;  // seconds in all that such a program computes for longer than it should
  const double explained = std::max(waited, late.count());
  EXPECT_LE(stood, explained + std::min(explained, bound) + slow)
      << "turns of the loop which came " << in_ms(bound) << " late or later stood for " << in_ms(stood)
      << " in all; it ran for " << in_ms(now.ran - before_.ran) << ", the machine let it wait for " << in_ms(waited)
      << ", and was late by " << in_ms(late.count());
}

}  // namespace penstock::trial
