// SPDX-License-Identifier: Apache-2.0
// The file that `access.users` names, read and judged. For start, reload and `check`.
#pragma once

#include <expected>
#include <optional>
#include <vector>

#include "access/users.h"
#include "penstock/config.h"

namespace penstock::app {

/// What the configuration asks for: nothing where it names no file. Every error, with its file and line.
std::expected<std::optional<access::Users>, std::vector<ConfigError>> users_of(const AccessConfig& access);

}  // namespace penstock::app
