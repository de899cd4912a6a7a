// SPDX-License-Identifier: Apache-2.0
// What a process needs from the machine to reach Redis: streams to it and random numbers. Real sockets by default; a
// simulation provides its own, and another transport, such as TLS, is another Network.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "loop/loop.h"
#include "loop/stream.h"
#include "penstock/config.h"

namespace penstock::redis {

class Network {
 public:
  /// Dials a literal address, to which a name has led; a certificate must be for `host`: loop::Stream::dial(), for
  /// ourselves.
  virtual std::unique_ptr<loop::Stream> dial(loop::Loop& loop, const Endpoint& there, const std::string& host,
                                             loop::StreamEvents& events) = 0;
  /// Dials a Unix socket.
  virtual std::unique_ptr<loop::Stream> dial_path(loop::Loop& loop, const std::string& path,
                                                  loop::StreamEvents& events) = 0;
  /// Where sentinels are spoken to otherwise than the Redis that they name: with other certificates.
  virtual Network& for_sentinels() { return *this; }
  /// A random number that no other process draws: for names, and for spreading moments at which processes act.
  virtual std::uint64_t draw() = 0;
  virtual ~Network() = default;
};

/// The network of TCP and Unix sockets. Any thread.
Network& sockets();

/// For notices: why a stream is gone.
std::string why_gone(const loop::Stream& stream);

}  // namespace penstock::redis
