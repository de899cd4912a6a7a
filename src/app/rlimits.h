// SPDX-License-Identifier: Apache-2.0
// What the daemon asks of the operating system: file descriptors, and a plain end where memory is out. Not for the
// library: such things are a program's own to decide.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "penstock/config.h"

namespace penstock::app {

/// Raises the limit on open files as far as it may be; how many there may be then.
std::size_t allow_open_files();
/// What to say if that is fewer than the caps and the upstreams may come to need.
std::optional<std::string> too_few_files(const Config& config, std::size_t allowed);

inline constexpr int kOutOfMemory = 70;  ///< the exit code
/// From now on whoever finds no memory ends the process, with a line on stderr.
void end_when_out_of_memory();

}  // namespace penstock::app
