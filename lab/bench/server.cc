// SPDX-License-Identifier: Apache-2.0
// The loop of the origins, over epoll. Its cost is part of what is measured beside it: no bytes are copied but those
// of a head that comes in pieces.
#include "bench/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "bench/answer.h"

namespace penstock::bench {

using namespace std::chrono_literals;

void Server::run() {
  watch(epoll_, STDIN_FILENO, STDIN_FILENO);
  watch(epoll_, listener_, static_cast<std::uint64_t>(listener_));
  std::printf("port %d\n", port_of(listener_));
  std::fflush(stdout);
  while (!over_) turn();
}

void Server::turn() {
  std::array<epoll_event, 256> events;
  const int ready = wait(events);
  for (int at = 0; at < ready; ++at) serve(static_cast<int>(events[at].data.u64));
  if (const auto next = due_at(); next && *next <= std::chrono::steady_clock::now()) due();
}

int Server::wait(std::span<epoll_event> events) const {
  using namespace std::chrono;
  const auto next = due_at();
  const auto left = next ? std::max(nanoseconds(0), nanoseconds(*next - steady_clock::now())) : nanoseconds(0);
  const timespec time{.tv_sec = left / 1s, .tv_nsec = (left % 1s).count()};
  const int ready =
      epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), next ? &time : nullptr, nullptr);
  if (ready < 0 && errno != EINTR) die_of_errno("epoll_pwait2");
  return ready;
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
