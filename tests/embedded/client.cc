// SPDX-License-Identifier: Apache-2.0
// Blocking, with the kernel's deadlines.
#include "client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace embedding {

namespace {
sockaddr_in address_of(std::string_view url) {
  const auto colon = url.rfind(':');
  const auto host_at = url.find("//") + 2;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(std::string(url.substr(colon + 1)))));
  inet_pton(AF_INET, std::string(url.substr(host_at, colon - host_at)).c_str(), &address.sin_addr);
  return address;
}
}  // namespace

Client::Client(std::string_view url) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const sockaddr_in address = address_of(url);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("cannot connect to " + std::string(url));
  }
}

Client::~Client() {
  if (socket_ >= 0) ::close(socket_);
}

void Client::send(std::string_view bytes) {
  if (::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    throw std::runtime_error("cannot send");
  }
}

std::string Client::some() {
  std::array<char, 4096> room;
  const ssize_t size = ::recv(socket_, room.data(), room.size(), 0);
  return size > 0 ? std::string(room.data(), static_cast<std::size_t>(size)) : std::string();
}

std::string Client::rest() {
  std::string all;
  for (std::string more; !(more = some()).empty();) all += more;
  return all;
}

void Client::vanish() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(std::exchange(socket_, -1));
}

std::string get(std::string_view proxy, std::string_view url) {
  Client client(proxy);
  client.send("GET " + std::string(url) + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  return client.rest();
}

}  // namespace embedding
