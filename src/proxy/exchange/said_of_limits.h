// SPDX-License-Identifier: Apache-2.0
// What the answers to one request have said of limits, those that its client did not get too. For its event.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock::proxy {

struct SaidOfLimits {
  std::vector<std::uint16_t> refusals;  ///< the statuses of those that refused it, in their order
  int unreadable = 0;                   ///< fields that are about limits, and cannot be read
};

}  // namespace penstock::proxy
