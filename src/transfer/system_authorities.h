// SPDX-License-Identifier: Apache-2.0
// Whom https trusts where the configuration names nobody.
#pragma once

#include <string>

namespace penstock::transfer {

/// Where authorities are read from without `tls.ca`: the file that SSL_CERT_FILE names, an administrator's choice for
/// all programs, or the one that libcurl was built with. Empty: there is none.
std::string system_authorities();

}  // namespace penstock::transfer
