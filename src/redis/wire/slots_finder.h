// SPDX-License-Identifier: Apache-2.0
// Asks nodes of a Redis Cluster, one after the other, which of them has which slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "redis/wire/connection.h"
#include "redis/wire/dialer.h"
#include "redis/wire/network.h"
#include "redis/wire/slot_map.h"

namespace penstock::redis {

class SlotsFinder final : ConnectionEvents {
 public:
  /// Called once, from the loop. The SlotsFinder must not be destroyed in it.
  using Done = std::move_only_function<void(std::expected<SlotMap, Failure>)>;

  /// Begins in the next iteration of the loop, and asks none that could answer after `until`, but one. `places` is not
  /// empty. `resolver` and `network` must outlive it.
  SlotsFinder(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
              std::vector<Place> places, std::int64_t until, Dialer::Found found, Done done);
  SlotsFinder(const SlotsFinder&) = delete;
  SlotsFinder& operator=(const SlotsFinder&) = delete;

 private:
  void on_ready() override;
  void on_reply(Call call, const Outcome& outcome) override;
  void on_message(std::string_view) override {}
  void on_ended(const Failure& why, std::deque<Call> unanswered) override;
  void dial();
  void fail(const Failure& why);

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  Network& network_;
  const RedisConfig config_;  // its time-out is longer
  const std::vector<Place> places_;
  const std::int64_t until_;
  Dialer::Found found_;
  Done done_;
  std::size_t asked_ = 0;  // of `places_`
  bool answered_ = false;
  loop::Timer next_;                        // nothing may be destroyed in its own events
  std::unique_ptr<Dialer> dialer_;          // the one that is done stays until the next is made
  std::unique_ptr<Connection> connection_;  // likewise
};

}  // namespace penstock::redis
