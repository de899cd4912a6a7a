// SPDX-License-Identifier: Apache-2.0
// Binds a test's socket to an address with a port that was chosen at another address. At 127.0.0.2 and its neighbors
// that port may be in use by the client of another test.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>

namespace penstock::test {

/// 127.9.0.2: an address of this machine from which no client connects.
inline constexpr in_addr_t kElsewhere = INADDR_LOOPBACK + (9 << 16) + 1;

/// False: the place was not free within five seconds.
inline bool take_place(int fd, const sockaddr_in& place) {
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  for (int i = 0; i < 100; ++i) {
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&place), sizeof place) == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

}  // namespace penstock::test
