// SPDX-License-Identifier: Apache-2.0
// Checks the files of a TLS identity before the first request needs them.
#pragma once

#include <expected>

#include "penstock/config.h"
#include "penstock/error.h"

namespace penstock::tls {

/// Checks that the authorities, the certificate and the key can be read and belong together. The error begins with the
/// configuration key to blame: `tls.clientKey: …`. Private keys with a passphrase are refused, since no one can type
/// it.
std::expected<void, Error> check(const TlsConfig& identity);

}  // namespace penstock::tls
