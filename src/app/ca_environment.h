// SPDX-License-Identifier: Apache-2.0
// The environment variables that make programs trust the authority of interception, beside the authorities that they
// trust anyway. For `env`, `exec` and `doctor`.
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
  std::vector<std::string> warnings;  ///< which programs will not trust it, though they may be meant to
};

/// For a proxy at `listener`. If nothing is intercepted, only Java's variable, since Java has no other for the proxy.
/// Values already in `environment` stay in force: their files are joined with the authority, and Java's options stay
/// before ours. The files of certificates are made in `folder`, and with them nothing outside it; empty: in the user's.
std::expected<Trust, std::string> trust_variables(const Config& config, const Endpoint& listener,
                                                  const Environment& environment = process_environment,
                                                  const std::string& folder = {});

/// These variables and those by which programs find the proxy. Prints warnings to stderr; null after an error, which is
/// printed too.
std::optional<Variables> variables_for(const Config& config, const Endpoint& listener, const std::string& folder = {});

}  // namespace penstock::app
