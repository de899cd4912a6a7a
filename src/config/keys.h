// SPDX-License-Identifier: Apache-2.0
// Which keys a configuration file has, and what each sets: one table per section, in keys.cc and limit_keys.cc.
#pragma once

#include <string>
#include <vector>

#include "config/reading.h"

namespace penstock::config {

/// Reads the document's root into `config`, which holds the defaults.
void read_root(Reading& reading, const Node& root, Config& config);

/// Every key with its path, sections included: "proxy", "proxy.listen", "upstreams.NAME.match", …
std::vector<std::string> known_keys();

}  // namespace penstock::config
