// SPDX-License-Identifier: Apache-2.0
// RLIMIT_NOFILE, and the part of it that dialled sockets may use.
#include "loop/fd_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace penstock::loop {

int most_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

int ceiling_of_dials() {
  constexpr int kKept = 16;
  const int all = most_open_files();
  return all - std::min(kKept, all / 8);
}

}  // namespace penstock::loop
