// SPDX-License-Identifier: Apache-2.0
// Our own file descriptor under uv_poll: the same code for TCP and Unix sockets.
#include "redis/wire/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <cerrno>
#include <random>
#include <utility>

namespace penstock::redis {

namespace {

void set(int fd, int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); }

/// Keep-alive detects a peer that vanishes silently, even on a connection on which we only listen.
void tune(int fd) {
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

void Socket::close() {
  const auto freed = [](uv_handle_t* poll) { delete reinterpret_cast<uv_poll_t*>(poll); };
  if (auto* poll = std::exchange(poll_, nullptr)) uv_close(reinterpret_cast<uv_handle_t*>(poll), freed);
  if (const int fd = std::exchange(fd_, -1); fd >= 0) ::close(fd);
}

int Socket::connect(const sockaddr* address, unsigned size) {
  fd_ = ::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return errno;
  if (address->sa_family != AF_UNIX) tune(fd_);
  if (::connect(fd_, address, size) != 0 && errno != EINPROGRESS) return errno;
  auto* poll = new uv_poll_t;
  if (const int error = uv_poll_init(loop_.uv(), poll, fd_); error != 0) {
    delete poll;
    return -error;
  }
  poll_ = poll;
  poll_->data = this;
  watch();
  return 0;
}

void Socket::watch() {
  const int events = (connected_ ? UV_READABLE : 0) | (!connected_ || !unsent_.empty() ? UV_WRITABLE : 0);
  if (!poll_ || events == std::exchange(watched_, events)) return;
  uv_poll_start(poll_, events, [](uv_poll_t* poll, int status, int happened) {
    static_cast<Socket*>(poll->data)->ready(status, happened);
  });
}

/// libuv stops polling a socket that has an error and hides which error it is. Bytes that arrived before it are still
/// read.
void Socket::ready(int status, int happened) {
  if (status < 0) {
    const int error = pending_error();
    if (connected_) read_now();
    return events_.on_gone(error != 0 ? error : -status);
  }
  if (!connected_) return finish_connecting();
  if (happened & UV_WRITABLE) {
    if (const int error = flush(); error != 0) return events_.on_gone(error);
  }
  if (happened & UV_READABLE) read_now();
}

void Socket::finish_connecting() {
  if (const int error = pending_error(); error != 0) return events_.on_gone(error);
  connected_ = true;
  watch();
  events_.on_connected();
}

int Socket::pending_error() const {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

int Socket::write(std::string_view bytes) {
  if (unsent_.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return errno;
    bytes.remove_prefix(sent > 0 ? static_cast<std::size_t>(sent) : 0);
  }
  unsent_.append(bytes);
  watch();
  return 0;
}

int Socket::flush() {
  const std::string rest = std::exchange(unsent_, {});
  return write(rest);
}

void Socket::read_now() {
  if (fd_ < 0) return;
  const auto size = ::recv(fd_, loop_.read_buffer(), loop::Loop::kReadBuffer, 0);
  if (size > 0) return events_.on_read({loop_.read_buffer(), static_cast<std::size_t>(size)});
  if (size < 0 && errno == EAGAIN) return;
  events_.on_gone(size < 0 ? errno : 0);
}

namespace {

class Sockets final : public Network {
  std::unique_ptr<Wire> wire(loop::Loop& loop, WireEvents& events) override {
    return std::make_unique<Socket>(loop, events);
  }
  std::uint64_t draw() override {
    std::random_device random;
    return static_cast<std::uint64_t>(random()) << 32 | random();
  }
};

}  // namespace

Network& sockets() {
  static Sockets all;
  return all;
}

}  // namespace penstock::redis
