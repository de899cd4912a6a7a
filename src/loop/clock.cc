// SPDX-License-Identifier: Apache-2.0
// The system's clocks.
#include "loop/clock.h"

#include <uv.h>

#include <chrono>

namespace penstock::loop {

std::int64_t system_now() { return static_cast<std::int64_t>(uv_hrtime() / 1000); }

std::int64_t system_wall() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
}

}  // namespace penstock::loop
