// SPDX-License-Identifier: Apache-2.0
// Two timers of ten milliseconds, one here, one there.
#include "system/loop_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

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

/// How many turns were at most so late.
double at_most(const std::string& page, std::string_view bound) {
  return sample(page, "bucket{le=\"" + std::string(bound) + "\"}");
}

/// How often each thread of the program has gone to sleep, by the place where the system tells of it.
std::map<std::string, int> sleeps(const Daemon& daemon) {
  std::map<std::string, int> all;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(daemon.pid()) + "/task")) {
    std::ifstream status(thread.path() / "status");
    for (std::string word; status >> word && word != "voluntary_ctxt_switches:";) {
    }
    status >> all[thread.path()];
  }
  return all;
}

/// For how many seconds a thread has waited for a processor: one that always has something to do waits where one that
/// sleeps is woken at once. 0 where the system does not tell.
double waited_for_a_processor(const std::string& thread) {
  double ran = 0, waited = 0;
  std::ifstream(thread + "/schedstat") >> ran >> waited;
  return waited / 1e9;
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
    : daemon_(daemon), thread_of_loop_(find_thread_of_loop()), before_(so_far()) {
  thread_ = std::thread([this] {
    while (!stopping_) sample_this_machine();
  });
}

// It is who goes to sleep between the loop's turns.
std::string LoopWatch::find_thread_of_loop() const {
  const auto before = sleeps(daemon_);
  after_turns(3);
  auto since = sleeps(daemon_);
  for (const auto& [thread, times] : before) since[thread] -= times;
  return std::max_element(since.begin(), since.end(), [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

void LoopWatch::sample_this_machine() {
  const auto due = Clock::now() + 10ms;
  std::this_thread::sleep_until(due);  // this is what is measured
  const std::chrono::duration<double> late = Clock::now() - due;
  if (late > 50ms) ++late_;
  if (late > 20ms) ++a_little_late_, stood_ += late.count();
}

LoopWatch::Turns LoopWatch::Turns::operator-(const Turns& before) const {
  return {.all = all - before.all,
          .slow = slow - before.slow,
          .by_sum = by_sum - before.by_sum,
          .by_buckets = by_buckets - before.by_buckets,
          .waited = waited - before.waited};
}

// How long the long turns stood is known in two ways, each from below: by the sum, less the most that the others can
// have had of it, and by the least that each bucket stands for.
LoopWatch::Turns LoopWatch::on_page(const std::string& page) {
  constexpr double kLong = 0.25;
  constexpr std::array kBounds = {"0.0001", "0.0005", "0.001", "0.0025", "0.005", "0.01",
                                  "0.025",  "0.05",   "0.1",   "0.25",   "0.5",   "1"};
  Turns turns;
  turns.all = sample(page, "count");
  turns.slow = turns.all - at_most(page, "0.05");
  turns.by_sum = sample(page, "sum");
  double lower = 0, below = 0;
  for (const char* bound : kBounds) {
    const double upper = std::stod(bound), up_to = at_most(page, bound), here = up_to - below;
    if (upper <= kLong) turns.by_sum -= here * upper;
    if (upper > kLong) turns.by_buckets += here * lower;
    lower = upper, below = up_to;
  }
  turns.by_buckets += (turns.all - below) * lower;
  return turns;
}

// A stall is counted when it is over, by the turn that it has made late. That has been done where the count has moved:
// a page may be made between the two.
LoopWatch::Turns LoopWatch::after_turns(double count) const {
  const double first = on_page(daemon_.admin("/metrics").body).all;
  Turns then;
  EXPECT_TRUE(eventually([&] {
    then = on_page(daemon_.admin("/metrics").body);
    return then.all >= first + count;
  })) << "the loop's timer does not come";
  return then;
}

LoopWatch::Turns LoopWatch::so_far() const {
  Turns turns = after_turns(1);
  turns.waited = waited_for_a_processor(thread_of_loop_) + stolen_from_a_processor();
  return turns;
}

const LoopWatch::Turns& LoopWatch::turns() {
  if (!turns_) turns_ = so_far() - before_;
  stop();
  return *turns_;
}

void LoopWatch::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

std::string LoopWatch::stalls() {
  const Turns& late = turns();
  const double allowed = (is_sanitized() ? 1 : 0.5) + 2 * stood_ + 1.5 * late.waited;
  if (late.stood() <= allowed) return "";
  return "the loop stood for " + in_ms(late.stood()) + " in all; the machine let it wait for " + in_ms(late.waited) +
         ", and us for " + in_ms(stood_) + "\n";
}

void LoopWatch::expect_no_stall() { EXPECT_EQ(stalls(), ""); }

std::string LoopWatch::slow_turns() {
  const std::string wrong = stalls();
  const int slow = static_cast<int>(turns().slow), by_waiting = static_cast<int>(turns().waited / 0.05);
  if (is_sanitized() || slow <= 5 + 3 * late_ + a_little_late_ + by_waiting) return wrong;
  return wrong + std::to_string(slow) + " turns of the loop came 50 ms late, or later; this machine itself was " +
         "20 ms late " + std::to_string(a_little_late_) + " times, and let it wait for " + in_ms(turns().waited) + "\n";
}

void expect_quick_turns(const std::function<std::string()>& attempt) {
  std::string all;
  for (int i = 0; i < 4; ++i) {
    const std::string wrong = attempt();
    if (wrong.empty()) return;
    all += wrong;
  }
  ADD_FAILURE() << all;
}

}  // namespace penstock::trial
