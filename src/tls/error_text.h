// SPDX-License-Identifier: Apache-2.0
// Why TLS with an upstream, or with a client, did not come about, in words for people who can do something about it.
// Nothing secret.
#pragma once

#include <string>
#include <string_view>

namespace penstock::tls {

/// Of OpenSSL's verdict on the upstream's certificate, as libcurl tells it: where that complains of none of its own
/// (0), or of nothing special (1), it has found the certificate good, but for another name.
std::string wrong_certificate(long verdict);

/// Of a failed handshake, from what OpenSSL said: `…error:0A000410:SSL routines::sslv3 alert handshake failure…`.
std::string failed_handshake(std::string_view said);

/// Of a handshake that a client has not come through with us, from OpenSSL's error; 0: it has just ended.
std::string failure_of_client(unsigned long error);

/// Whether the connection has just ended.
bool is_end(unsigned long error);

/// Whether the client has said that it does not take our certificate.
bool is_rejection(unsigned long error);

/// Whether that is the peer's own complaint.
bool is_alert(std::string_view said);

}  // namespace penstock::tls
