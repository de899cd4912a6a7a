// SPDX-License-Identifier: Apache-2.0
// A name for the settings in force, by which people see whether two processes have the same, and when they changed.
#pragma once

#include <string>

#include "penstock/config.h"

namespace penstock::app {

/// 12 hexadecimal digits of the SHA-256 of all settings that decide what happens to requests. Without secrets, the
/// values of headers in routes among them, and without the addresses to listen on, which processes of one configuration
/// do not share.
std::string config_hash(const Config& config);

}  // namespace penstock::app
