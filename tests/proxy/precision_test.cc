// SPDX-License-Identifier: Apache-2.0
// How near to their booked times requests take off: never before, and hardly after. Measured from the booking to the
// dispatch that observers see, with the flights of the others going on meanwhile, and compared with a thread that does
// nothing but sleep: what is the machine's fault is not ours.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <iostream>
#include <thread>

#include "dispatching.h"
#include "proxy/recording_booker.h"

namespace penstock::proxy {
namespace {

/// Microseconds by which something was late, each time.
struct Lateness {
  std::vector<std::int64_t> all;
  void sort() { std::sort(all.begin(), all.end()); }
  std::int64_t share(std::size_t percent) const { return all[(all.size() - 1) * percent / 100]; }
};

std::ostream& operator<<(std::ostream& out, const Lateness& late) {
  return out << late.share(50) << " us (half), " << late.share(99) << " us (99 %), " << late.share(100)
             << " us (worst)";
}

/// Sleeps to every second millisecond, and is late for each that it sleeps through, as requests are for theirs.
class Sleeper {
 public:
  explicit Sleeper(const loop::Loop& loop) : thread_([this, &loop] { sleep(loop); }) {}
  ~Sleeper() {
    if (thread_.joinable()) wake();
  }
  Lateness wake() {
    done_ = true;
    thread_.join();
    late_.sort();
    return late_;
  }

 private:
  void sleep(const loop::Loop& loop) {
    for (std::int64_t due = loop.now(); !done_; due += 2'000) {
      const timespec until{.tv_sec = due / 1'000'000, .tv_nsec = due % 1'000'000 * 1'000};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
      late_.all.push_back(loop.now() - due);
    }
  }

  Lateness late_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

class PrecisionTest : public DispatcherTest {
 protected:
  PrecisionTest() : origin_(test::always(kOk)) {
    make_booker_ = recording_bookers(run_.loop, record_);
    config_.unmatched.queue.max_pending = kRequests;
    config_.unmatched.limits = {{PacerConfig{.qps = 500}}};
  }

  Lateness take_off() {
    told_.clear();
    record_.departures.clear();
    std::deque<Asker> askers(kRequests);
    for (auto& asker : askers) get(asker, origin_.host());
    EXPECT_TRUE(run_.run_until([&] { return std::ranges::all_of(askers, &Asker::over); }));
    Lateness late;
    for (const auto& one : told_) {
      if (one.kind == EventKind::dispatch) late.all.push_back(one.at - record_.departures[late.all.size()]);
    }
    EXPECT_EQ(late.all.size(), kRequests);
    late.sort();
    return late;
  }

  static constexpr std::size_t kRequests = 1000;
  test::Origin origin_;
  Record record_;
};

TEST_F(PrecisionTest, departures_are_never_early_and_hardly_late) {
  std::int64_t ours = 0;
  for (int round = 0; round < 5; ++round) {
    Sleeper sleeper(run_.loop);
    const Lateness late = take_off(), machine = sleeper.wake();
    std::cout << "late by " << late << "; the sleeper: " << machine << "\n";
    EXPECT_GE(late.share(0), 0) << "never early";
    ours = late.share(99) - machine.share(99);
    if (ours < 2'000) break;
  }
  EXPECT_LT(ours, 2'000);
}

}  // namespace
}  // namespace penstock::proxy
