// SPDX-License-Identifier: Apache-2.0
// Writes diagnostics (Notice) to stderr at `log.level`, one line each, and plain text; drops what stderr does not take
// at once.
#pragma once

#include <string_view>

#include "penstock/event.h"

namespace penstock::observe {

/// As the configuration writes it.
std::string_view name_of(LogLevel level);

/// A line of plain text for stderr, without a level and not stamped with a time; no more than 2 KiB of it.
void say_plainly(std::string_view text);

/// A sink that drops what is below `level`.
NoticeSink notices_to_stderr(LogLevel level);

}  // namespace penstock::observe
