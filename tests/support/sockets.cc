// SPDX-License-Identifier: Apache-2.0
// Plain system calls.
#include "support/sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <utility>

namespace penstock::test {

namespace {
constexpr timeval kPatience{.tv_sec = 60, .tv_usec = 0};

std::mutex closing;  // for all sockets: end_reads() must not meet a descriptor that was closed and reused

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::uint16_t port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}
}  // namespace

Socket::Socket(int fd) : fd_(fd) {
  if (fd_ < 0) return;
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
}

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      layer_(std::move(other.layer_)),
      read_(std::move(other.read_)),
      reset_(other.reset_) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(layer_, other.layer_);
  std::swap(read_, other.read_);
  std::swap(reset_, other.reset_);
  return *this;
}

Socket::~Socket() { close(); }

bool Socket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent =
        layer_ ? layer_->send(bytes.data(), bytes.size()) : ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) {
      EXPECT_TRUE(errno == EPIPE || errno == ECONNRESET) << errno;
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Socket::more() {
  char piece[64 * 1024];
  const ssize_t size = layer_ ? layer_->receive(piece, sizeof piece) : ::recv(fd_, piece, sizeof piece, 0);
  if (size > 0) read_.append(piece, static_cast<std::size_t>(size));
  if (size < 0) {
    reset_ = errno == ECONNRESET;
    EXPECT_TRUE(reset_) << "nothing came: " << errno;
  }
  return size > 0;
}

std::string Socket::read_some(std::size_t most) {
  if (read_.empty()) more();
  return read(std::min(most, read_.size()));
}

std::string Socket::read(std::size_t size) {
  while (read_.size() < size && more()) {
  }
  const std::string taken = read_.substr(0, size);
  read_.erase(0, size);
  return taken;
}

std::string Socket::read_until(std::string_view mark) {
  std::size_t at = read_.find(mark);
  while (at == std::string::npos && more()) at = read_.find(mark);
  return read(at == std::string::npos ? read_.size() : at + mark.size());
}

std::string Socket::read_to_end() {
  while (more()) {
  }
  return std::exchange(read_, {});
}

std::string Socket::peek() {
  char piece[64 * 1024];
  const ssize_t size = ::recv(fd_, piece, sizeof piece, MSG_PEEK | MSG_DONTWAIT);
  return read_ + std::string(piece, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
}

bool Socket::put_on(const Wrap& wrap) {
  layer_ = wrap(fd_);
  return layer_ != nullptr;
}

void Socket::shut_down() {
  if (layer_) layer_->say_goodbye();
  ::shutdown(fd_, SHUT_WR);
}

void Socket::end_reads() {
  const std::lock_guard lock(closing);
  if (fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);
}

void Socket::close() {
  if (layer_) layer_->say_goodbye();
  cut();
}

void Socket::cut() {
  layer_.reset();
  const std::lock_guard lock(closing);
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Socket::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  cut();
}

std::uint16_t Socket::port() const { return port_of(fd_); }

Socket connect_to(std::uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  EXPECT_EQ(::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << errno;
  return socket;
}

ListeningSocket::ListeningSocket(int backlog, std::uint16_t port)
    : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in address = loopback(port);
  const int on = 1;
  if (port != 0) ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(fd_, backlog), 0);
  port_ = port_of(fd_);
}

ListeningSocket::~ListeningSocket() { ::close(fd_); }

/// accept4() takes a descriptor before it waits. It is called once it need not wait, so that a test which leaves no
/// descriptor for a while does not end the thread that accepts.
Socket ListeningSocket::accept() {
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  while (::poll(&waiting, 1, -1) < 0 && errno == EINTR) {
  }
  return Socket(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC));
}

void ListeningSocket::close() { ::shutdown(fd_, SHUT_RDWR); }

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace penstock::test
