// SPDX-License-Identifier: Apache-2.0
// What prevents a configuration from replacing the one in force, beside its own errors. Reads files: not for the loop's
// thread once the loop runs. For engine.cc and proxy.cc only.
#pragma once

#include <vector>

#include "config/validate.h"
#include "penstock/config.h"

namespace penstock::app {

/// Unusable files: of TLS identities, and of the authority of interception.
std::vector<config::Issue> unusable_files(const Config& config);

/// These, and changes that a running proxy cannot adopt.
std::vector<config::Issue> why_not_reload(const Config& in_force, const Config& next);

}  // namespace penstock::app
