// SPDX-License-Identifier: Apache-2.0
// What people are told of an upstream's pauses and of requests that were sent again: the same words wherever they are
// shown.
#pragma once

#include <cstdint>
#include <string>

#include "penstock/snapshot.h"

namespace penstock::observe {

/// "0.7 s", "20 ms".
std::string rounded(Duration duration);
/// "PAUSED by the API (429) for 0.7 s; then one probe". Empty: nothing stops the upstream.
std::string state_in_words(const UpstreamSnapshot& upstream);
/// "asked again 2 times". Empty: never.
std::string again_in_words(std::uint64_t repeats);

}  // namespace penstock::observe
