// SPDX-License-Identifier: Apache-2.0
// What several commands need to begin with: their settings, and a way to complain. For commands only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "penstock/config.h"

namespace penstock::app {

/// The file's settings, or the defaults where its name is empty. Nothing after every error was printed on stderr.
std::optional<Config> settings(const std::string& config_file);
/// The same, with what may not do there what it seems to.
std::optional<Config> settings(const std::string& config_file, std::vector<ConfigError>& warnings);

/// `penstock: what` on stderr; returns 1, the exit code that follows.
int complain(const std::string& what);

/// Where a client on this machine finds a listener: one on all addresses is found on loopback.
Endpoint from_here(const Endpoint& listener);

}  // namespace penstock::app
