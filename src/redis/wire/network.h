// SPDX-License-Identifier: Apache-2.0
// What a process needs of the machine to reach Redis: connections, and chance. Real sockets by default; a simulation
// has its own. Only for this room, and for whoever simulates it.
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
  /// Valid for the call only.
  virtual void on_read(std::string_view bytes) = 0;
  /// The connection has failed or ended: `error` is an errno, 0 where the peer closed it.
  virtual void on_gone(int error) = 0;

 protected:
  ~WireEvents() = default;
};

/// One connection. Every failure is told: one that is refused, a reset, an end.
class Wire {
 public:
  virtual ~Wire() = default;
  /// Begins to connect. An errno if it failed at once.
  virtual int connect(const sockaddr* address, unsigned size) = 0;
  /// Once connected. An errno if the connection has failed.
  virtual int write(std::string_view bytes) = 0;
  /// Reads what has come and was not read yet.
  virtual void read_now() = 0;
  /// Nothing is told after it.
  virtual void close() = 0;
  virtual bool connected() const = 0;
};

class Network {
 public:
  virtual std::unique_ptr<Wire> wire(loop::Loop& loop, WireEvents& events) = 0;
  /// A number that no other process draws: for names, and for moments at which not all shall do the same.
  virtual std::uint64_t draw() = 0;

 protected:
  ~Network() = default;
};

/// Of sockets, TCP and Unix. Any thread.
Network& sockets();

}  // namespace penstock::redis
