// SPDX-License-Identifier: Apache-2.0
// What several commands begin with: their settings, and a way to complain. For commands only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "penstock/config.h"

namespace penstock::app {

/// The file's settings, or the defaults if its name is empty. Null after all errors were printed to stderr.
std::optional<Config> settings(const std::string& config_file);
/// The same; adds warnings of settings that may not do what they seem to.
std::optional<Config> settings(const std::string& config_file, std::vector<ConfigError>& warnings);

/// Prints the error to stderr, and below it the line of the file with a mark below the place; but no line that may hold
/// a password.
void print(const ConfigError& error);

/// Prints `penstock: what` to stderr; returns 1, the exit code that follows.
int complain(const std::string& what);

/// How a client on this machine reaches a listener: one on all addresses is reached on loopback.
Endpoint from_here(const Endpoint& listener);

}  // namespace penstock::app
