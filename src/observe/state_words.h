// SPDX-License-Identifier: Apache-2.0
// What people are told of the state of an upstream, of its pauses and of requests that were sent again: the same words
// wherever they are shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/snapshot.h"

namespace penstock::observe {

/// With two or three digits, in a unit that suits it: "20 ms", "0.7 s", "61 s", "12 min", "2 h", "3 d".
std::string rounded(Duration duration);
/// What happens at the upstream: "held to 15/s; last in line leaves in 1.6 s", "PAUSED by the API (429) for 0.7 s; then
/// one probe". "FULL: " before that says that the queue takes no more requests. Empty: nothing waits, and nothing stops
/// it.
std::string state_in_words(const UpstreamSnapshot& upstream);
/// What is known of a Redis: "Cluster over TLS up, 3 processes", "Cluster 2 of 3 nodes, DOWN: 127.0.0.1:7002; 3
/// processes, our share 1/3". With fewer than one process, how many there are is not known.
std::string redis_in_words(const RedisSnapshot& redis);
/// The same of all; where there are several, by their names.
std::string redis_in_words(const std::vector<RedisSnapshot>& redis);
/// "asked again 2 times". Empty: never.
std::string again_in_words(std::uint64_t repeats);

}  // namespace penstock::observe
