// SPDX-License-Identifier: Apache-2.0
// Whether the system's certificate authorities exist, which verify TLS to upstreams unless `tls.ca` is set. Minimal
// images have none, and every request over TLS fails there.
#pragma once

#include <string>
#include <vector>

#include "config/validate.h"
#include "penstock/config.h"

namespace penstock::app {

/// The issue if they cannot be read and an upstream's settings use TLS: one, at the first such upstream.
std::vector<config::Issue> missing_authorities(const Config& config);

/// The same as a sentence, where settings do not use TLS but clients may: any client may send `https://` URLs. Empty:
/// the authorities exist, or nothing needs them.
std::string warning_of_authorities(const Config& config);

}  // namespace penstock::app
