// SPDX-License-Identifier: Apache-2.0
// Reads and validates the file that `access.users` names. For start, reload and `check`.
#pragma once

#include <expected>
#include <optional>
#include <vector>

#include "access/users.h"
#include "penstock/config.h"

namespace penstock::app {

/// Null if the configuration names no file. All errors, each with its file and line.
std::expected<std::optional<access::Users>, std::vector<ConfigError>> users_of(const AccessConfig& access);

}  // namespace penstock::app
