// SPDX-License-Identifier: Apache-2.0
// What keeps a configuration from taking the place of the one in force, besides what is wrong with it anyway. Looks at
// files: not for the loop's thread once it runs. Only for engine.cc and proxy.cc.
#pragma once

#include <vector>

#include "config/validate.h"
#include "penstock/config.h"

namespace penstock::app {

/// Files of TLS identities, and of the authority of interception, that no request could use.
std::vector<config::Issue> unusable_files(const Config& config);

/// These, and what a running proxy cannot take on.
std::vector<config::Issue> why_not_reload(const Config& in_force, const Config& next);

}  // namespace penstock::app
