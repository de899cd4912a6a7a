// SPDX-License-Identifier: Apache-2.0
// What is right in a Config, but may not do what it seems to. For yaml_reader.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/validate.h"
#include "penstock/config.h"

namespace penstock::config {

/// Whether the file has this key: "upstreams.github.https".
using Said = std::function<bool(const std::string& path)>;

std::vector<Issue> find_warnings(const Config& config, const Said& said);

}  // namespace penstock::config
