// SPDX-License-Identifier: Apache-2.0
// Asks the sentinels of a configuration, one after the other, where the master is.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <string>

#include "redis/wire/sentinel.h"

namespace penstock::redis {

class MasterFinder final : SentinelEvents {
 public:
  struct Master {
    Place place;
    std::size_t sentinel = 0;  ///< the one that says so
  };
  /// Called once, from the loop. The MasterFinder must not be destroyed in it.
  using Done = std::move_only_function<void(const std::expected<Master, Failure>&)>;

  /// Begins at once, with the sentinel of the number `first`. `config`, which has sentinels, `resolver` and `network`
  /// must outlive it.
  MasterFinder(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
               std::size_t first, Dialer::Found found, Done done);
  MasterFinder(const MasterFinder&) = delete;
  MasterFinder& operator=(const MasterFinder&) = delete;

 private:
  void on_sentinel() override;
  void on_sentinel_reply(const Outcome& outcome) override;
  void on_sentinel_gone(const Failure& why) override;
  void ask_next(const Failure& why);

  const RedisConfig& config_;
  Done done_;
  std::size_t asked_ = 0;
  Sentinel sentinel_;
};

}  // namespace penstock::redis
