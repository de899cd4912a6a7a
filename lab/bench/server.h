// SPDX-License-Identifier: Apache-2.0
// What both origins are: one thread that accepts on a free port of 127.0.0.1, reads requests without bodies until its
// standard input ends, and leaves to the derived class what to do with them.
#pragma once

#include <sys/epoll.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/sockets.h"

namespace penstock::bench {

class Server {
 public:
  virtual ~Server() = default;
  /// Says `port N`, and returns at the end of the standard input.
  void run();

 protected:
  /// A whole head has come, given without the empty line that ends it.
  virtual void request(int fd, std::string_view head) = 0;
  /// As recv(2).
  virtual ssize_t read(int fd, std::span<char> bytes);
  /// What stands on the standard input.
  virtual void obey(std::string_view /*order*/) {}
  /// This connection is about to be closed: its client went.
  virtual void gone(int /*fd*/) {}
  /// When due() wants to be called; nothing: never.
  virtual std::optional<std::chrono::steady_clock::time_point> due_at() const { return std::nullopt; }
  virtual void due() {}

  int listener() const { return listener_; }
  std::size_t connections() const { return connections_; }  ///< accepted so far

 private:
  void turn();
  int wait(std::span<epoll_event> events) const;
  void serve(int fd);
  void accept_all();
  void listen_to_orders();
  void receive(int fd);
  std::string take_heads(int fd, std::string_view bytes);

  const int epoll_ = new_epoll();
  const int listener_ = listen_on_loopback();
  std::vector<std::string> partial_;  ///< by file descriptor: the beginning of a head
  std::size_t connections_ = 0;
  bool over_ = false;
};

}  // namespace penstock::bench
