// SPDX-License-Identifier: Apache-2.0
// Where the authority of interception is stored, and whether it is usable. For start, reload and the commands about it.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "penstock/config.h"
#include "penstock/error.h"
#include "tls/authority.h"

namespace penstock::app {

/// Whether any upstream is intercepted.
bool intercepts(const Config& config);

/// The files named in the configuration; otherwise `ca.pem` and `ca-key.pem` in $XDG_CONFIG_HOME/penstock, or in
/// ~/.config/penstock. Empty paths: this user has no such folder.
tls::AuthorityFiles authority_files(const InterceptConfig& intercept,
                                    const Environment& environment = process_environment);

/// Null if nothing is intercepted. The error begins with the key of the configuration: `intercept.key: …`.
std::expected<std::shared_ptr<const tls::Authority>, Error> authority_of(const Config& config);

/// A warning if it expires within 30 days, or within a tenth of its whole time, or has expired; otherwise empty. It
/// lasts ten years, and is forgotten by then.
std::string warning_of_end(const tls::Authority& authority);

}  // namespace penstock::app
