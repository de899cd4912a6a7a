// SPDX-License-Identifier: Apache-2.0
// Why TLS with an upstream did not come about, in words for people who can do something about it. Nothing secret.
#pragma once

#include <string>
#include <string_view>

namespace penstock::tls {

/// Of OpenSSL's verdict on the upstream's certificate, as libcurl tells it: where that complains of none of its own
/// (0), or of nothing special (1), it has found the certificate good, but for another name.
std::string wrong_certificate(long verdict);

/// Of a failed handshake, from what OpenSSL said: `…error:0A000410:SSL routines::sslv3 alert handshake failure…`.
std::string failed_handshake(std::string_view said);

/// Whether that is the peer's own complaint.
bool is_alert(std::string_view said);

}  // namespace penstock::tls
