// SPDX-License-Identifier: Apache-2.0
// See socket.h.
#include "transfer/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace penstock::transfer {

namespace {
// The port is at the same offset in both address families.
int port_of(const sockaddr_storage& end) { return ntohs(reinterpret_cast<const sockaddr_in&>(end).sin_port); }

std::string text_of(const sockaddr_storage& end) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* address = end.ss_family == AF_INET6
                            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(end).sin6_addr)
                            : &reinterpret_cast<const sockaddr_in&>(end).sin_addr;
  return inet_ntop(end.ss_family, address, text.data(), text.size()) ? text.data() : "";
}
}  // namespace

bool Socket::is_disturbed(const tls::OpensslPeek& connection) {
  const auto* socket = static_cast<const Socket*>(connection.owner);
  return !socket || socket->speaks_unasked();
}

bool Socket::speaks_unasked() const {
  if (secured) return secured->speaks_unasked(fd);
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

bool Socket::note_ends() {
  sockaddr_storage local{}, other{};
  socklen_t size = sizeof local, other_size = sizeof other;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) != 0) return false;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_size) != 0) return false;
  address = text_of(other);
  port = port_of(other);
  local_port = port_of(local);
  return true;
}

void Socket::hang_up(char* buffer, std::size_t size) const {
  ::shutdown(fd, SHUT_RDWR);
  // An upstream that is still sending must get a RST when the socket is closed, or it would wait for us to read.
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  // libcurl considers a socket dead only if it has nothing to read and no error to report.
  while (::recv(fd, buffer, size, MSG_DONTWAIT) > 0) {
  }
}

}  // namespace penstock::transfer
