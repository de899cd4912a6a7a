// SPDX-License-Identifier: Apache-2.0
// What `penstock check --live` finds out of a Redis of a configuration, by asking it.
#pragma once

#include <string>
#include <vector>

#include "penstock/config.h"

namespace penstock::app {

struct LiveFindings {
  std::vector<std::string> facts;     ///< sentences about what is well
  std::vector<std::string> warnings;  ///< what may lose or forget limits
  std::vector<std::string> errors;    ///< why limits cannot be shared
};

/// Connects as the daemon would, and waits a few seconds at most. Writes to Redis only what a connecting process
/// writes: the keys of its self-test. Runs a loop of its own on the calling thread. `path` is where its keys stand.
LiveFindings check_live(const RedisConfig& redis, const std::string& path, const DnsConfig& dns);

}  // namespace penstock::app
