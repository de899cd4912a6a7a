// SPDX-License-Identifier: Apache-2.0
// A client of the admin port for tests.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "penstock/config.h"

namespace penstock::observe {

// A blocking client; a read that takes ten seconds ends the test with what there is.
class AdminClient {
 public:
  explicit AdminClient(const Endpoint& server) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port);
    ::inet_pton(AF_INET, server.address.c_str(), &address.sin_addr);
    EXPECT_EQ(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  AdminClient(AdminClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)), read_(std::move(other.read_)) {}
  ~AdminClient() {
    if (fd_ >= 0) ::close(fd_);
  }

  void send(std::string_view bytes) { EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size()); }

  // One answer with a Content-Length, and its body unless it answers HEAD.
  std::string answer(bool with_body = true) {
    while (read_.find("\r\n\r\n") == std::string::npos && more()) {
    }
    std::size_t end = read_.find("\r\n\r\n") + 4;
    const auto length_at = read_.find("Content-Length: ");
    if (with_body && length_at < end) end += std::stoul(read_.substr(length_at + 16));
    while (read_.size() < end && more()) {
    }
    const std::string whole = read_.substr(0, end);
    read_.erase(0, end);
    return whole;
  }

  std::string until_closed() {
    while (more()) {
    }
    return std::exchange(read_, {});
  }

  // What is read up to and with `end`; shorter if nothing more comes.
  std::string until(std::string_view end) {
    while (read_.find(end) == std::string::npos && more()) {
    }
    const auto at = read_.find(end);
    const std::string piece = at == std::string::npos ? read_ : read_.substr(0, at + end.size());
    read_.erase(0, piece.size());
    return piece;
  }

  // The data of the next server-sent event of that kind; empty: none came.
  std::string event(std::string_view kind) {
    const std::string begin = "event: " + std::string(kind) + "\ndata: ";
    for (std::string text = until("\n\n"); !text.empty(); text = until("\n\n")) {
      if (text.starts_with(begin)) return text.substr(begin.size(), text.size() - begin.size() - 2);
    }
    return {};
  }

 private:
  bool more() {
    char piece[16384];
    const ssize_t size = ::recv(fd_, piece, sizeof piece, 0);
    if (size > 0) read_.append(piece, static_cast<std::size_t>(size));
    return size > 0;
  }

  int fd_;
  std::string read_;
};

}  // namespace penstock::observe
