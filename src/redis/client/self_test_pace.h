// SPDX-License-Identifier: Apache-2.0
// When the self-test may run: one at a time, now and then while nothing is wrong, and soon after an error reply that
// may mean more than the failure of one call. Only for redis.cc.
#pragma once

#include <cstdint>

namespace penstock::redis {

class SelfTestPace {
 public:
  explicit SelfTestPace(std::int64_t now) : suspected_at_(now - kBetweenSuspicions) {}

  void begin(std::int64_t now) {
    running_ = true;
    began_at_ = now;
  }
  void end() { running_ = false; }
  bool running() const { return running_; }
  /// Whether the last one was long ago.
  bool is_due(std::int64_t now) const { return now - began_at_ >= kBetweenTests; }
  /// True: one is to run for this suspicion, which is not the second within a short time.
  bool suspect(std::int64_t now) {
    if (running_ || now - suspected_at_ < kBetweenSuspicions) return false;
    suspected_at_ = now;
    return true;
  }

 private:
  static constexpr std::int64_t kBetweenSuspicions = 1'000'000;
  static constexpr std::int64_t kBetweenTests = 10'000'000;

  bool running_ = false;
  std::int64_t began_at_ = 0, suspected_at_;
};

}  // namespace penstock::redis
