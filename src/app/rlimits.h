// SPDX-License-Identifier: Apache-2.0
// What the daemon asks of the operating system: file descriptors, and a plain exit when memory runs out. Not for the
// library: the program decides such things.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "penstock/config.h"

namespace penstock::app {

/// Raises the limit on open files as far as allowed; returns the limit then in force.
std::size_t allow_open_files();
/// A warning if that is fewer than the caps and the upstreams may need.
std::optional<std::string> too_few_files(const Config& config, std::size_t allowed);

inline constexpr int kOutOfMemory = 70;  ///< the exit code
/// From now on a failed allocation ends the process, with a line on stderr.
void end_when_out_of_memory();

}  // namespace penstock::app
