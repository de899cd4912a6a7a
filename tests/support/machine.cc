// SPDX-License-Identifier: Apache-2.0
// One thread on each core sleeps until a set time, again and again, and records when it was woken too late.
#include "support/machine.h"

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace penstock::test {

using namespace std::chrono_literals;

namespace {

using Duration = MachineClock::duration;
using Moment = MachineClock::time_point;

constexpr Duration kPeriod = 4ms;
constexpr Duration kOrdinary = 1ms;  // an idle machine is late by that much too

struct Stall {
  Moment from, to;
};

class Watch {
 public:
  Watch() {
    cpu_set_t own;
    CPU_ZERO(&own);
    if (sched_getaffinity(0, sizeof own, &own) != 0) std::abort();
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &own)) cores_.push_back(std::make_unique<Core>(core));
    }
  }

  /// When at least one core was late between `from` and `to`: ascending and disjoint.
  std::vector<Stall> stalls(Moment from, Moment to) const {
    std::vector<Stall> all, merged;
    for (const auto& core : cores_) core->add_stalls(from, to, all);
    std::ranges::sort(all, {}, &Stall::from);
    for (const Stall& stall : all) {
      if (merged.empty() || stall.from > merged.back().to) merged.push_back(stall);
      merged.back().to = std::max(merged.back().to, stall.to);
    }
    return merged;
  }

 private:
  class Core {
   public:
    explicit Core(int core) : thread_([this, core](const std::stop_token& stop) { run(core, stop); }) {}

    /// A stall that still goes on counts too: its thread is overdue and has not recorded it yet.
    void add_stalls(Moment from, Moment to, std::vector<Stall>& all) const {
      const std::scoped_lock lock(mutex_);
      add({due_, MachineClock::now()}, from, to, all);
      for (auto stall = stalls_.rbegin(); stall != stalls_.rend() && stall->to > from; ++stall)
        add(*stall, from, to, all);
    }

   private:
    static void add(const Stall& stall, Moment from, Moment to, std::vector<Stall>& all) {
      const Stall part{std::max(stall.from, from), std::min(stall.to, to)};
      if (stall.to - stall.from >= kOrdinary && part.to > part.from) all.push_back(part);
    }

    void run(int core, const std::stop_token& stop) {
      cpu_set_t only;
      CPU_ZERO(&only);
      CPU_SET(core, &only);
      if (pthread_setaffinity_np(pthread_self(), sizeof only, &only) != 0) std::abort();
      for (Moment due = MachineClock::now(); !stop.stop_requested();) {
        due += kPeriod;
        expect_at(due);
        std::this_thread::sleep_until(due);  // this sleep is measured
        due = woken(due, MachineClock::now());
      }
    }
    void expect_at(Moment due) {
      const std::scoped_lock lock(mutex_);
      due_ = due;
    }
    Moment woken(Moment due, Moment now) {
      const std::scoped_lock lock(mutex_);
      if (now - due >= kOrdinary) stalls_.push_back({due, now});
      due_ = Moment::max();  // or this stall would count twice
      return now;
    }

    mutable std::mutex mutex_;
    Moment due_ = Moment::max();
    std::vector<Stall> stalls_;  // ascending
    std::jthread thread_;
  };

  std::vector<std::unique_ptr<Core>> cores_;
};

Watch& watch() {
  static Watch one;
  return one;
}

class Begin : public testing::Environment {
  void SetUp() override { watch(); }
};
[[maybe_unused]] const auto* const kBegin = testing::AddGlobalTestEnvironment(new Begin);

double seconds_of_processor() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/// Processor time of a fixed piece of work: bytes through a socket, each block hashed a few times.
double seconds_of_work() {
  constexpr int kRounds = 1'000, kLooks = 4;
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) std::abort();
  std::array<char, 1024> bytes{};
  const double began = seconds_of_processor();
  for (int round = 0; round < kRounds; ++round) {
    for (int look = 0; look < kLooks; ++look)
      bytes[0] = static_cast<char>(std::hash<std::string_view>()({bytes.data(), bytes.size()}));
    if (::write(ends[0], bytes.data(), bytes.size()) != std::ssize(bytes)) std::abort();
    if (::read(ends[1], bytes.data(), bytes.size()) != std::ssize(bytes)) std::abort();
  }
  const double took = seconds_of_processor() - began;
  for (const int end : ends) ::close(end);
  return took;
}

std::string in_ms(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()) + " ms";
}

std::string name_of_test() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return test ? std::string(test->test_suite_name()) + "." + test->name() : "outside of a test";
}

}  // namespace

Duration machine_late(Moment from, Moment to) {
  Duration sum{};
  for (const Stall& stall : watch().stalls(from, to)) sum += stall.to - stall.from;
  return sum;
}

testing::AssertionResult within(Duration bound, Moment from, Moment to) {
  const Duration late = machine_late(from, to);
  if (to - from <= bound + late) return testing::AssertionSuccess();
  return testing::AssertionFailure() << in_ms(to - from) << " passed, " << in_ms(bound) << " are allowed, and "
                                     << in_ms(late) << " by which this machine was late";
}

double machine_slowness() {
  constexpr double kThere = 0.0013;
  return std::max(1.0, seconds_of_work() / kThere);
}

bool not_judged(Moment from, Duration most, std::string_view what) {
  const Duration late = machine_late(from, MachineClock::now());
  if (late > most) say_not_judged(late, what);
  return late > most;
}

void say_not_judged(Duration late, std::string_view what) {
  std::string line = "machine: " + in_ms(late) + " late, not judged: " + name_of_test();
  if (!what.empty()) line.append(": ").append(what);
  line += '\n';
  std::fputs(line.c_str(), stderr);
  if (const char* file = std::getenv("PENSTOCK_NOT_JUDGED")) std::ofstream(file, std::ios::app) << line;
}

}  // namespace penstock::test
