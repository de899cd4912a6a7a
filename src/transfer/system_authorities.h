// SPDX-License-Identifier: Apache-2.0
// The authorities that https trusts if the configuration names none.
#pragma once

#include <string>

namespace penstock::transfer {

/// The file of authorities used without `tls.ca`: the one that SSL_CERT_FILE names, an administrator's choice for all
/// programs, or the one that libcurl was built with. Empty: none.
std::string system_authorities();

}  // namespace penstock::transfer
