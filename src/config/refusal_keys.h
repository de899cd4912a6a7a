// SPDX-License-Identifier: Apache-2.0
// The keys of an upstream that say what follows a refusal or a failure: `retry` and `breaker`, each a section or the
// word off. For keys.cc.
#pragma once

#include <string>
#include <vector>

#include "config/reading.h"

namespace penstock::config {

void read_retry(Reading&, const Spot&, UpstreamSettings& into);
void list_retry(const std::string& path, std::vector<std::string>& into);
void read_breaker(Reading&, const Spot&, UpstreamSettings& into);
void list_breaker(const std::string& path, std::vector<std::string>& into);

}  // namespace penstock::config
