// SPDX-License-Identifier: Apache-2.0
// See held_port.h.
#include "support/held_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace penstock::test {

HeldPort::HeldPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0)
    throw std::system_error(errno, std::generic_category(), "a port");
  ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  number_ = ntohs(address.sin_port);
}

HeldPort::~HeldPort() { ::close(fd_); }

}  // namespace penstock::test
