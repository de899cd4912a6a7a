// SPDX-License-Identifier: Apache-2.0
// The settings of `penstock exec` without a file: hosts that are intercepted, and their limits, from its options.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "penstock/config.h"

namespace penstock::app {

/// What the options say, in the order in which they were given.
struct HostLimits {
  std::vector<std::string> presets;  ///< names, as `penstock presets` lists them
  std::vector<std::string> limits;   ///< PATTERN=RATE or PATTERN=KIND:AMOUNT/DURATION, PATTERN as in `match`
  std::vector<std::string> most;     ///< PATTERN=N: at most N in flight
  std::string redis;                 ///< the URL of the Redis through which the limits are shared; empty: none

  bool any() const { return !presets.empty() || !limits.empty() || !most.empty(); }
};

/// One upstream for each preset and for each other pattern, named after it, so that two commands with one Redis share
/// its limits. All of them are intercepted. The error names the option to blame.
std::expected<Config, std::string> config_of(const HostLimits& given);

/// Gives `config` an authority that lives in memory alone and can sign for the hosts of its upstreams only. It is good
/// from one hour ago for 30 days, its leaves for one.
void make_own_authority(Config& config);

}  // namespace penstock::app
