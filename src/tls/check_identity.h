// SPDX-License-Identifier: Apache-2.0
// The files of a TLS identity, looked at before the first request needs them.
#pragma once

#include <expected>

#include "penstock/config.h"
#include "penstock/error.h"

namespace penstock::tls {

/// Whether its authorities, certificate and key can be read, and belong together. The error begins with the key that is
/// to blame: `tls.clientKey: …`. Keys with a passphrase are refused: nobody is there to type it.
std::expected<void, Error> check(const TlsConfig& identity);

}  // namespace penstock::tls
