// SPDX-License-Identifier: Apache-2.0
// The environment variables by which programs trust the authority of interception, beside whom they trust anyway.
// For `env`, `exec` and `doctor`.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "app/proxy_environment.h"
#include "penstock/config.h"

namespace penstock::app {

struct Trust {
  Variables variables;
  std::vector<std::string> warnings;  ///< of what programs will not trust, though they may be meant to
};

/// For a proxy that listens there. Where nothing is intercepted, Java's alone, which has no other for the proxy. What
/// the variables say already in `environment` stays in force: their files are joined with the authority, and options of
/// Java stay before ours.
std::expected<Trust, std::string> trust_variables(const Config& config, const Endpoint& listener,
                                                  const Environment& environment = process_environment);

/// These and those by which they find the proxy. Warnings go to stderr, and so does an error: nothing then.
std::optional<Variables> variables_for(const Config& config, const Endpoint& listener);

}  // namespace penstock::app
