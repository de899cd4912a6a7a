// SPDX-License-Identifier: Apache-2.0
// Makes trust stores of authorities for Java. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock::tls {

/// A PKCS#12 file without a password that has every certificate of `pem` as a trusted one; Java reads it from version 8
/// on. Empty: `pem` has no certificate.
std::string make_trust_store(std::string_view pem);

}  // namespace penstock::tls
