// SPDX-License-Identifier: Apache-2.0
// What a process needs from the machine to reach Redis: connections and random numbers. Real sockets by default; a
// simulation provides its own. Only for this room and for simulations of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "loop/loop.h"

struct sockaddr;

namespace penstock::redis {

/// Called from the loop or from Wire::read_now(). The Wire may be closed in any of them, and destroyed in on_gone().
class WireEvents {
 public:
  virtual void on_connected() = 0;
  /// `bytes` are valid during the call only.
  virtual void on_read(std::string_view bytes) = 0;
  /// The connection has failed or ended: `error` is an errno, or 0 if the peer closed it.
  virtual void on_gone(int error) = 0;

 protected:
  ~WireEvents() = default;
};

/// One connection. Every failure is reported: a refused connection, a reset, the end of the stream.
class Wire {
 public:
  virtual ~Wire() = default;
  /// Begins to connect. Returns an errno if that failed at once, otherwise 0.
  virtual int connect(const sockaddr* address, unsigned size) = 0;
  /// To be called once connected. Returns an errno if the connection has failed, otherwise 0.
  virtual int write(std::string_view bytes) = 0;
  /// Reads what has arrived and was not read yet.
  virtual void read_now() = 0;
  /// No event is reported after it.
  virtual void close() = 0;
  virtual bool connected() const = 0;
};

class Network {
 public:
  virtual std::unique_ptr<Wire> wire(loop::Loop& loop, WireEvents& events) = 0;
  /// A random number that no other process draws: for names, and for spreading moments at which processes act.
  virtual std::uint64_t draw() = 0;

 protected:
  ~Network() = default;
};

/// The network of TCP and Unix sockets. Any thread.
Network& sockets();

}  // namespace penstock::redis
