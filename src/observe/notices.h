// SPDX-License-Identifier: Apache-2.0
// Writes diagnostics (Notice) to stderr at `log.level`, one line each, and plain text; drops what stderr does not take
// at once.
#pragma once

#include <string_view>

#include "penstock/event.h"

namespace penstock::observe {

/// The level's name as in the configuration.
std::string_view name_of(LogLevel level);

/// Writes one line of plain text to stderr, without level or time; at most 2 KiB of it.
void say_plainly(std::string_view text);

/// A sink that drops notices below `level`.
NoticeSink notices_to_stderr(LogLevel level);

}  // namespace penstock::observe
