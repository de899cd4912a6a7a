// SPDX-License-Identifier: Apache-2.0
// A Wire over a socket, TCP or Unix, on the loop. Writes go out at once; bytes that the kernel does not take wait in a
// buffer. Only for socket.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "redis/wire/network.h"

struct uv_poll_s;

namespace penstock::redis {

class Socket final : public Wire {
 public:
  Socket(loop::Loop& loop, WireEvents& events) : loop_(loop), events_(events) {}
  ~Socket() override { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int connect(const sockaddr* address, unsigned size) override;
  int write(std::string_view bytes) override;
  void read_now() override;
  void close() override;
  bool connected() const override { return connected_; }

 private:
  void watch();
  void ready(int status, int happened);
  void finish_connecting();
  int pending_error() const;
  int flush();

  loop::Loop& loop_;
  WireEvents& events_;
  int fd_ = -1;
  uv_poll_s* poll_ = nullptr;
  bool connected_ = false;
  int watched_ = 0;  // libuv's event bits
  std::string unsent_;
};

}  // namespace penstock::redis
