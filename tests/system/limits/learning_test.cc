// SPDX-License-Identifier: Apache-2.0
// A quota that others use, too: two daemons with a real Redis learn from the origin's answers what these take.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <random>
#include <thread>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

/// At most `kUnits` in each window of kLength, aligned to 1970, half of which are asked for by strangers at random
/// times. Every answer says what remains.
class SharedQuota {
 public:
  static constexpr int kUnits = 30;
  static constexpr std::chrono::microseconds kLength = 3s;
  /// Redis grants departures so far ahead: they leave, whatever is heard meanwhile.
  static constexpr std::chrono::microseconds kAhead = 50ms;
  struct Window {
    std::int64_t number = 0;
    int ours = 0, strangers = 0;
    int refused = 0;            // ours, all of them
    int refused_knowingly = 0;  // of them: when the first had been heard of by all
    int late = 0;               // ours that were due here, and came in the next one: some thread waited for a core
    std::chrono::microseconds first_refusal{};
    Clock::duration waited{};                        // for a core, since then
    std::vector<std::chrono::microseconds> to_come;  // strangers, by their times in the window, the latest first
  };

  void answer(Visit& visit, Arrivals& arrivals) {
    std::unique_lock lock(mutex_);
    const auto [at, waited] = arrivals.note();
    const auto now = std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch());
    if (windows_.empty() || windows_.back().number != now / kLength) begin(now / kLength);
    Window& window = windows_.back();
    const auto offset = now % kLength;
    if (windows_.size() > 1 && std::min<Clock::duration>(waited, kAhead) > offset) ++windows_.end()[-2].late;
    window.waited += waited;
    send_strangers(window, offset);
    const bool fits = window.ours + window.strangers < kUnits;
    if (fits) {
      ++window.ours;
    } else {
      refuse(window, offset);
    }
    const int remaining = kUnits - window.ours - window.strangers;
    const double resets = std::chrono::duration<double>(kLength - offset).count();
    const std::string lines = "X-RateLimit-Limit: " + std::to_string(kUnits) +
                              "\r\nX-RateLimit-Remaining: " + std::to_string(remaining) +
                              "\r\nX-RateLimit-Reset-After: " + std::to_string(resets) + "\r\n";
    lock.unlock();
    visit.answer(fits ? 200 : 429, "hello", lines);
  }

  /// Those that are over, but for the first, which may have begun before.
  std::vector<Window> whole() {
    const std::lock_guard lock(mutex_);
    if (windows_.size() < 3) return {};
    std::vector<Window> all(windows_.begin() + 1, windows_.end() - 1);
    for (Window& window : all) send_strangers(window, kLength);
    return all;
  }

 private:
  void begin(std::int64_t number) {
    Window& window = windows_.emplace_back();
    window.number = number;
    std::uniform_int_distribution<std::int64_t> any(0, kLength.count() - 1);
    for (int i = 0; i < kUnits / 2; ++i) window.to_come.emplace_back(any(random_));
    std::ranges::sort(window.to_come, std::greater());
  }
  static void refuse(Window& window, std::chrono::microseconds offset) {
    if (++window.refused == 1) {
      window.first_refusal = offset;
      window.waited = {};
    } else if (offset - window.first_refusal > kAhead + std::min<Clock::duration>(window.waited, kAhead)) {
      ++window.refused_knowingly;
    }
  }
  static void send_strangers(Window& window, std::chrono::microseconds until) {
    for (; !window.to_come.empty() && window.to_come.back() <= until; window.to_come.pop_back()) {
      if (window.ours + window.strangers < kUnits) ++window.strangers;
    }
  }

  std::mutex mutex_;
  std::mt19937 random_{1};
  std::vector<Window> windows_;
};

TEST(SharedQuotaOfStrangers, is_used_up_and_hardly_exceeded) {
  SharedStage stage({.limits = "window: { reservoir: 30, interval: 3s, spread: true }",
                     .timeout = "8s",
                     .upstream = "learn: on\nqueue: { maxWait: 1m }"});
  SharedQuota quota;
  stage.origin.otherwise([&](Visit& visit) { quota.answer(visit, stage.arrivals); });
  for (int i = 0; i < 2; ++i) stage.arrivals.watch(stage.add().pid());
  stage.arrivals.watch(stage.redis.pid());
  std::atomic<bool> stopping = false;
  std::atomic<int> not_served = 0;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&, &daemon = stage.daemons[i % 2]] {
      while (!stopping) not_served += stage.fetch(daemon, "/", "Authorization: Bearer ours\r\n").status != 200;
    });
  }
  EXPECT_TRUE(eventually([&] { return quota.whole().size() >= 4; }));
  stopping = true;
  clients.clear();
  int ours = 0, left = 0;
  for (const auto& window : quota.whole()) {
    EXPECT_LE(window.refused, 2) << "one of each process";
    EXPECT_EQ(window.refused_knowingly, 0);
    const int here = SharedQuota::kUnits - window.strangers;
    ours += std::min(window.ours + window.late, here), left += here;
  }
  EXPECT_EQ(not_served, 0) << "no client sees a refusal";
  EXPECT_GE(ours, 0.95 * left) << ours << " of " << left;
}

}  // namespace
}  // namespace penstock::trial
