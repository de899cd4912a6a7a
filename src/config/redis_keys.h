// SPDX-License-Identifier: Apache-2.0
// The keys of `redis`: those of a single one, or names, each with the keys of one. For keys.cc.
#pragma once

#include <string>
#include <vector>

#include "config/reading.h"

namespace penstock::config {

/// `redis: { url: … }` is one with the name "default"; `redis: { main: { url: … }, eu: { url: … } }` are several.
void read_redis(Reading& reading, const Spot& spot, Config& config);
/// Lists the keys of one.
void list_redis(const std::string& path, std::vector<std::string>& into);

}  // namespace penstock::config
