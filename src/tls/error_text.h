// SPDX-License-Identifier: Apache-2.0
// Texts for people that say why TLS with an upstream or a client failed, so that they can mend it. Contains nothing
// secret.
#pragma once

#include <string>
#include <string_view>

namespace penstock::tls {

/// The text for OpenSSL's verdict on the upstream's certificate, as libcurl reports it. With X509_V_OK (0) or
/// X509_V_ERR_UNSPECIFIED (1) libcurl found the certificate good, but for another name.
std::string wrong_certificate(long verdict);

/// The text for a failed handshake, from OpenSSL's message: `…error:0A000410:SSL routines::sslv3 alert handshake
/// failure…`.
std::string failed_handshake(std::string_view said);

/// The text for a failed handshake of a client with us, from OpenSSL's error; 0: the connection just ended.
std::string failure_of_client(unsigned long error);

/// Whether the connection ended without close_notify.
bool is_end(unsigned long error);

/// Whether the client's alert rejects our certificate.
bool is_rejection(unsigned long error);

/// Whether OpenSSL's message reports an alert of the peer.
bool is_alert(std::string_view said);

}  // namespace penstock::tls
