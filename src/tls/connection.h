// SPDX-License-Identifier: Apache-2.0
// What transfer/ needs to know of a TLS connection that libcurl has made with OpenSSL, and libcurl does not look at.
#pragma once

#include <memory>

namespace penstock::tls {

/// Puts right what libcurl gives an `SSL_CTX*`: keys are written nowhere, whatever SSLKEYLOGFILE says, and an end
/// without a good-bye is not taken for one.
void harden(void* ssl_ctx);

/// Keeps an `SSL*` from being freed, so that it can still be asked when libcurl has closed the connection.
using Kept = std::unique_ptr<void, void (*)(void*)>;
Kept keep(void* ssl);
inline Kept nothing() {
  return {nullptr, [](void*) {}};
}

/// Whether the peer has said that this is its end, so that nobody else can have cut the connection there.
bool has_said_goodbye(void* ssl);

/// What goes with an `SSL*`, and is found again by it. Nothing: none was given.
void attach(void* ssl, void* what);
void* attached(void* ssl);

/// Whether bytes that were received wait inside this `SSL*`, where nobody sees them on the socket.
bool holds_bytes(void* ssl);

/// Whether the peer says something on a connection on which nothing is asked: bytes, its end, or an error. What TLS
/// says for itself, such as a session ticket that comes late, is read and counts as silence.
bool speaks_unasked(void* ssl, int fd);

}  // namespace penstock::tls
