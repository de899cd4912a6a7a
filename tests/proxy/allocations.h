// SPDX-License-Identifier: Apache-2.0
// How often this thread has allocated. For this room's tests, whose program counts.
#pragma once

#include <cstddef>

namespace penstock::proxy {

std::size_t allocations_so_far();

}  // namespace penstock::proxy
