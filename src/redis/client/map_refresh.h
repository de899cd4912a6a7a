// SPDX-License-Identifier: Apache-2.0
// When a cluster's slot map is asked for: soon when it may have changed, otherwise at intervals that grow to a minute.
// One refresh runs at a time. Only for cluster.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "loop/loop.h"
#include "loop/timer.h"
#include "redis/wire/network.h"

namespace penstock::redis {

class MapRefresh {
 public:
  /// `network` must outlive it. `start` is called when a refresh is to start, from the loop and from start_now().
  MapRefresh(loop::Loop& loop, Network& network, std::function<void()> start)
      : loop_(loop),
        network_(network),
        start_(std::move(start)),
        finished_at_(loop.now() - kLongestInterval),
        timer_(loop, [this] { start_now(); }) {}

  void start_now() {
    running_ = true;
    requested_again_ = false;
    start_();
  }
  bool running() const { return running_; }
  /// The map may have changed. A refresh that is running may have been answered before the change, so another follows.
  void request() {
    if (running_) {
      requested_again_ = true;
      return;
    }
    const auto interval = kShortestInterval + static_cast<std::int64_t>(network_.draw() % kJitter);
    timer_.start(std::max(loop_.now(), finished_at_ + interval));
  }
  /// The refresh has ended, with or without a map. To be followed by request() or schedule().
  void finished() {
    running_ = false;
    finished_at_ = loop_.now();
  }
  /// Plans the next refresh; `soon`: the map that was read is in doubt.
  void schedule(bool soon) {
    if (soon || requested_again_) return request();
    timer_.start(loop_.now() + interval_);
    interval_ = std::min(2 * interval_, kLongestInterval);
  }

 private:
  static constexpr std::int64_t kShortestInterval = 300'000, kLongestInterval = 60'000'000;
  static constexpr std::uint64_t kJitter = 100'000;          // so that processes do not ask at the same moment
  static constexpr std::int64_t kSecondRefresh = 5'000'000;  // nodes name a replica only when that has its data

  loop::Loop& loop_;
  Network& network_;
  const std::function<void()> start_;
  bool running_ = false, requested_again_ = false;
  std::int64_t finished_at_, interval_ = kSecondRefresh;
  loop::Timer timer_;
};

}  // namespace penstock::redis
