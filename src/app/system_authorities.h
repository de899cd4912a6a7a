// SPDX-License-Identifier: Apache-2.0
// Whether the system's authorities are there, by which TLS to upstreams is verified where no `tls.ca` is named. Minimal
// images have none, and every request over TLS fails there.
#pragma once

#include <string>
#include <vector>

#include "config/validate.h"
#include "penstock/config.h"

namespace penstock::app {

/// What is wrong where they cannot be read and an upstream speaks TLS by its settings: once, at the first of them.
std::vector<config::Issue> missing_authorities(const Config& config);

/// The same in a sentence where no settings say so, but clients may: `https://` URLs are taken from everybody. Empty:
/// they are there, or nothing needs them.
std::string warning_of_authorities(const Config& config);

}  // namespace penstock::app
