// SPDX-License-Identifier: Apache-2.0
// The keys of an upstream's routes. For keys.cc.
#pragma once

#include <string>
#include <vector>

#include "config/reading.h"

namespace penstock::config {

/// Reads the list of routes. Their limits come behind those of the upstream, and each route starts from its settings:
/// so all its other keys come before. Paths count as the list does: "upstreams.github.routes[1].limits[0].window".
void read_routes(Reading& reading, const Spot& spot, UpstreamSettings& into);
/// Lists the keys that a route may have: "match", "match.path", …
void list_routes(const std::string& path, std::vector<std::string>& into);

}  // namespace penstock::config
