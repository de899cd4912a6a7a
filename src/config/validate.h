// SPDX-License-Identifier: Apache-2.0
// What is wrong with the values of a Config, wherever they came from: ranges, names, networks, patterns that collide.
// Knows keys by their paths, not files. For yaml_reader.cc; everyone else calls penstock::validate.
#pragma once

#include <string>
#include <vector>

#include "penstock/config.h"

namespace penstock::config {

struct Issue {
  std::string path;  ///< "upstreams.github.maxConcurrent", "access.deny[1]"
  std::string message;
  bool inherited = false;  ///< `defaults` has the same fault
};

std::vector<Issue> find_issues(const Config& config);

}  // namespace penstock::config
