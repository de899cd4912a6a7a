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
  /// Dials a literal address: loop::Stream::dial(), for ourselves.
  virtual std::unique_ptr<loop::Stream> dial(loop::Loop& loop, const Endpoint& there, loop::StreamEvents& events) = 0;
  /// Dials a Unix socket.
  virtual std::unique_ptr<loop::Stream> dial_path(loop::Loop& loop, const std::string& path,
                                                  loop::StreamEvents& events) = 0;
  /// A random number that no other process draws: for names, and for spreading moments at which processes act.
  virtual std::uint64_t draw() = 0;

 protected:
  ~Network() = default;
};

/// The network of TCP and Unix sockets. Any thread.
Network& sockets();

/// For people: why a stream is gone.
std::string why_gone(const loop::Stream& stream);

}  // namespace penstock::redis
