// SPDX-License-Identifier: Apache-2.0
// Sets the socket option.
#include "loop/notsent_lowat.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "loop/stream.h"

namespace penstock::loop {

void limit_unsent(int fd) {
  const int most = Stream::kHighWater;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof most);
}

}  // namespace penstock::loop
