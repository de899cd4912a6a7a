// SPDX-License-Identifier: Apache-2.0
// Blocking sockets; a request is a head, and as many bytes as its Content-Length says.
#include "origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace embedding {

namespace {
constexpr std::size_t kBig = 16 * 1024 * 1024;

bool receive(int socket, std::string& into) {
  std::array<char, 16 * 1024> room;
  const ssize_t size = ::recv(socket, room.data(), room.size(), 0);
  if (size > 0) into.append(room.data(), static_cast<std::size_t>(size));
  return size > 0;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

std::size_t content_length(const std::string& head) {
  const auto at = head.find("\r\nContent-Length: ");
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + 18));
}

std::string whole(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}
}  // namespace

Origin::Origin() : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (::bind(listening_, any, size) != 0 || ::listen(listening_, 512) != 0) throw std::runtime_error("cannot listen");
  ::getsockname(listening_, any, &size);
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this] { accept_all(); });
}

Origin::~Origin() {
  let_go();
  ::shutdown(listening_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
  }
  pools_.clear();
  ::close(listening_);
}

std::string Origin::authority() const { return "127.0.0.1:" + std::to_string(port_); }
std::string Origin::url(std::string_view path) const { return "http://" + authority() + std::string(path); }

std::string Origin::echo(std::string_view method, std::string_view path, std::string_view body) {
  return std::string(method).append(" ").append(path).append(" ").append(body);
}

void Origin::let_go() {
  const std::lock_guard lock(mutex_);
  let_go_ = true;
  released_.notify_all();
}

std::size_t Origin::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t Origin::most_at_once() const {
  const std::lock_guard lock(mutex_);
  return most_held_;
}

void Origin::accept_all() {
  for (int socket; (socket = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
    const std::lock_guard lock(mutex_);
    open_.insert(socket);
    pools_.emplace_back([this, socket] { serve(socket); });
  }
}

void Origin::serve(int socket) {
  std::string bytes;
  do {
    const auto end = bytes.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    const std::string head = bytes.substr(0, end + 2);
    const std::size_t length = content_length(head);
    if (bytes.size() < end + 4 + length) continue;
    const std::string body = bytes.substr(end + 4, length);
    bytes.erase(0, end + 4 + length);
    const auto path_at = head.find(' ') + 1;
    const std::string path = head.substr(path_at, head.find(' ', path_at) - path_at);
    if (!send_all(socket, answer(head.substr(0, path_at - 1), path, body)) || path.starts_with("/half")) break;
  } while (receive(socket, bytes));
  forget(socket);
}

std::string Origin::answer(std::string_view method, std::string_view path, std::string_view body) {
  {
    const std::lock_guard lock(mutex_);
    ++requests_;
  }
  if (path.starts_with("/half")) return "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nten bytes.";
  if (path.starts_with("/big")) return whole(std::string(kBig, 'b'));
  if (path.starts_with("/hold")) hold();
  return whole(echo(method, path, body));
}

void Origin::hold() {
  std::unique_lock lock(mutex_);
  most_held_ = std::max(most_held_, ++held_);
  released_.wait(lock, [this] { return let_go_; });
  --held_;
}

void Origin::forget(int socket) {
  const std::lock_guard lock(mutex_);
  open_.erase(socket);
  ::close(socket);
}

}  // namespace embedding
