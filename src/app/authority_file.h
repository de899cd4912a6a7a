// SPDX-License-Identifier: Apache-2.0
// Where the authority of interception lies, and that it can be used. For start, reload and the commands about it.
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

/// What the configuration names; otherwise `ca.pem` and `ca-key.pem` in $XDG_CONFIG_HOME/penstock, or in
/// ~/.config/penstock. Empty paths: there is no such folder for this user.
tls::AuthorityFiles authority_files(const InterceptConfig& intercept,
                                    const Environment& environment = process_environment);

/// Nothing where nothing is intercepted. The error begins with the key of the configuration: `intercept.key: …`.
std::expected<std::shared_ptr<const tls::Authority>, Error> authority_of(const Config& config);

/// A warning, where it ends within 30 days or has ended; otherwise empty. It was made for ten years, and then
/// forgotten.
std::string warning_of_end(const tls::Authority& authority);

}  // namespace penstock::app
