// SPDX-License-Identifier: Apache-2.0
// Writes diagnostics (Notice) to stderr at `log.level`, one line each; drops one that stderr does not take at once.
#pragma once

#include "penstock/event.h"

namespace penstock::observe {

/// A sink that drops what is below `level`.
NoticeSink notices_to_stderr(LogLevel level);

}  // namespace penstock::observe
