// SPDX-License-Identifier: Apache-2.0
// Reads how limits stand in Redis, for viewers: all upstreams are asked at the same time, and a viewer waits until
// all have answered, but not for longer than a viewer should. For limiter_hub.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "flow/limiter.h"
#include "loop/loop.h"
#include "loop/timer.h"

namespace penstock::redis {

class LimitLooks {
 public:
  /// With what was seen just before, nothing that is shown is older than SeenLimits::kKnownFor.
  static constexpr flow::Time kMost = 45'000;

  explicit LimitLooks(loop::Loop& loop) : loop_(loop), timeout_(loop, [this] { end(); }) {}

  /// `ask_all(told)` asks each upstream to call `told`, and returns how many will. `seen` is called when they have, or
  /// after kMost; at once if none will.
  template <typename AskAll>
  void begin(AskAll ask_all, std::function<void()> seen) {
    waiting_.push_back(std::move(seen));
    if (waiting_.size() > 1) return;  // sees what the first one sees
    awaited_ = ask_all([this, round = ++round_] {
      if (round == round_ && awaited_ > 0 && --awaited_ == 0) end();
    });
    if (awaited_ == 0) return end();
    timeout_.start(loop_.now() + kMost);
  }

 private:
  void end() {
    timeout_.stop();
    ++round_;
    awaited_ = 0;
    for (const auto& seen : std::exchange(waiting_, {})) seen();
  }

  loop::Loop& loop_;
  std::vector<std::function<void()>> waiting_;
  std::uint64_t round_ = 0;
  std::size_t awaited_ = 0;
  loop::Timer timeout_;
};

}  // namespace penstock::redis
