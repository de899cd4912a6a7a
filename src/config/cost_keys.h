// SPDX-License-Identifier: Apache-2.0
// The keys of an upstream's `cost`. For keys.cc.
#pragma once

#include <string>
#include <vector>

#include "config/reading.h"

namespace penstock::config {

void read_cost(Reading& reading, const Spot& spot, UpstreamSettings& into);
void list_cost(const std::string& path, std::vector<std::string>& into);

}  // namespace penstock::config
