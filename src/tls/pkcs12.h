// SPDX-License-Identifier: Apache-2.0
// Authorities in the form in which Java wants them. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock::tls {

/// Every certificate of `pem` as a trusted one, in a PKCS#12 file that Java reads from version 8 on, without a
/// password. Empty: there is no certificate.
std::string make_trust_store(std::string_view pem);

}  // namespace penstock::tls
