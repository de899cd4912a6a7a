// SPDX-License-Identifier: Apache-2.0
// A limit in words, as in `window: 5000 in each window of 1h, shared`. For `explain` and `exec`.
#pragma once

#include <string>

#include "penstock/limits.h"

namespace penstock::app {

/// Name, kind, what it allows, and how far it reaches. `redis`: there is one to share limits through.
std::string limit_in_words(const LimitConfig& limit, bool redis);

}  // namespace penstock::app
