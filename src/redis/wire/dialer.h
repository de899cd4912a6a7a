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
#include <vector>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "redis/wire/failure.h"
#include "redis/wire/network.h"

namespace penstock::redis {

/// Where to dial.
struct Place {
  std::string host;  ///< a name or an address
  std::uint16_t port = 0;
  std::string path;  ///< a Unix socket's, used instead if not empty
  bool tls = false;
  std::string name{};  ///< that its certificate must be for; empty: the host
  bool operator==(const Place&) const = default;
};

/// Whether a host is an address, and no name.
bool is_address(const std::string& host);
/// Of a Redis that no Sentinel has to name.
Place place_in(const RedisConfig& config);
/// For notices: "host:port" or "unix:path".
std::string to_string(const Place& place);
/// For notices: where the Redis of a configuration is.
std::string place_of(const RedisConfig& config);

class Dialer final : loop::StreamEvents {
 public:
  /// Called once, from the loop: with a connected stream, or with why there is none. The Dialer must not be destroyed
  /// in it.
  using Done = std::move_only_function<void(std::expected<std::unique_ptr<loop::Stream>, Failure>)>;
  /// Called when it is known where to dial: one of these is dialled next.
  using Found = std::move_only_function<void(const std::vector<Endpoint>&)>;

  /// Begins at once. `attempt` selects which of several addresses is tried first; `until` is the time at which it gives
  /// up. `resolver` and `network` must outlive it.
  Dialer(loop::Loop& loop, loop::Resolver& resolver, Network& network, Place place, std::size_t attempt,
         std::int64_t until, Found found, Done done);
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

 private:
  void on_connected() override;
  void on_gone() override;
  void on_read(std::string_view) override {}
  void on_drained() override {}

  void find();
  void dial_all(const loop::Addresses& addresses);
  void dial_next();
  void finish(std::expected<std::unique_ptr<loop::Stream>, Failure> outcome);

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  Network& network_;
  const Place place_;
  const std::size_t attempt_;
  Found found_;
  Done done_;
  std::unique_ptr<loop::Resolver::Lookup> lookup_;
  loop::Addresses addresses_;
  std::size_t tried_ = 0;  // of `addresses_`
  std::unique_ptr<loop::Stream> stream_;
  loop::Timer deadline_;
};

}  // namespace penstock::redis
