// SPDX-License-Identifier: Apache-2.0
// One connection's socket, TCP or Unix, on the loop. Every failure is told: a connection that is refused, a reset, an
// end. Writing is immediate; what the kernel does not take waits here. Only for link.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "loop/loop.h"

struct sockaddr;
struct uv_poll_s;

namespace penstock::redis {

/// Called from the loop or from read_now(). The Socket may be closed in any of them, and destroyed in on_gone().
class SocketEvents {
 public:
  virtual void on_connected() = 0;
  /// Valid for the call only.
  virtual void on_read(std::string_view bytes) = 0;
  /// The connection has failed or ended: `error` is an errno, 0 where the peer closed it.
  virtual void on_gone(int error) = 0;

 protected:
  ~SocketEvents() = default;
};

class Socket {
 public:
  Socket(loop::Loop& loop, SocketEvents& events) : loop_(loop), events_(events) {}
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  /// Begins to connect. An errno if it failed at once.
  int connect(const sockaddr* address, unsigned size);
  /// Once connected. An errno if the connection has failed.
  int write(std::string_view bytes);
  /// Reads what has come and was not read yet.
  void read_now();
  /// Nothing is told after it.
  void close();
  bool connected() const { return connected_; }

 private:
  void watch();
  void ready(int status, int happened);
  void finish_connecting();
  int pending_error() const;
  int flush();

  loop::Loop& loop_;
  SocketEvents& events_;
  int fd_ = -1;
  uv_poll_s* poll_ = nullptr;
  bool connected_ = false;
  int watched_ = 0;  // libuv's events
  std::string unsent_;
};

}  // namespace penstock::redis
