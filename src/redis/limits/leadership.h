// SPDX-License-Identifier: Apache-2.0
// Which shared counters this process resets, of all upstreams at one Redis: for people. See counter_resets.h.
#pragma once

#include <cstdint>

namespace penstock::redis {

struct Leadership {
  std::uint64_t resets = 0;  ///< made by this process
  std::int64_t led = 0;      ///< counters, each group's and route's by itself, which it has the lease of
};

}  // namespace penstock::redis
