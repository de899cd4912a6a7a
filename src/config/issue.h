// SPDX-License-Identifier: Apache-2.0
// One thing that is wrong with a value of a Config. Checks add issues, and validate and the reader hand them out.
#pragma once

#include <string>

namespace penstock::config {

struct Issue {
  std::string path;  ///< "upstreams.github.maxConcurrent", "access.deny[1]"
  std::string message;
  bool inherited = false;  ///< `defaults` has the same fault
};

}  // namespace penstock::config
