// SPDX-License-Identifier: Apache-2.0
// Finds where Redis is, and dials its addresses one after another until one connects. Knows nothing of what is said on
// the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "redis/wire/failure.h"
#include "redis/wire/network.h"

namespace penstock::redis {

class Dialer final : loop::StreamEvents {
 public:
  /// Called once, from the loop: with a connected stream, or with why there is none. The Dialer must not be destroyed
  /// in it.
  using Done = std::move_only_function<void(std::expected<std::unique_ptr<loop::Stream>, Failure>)>;
  /// Called when a host name has led to addresses, one of which is dialled next.
  using Found = std::move_only_function<void(const loop::Addresses&)>;

  /// Begins at once. `attempt` selects which of several addresses is tried first; `until` is the time at which it gives
  /// up. `config`, `resolver` and `network` must outlive it.
  Dialer(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config, std::size_t attempt,
         std::int64_t until, Found found, Done done);
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

 private:
  void on_connected() override;
  void on_gone() override;
  void on_read(std::string_view) override {}
  void on_drained() override {}

  void find();
  void dial_next();
  void finish(std::expected<std::unique_ptr<loop::Stream>, Failure> outcome);

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  Network& network_;
  const RedisConfig& config_;
  const std::size_t attempt_;
  Found found_;
  Done done_;
  std::unique_ptr<loop::Resolver::Lookup> lookup_;
  loop::Addresses addresses_;
  std::size_t tried_ = 0;  // of `addresses_`
  std::unique_ptr<loop::Stream> stream_;
  loop::Timer deadline_;
};

/// Where Redis is, for people: "host:port" or "unix:path".
std::string place_of(const RedisConfig& config);

}  // namespace penstock::redis
