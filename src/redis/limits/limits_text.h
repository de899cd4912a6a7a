// SPDX-License-Identifier: Apache-2.0
// Texts and hashes of limits, which processes exchange to detect and report where the limits that they share differ.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/limits.h"

namespace penstock::redis {

/// All parameters of the shared limits, sorted by name, in the form of a configuration. Whether a limit delays or
/// refuses is left out: processes may differ in that.
std::string text_of(const std::vector<LimitConfig>& limits);

/// "<hash> <host/pid> <text>": what a process reports of its limits. The hash alone is `hash_of`.
std::string make_limits_report(const std::vector<LimitConfig>& limits);
/// The report of another process, for a notice: "host/4711 has pacer { … }". The input is not trusted; the result is
/// one line of plain text whatever it is.
std::string describe_limits_report(std::string_view report);
/// Hash of the shared limits: the same if no parameter differs, and almost surely different otherwise.
std::string hash_of(const std::vector<LimitConfig>& limits);
/// A number of a configuration, as people and Lua read it, e.g. 0.5 or 100000.
std::string spelt(double number);

}  // namespace penstock::redis
