// SPDX-License-Identifier: Apache-2.0
// The loop of the origins, over epoll. Its cost is part of what is measured beside it: no bytes are copied but those
// of a head that comes in pieces.
#include "bench/server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>

namespace penstock::bench {

namespace {}  // namespace

void Server::run() {
  watch(epoll_, STDIN_FILENO, STDIN_FILENO);
  watch(epoll_, listener_, static_cast<std::uint64_t>(listener_));
  std::printf("port %d\n", port_of(listener_));
  std::fflush(stdout);
  while (!over_) turn();
}

void Server::turn() {
  std::array<epoll_event, 256> events;
  const int ready = epoll_wait(epoll_, events.data(), events.size(), -1);
  if (ready < 0 && errno != EINTR) die_of_errno("epoll_wait");
  for (int at = 0; at < ready; ++at) serve(static_cast<int>(events[at].data.u64));
}

void Server::serve(int fd) {
  if (fd == listener_) return accept_all();
  if (fd == STDIN_FILENO) return listen_to_orders();
  receive(fd);
}

void Server::accept_all() {
  for (int fd; (fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0; ++connections_) {
    if (partial_.size() <= static_cast<std::size_t>(fd)) partial_.resize(fd + 1);
    watch(epoll_, fd, static_cast<std::uint64_t>(fd));
  }
  if (errno != EAGAIN) die_of_errno("accept");
}

void Server::listen_to_orders() {
  std::array<char, 256> line;
  const ssize_t size = ::read(STDIN_FILENO, line.data(), line.size());
  over_ = size <= 0;
  if (!over_) obey({line.data(), static_cast<std::size_t>(size)});
}

ssize_t Server::read(int fd, std::span<char> bytes) { return recv(fd, bytes.data(), bytes.size(), 0); }

void Server::receive(int fd) {
  std::array<char, 16384> bytes;
  const ssize_t size = read(fd, bytes);
  if (size < 0 && errno == EAGAIN) return;
  std::string& before = partial_[fd];
  if (size <= 0) {
    gone(fd);
    before.clear();
    close(fd);
  } else if (before.empty()) {
    before = take_heads(fd, {bytes.data(), static_cast<std::size_t>(size)});
  } else {
    before.append(bytes.data(), static_cast<std::size_t>(size));
    before = take_heads(fd, before);
  }
}

/// Gives back what is left of the bytes.
std::string Server::take_heads(int fd, std::string_view bytes) {
  for (std::size_t end; (end = bytes.find(kEndOfHead)) != bytes.npos;) {
    request(fd, bytes.substr(0, end));
    bytes.remove_prefix(end + kEndOfHead.size());
  }
  return std::string(bytes);
}

}  // namespace penstock::bench
