// SPDX-License-Identifier: Apache-2.0
// What processes tell each other of the limits that they share, so that it is noticed, and can be said, where they
// differ. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/limits.h"

namespace penstock::redis {

/// All parameters of the limits that are shared, in the order of their names, as they would stand in a configuration.
/// Whether a limit delays or refuses is left out: processes may differ in that.
std::string text_of(const std::vector<LimitConfig>& limits);

/// "<hash> <this machine and process> <text>": what a process tells of its limits. The hash alone is `hash_of`.
std::string told_of(const std::vector<LimitConfig>& limits);
/// What another process has told so, or anything else that stands in its place: "host/4711 has pacer { … }". Nothing of
/// it can be more than one line of plain text.
std::string told_to_people(std::string_view told);
/// Of the limits that are shared: the same where no parameter differs, and hardly elsewhere.
std::string hash_of(const std::vector<LimitConfig>& limits);

}  // namespace penstock::redis
