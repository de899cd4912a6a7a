// SPDX-License-Identifier: Apache-2.0
// Finds settings of a Config that are valid, but may not do what they seem to. For yaml_reader.cc.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/validate.h"
#include "penstock/config.h"

namespace penstock::config {

/// True if the file has this key: "upstreams.github.https".
using Said = std::function<bool(const std::string& path)>;

std::vector<Issue> find_warnings(const Config& config, const Said& said);

}  // namespace penstock::config
