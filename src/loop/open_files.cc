// SPDX-License-Identifier: Apache-2.0
// See open_files.h.
#include "loop/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace penstock::loop {

int most_open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, std::numeric_limits<int>::max()));
}

}  // namespace penstock::loop
