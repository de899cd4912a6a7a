// SPDX-License-Identifier: Apache-2.0
// The keys of an upstream's limits: one table per kind. For keys.cc.
#pragma once

#include <string>
#include <vector>

#include "config/reading.h"

namespace penstock::config {

/// Reads `rate: 15/s`: its limits come before all others.
void read_rate(Reading& reading, const Spot& spot, UpstreamSettings& into);
/// Reads the list of limits. Paths count as the vector does: "upstreams.github.limits[1].window.interval".
void read_limits(Reading& reading, const Spot& spot, UpstreamSettings& into);
/// Lists the keys that a limit may have: "pacer", "pacer.qps", …
void list_limits(const std::string& path, std::vector<std::string>& into);
/// Reports each `shared: true` that is written although there is no Redis.
void check_shared(Reading& reading, const Config& config);

}  // namespace penstock::config
