// SPDX-License-Identifier: Apache-2.0
// What transfer/ needs to know of a TLS connection that libcurl has made with OpenSSL, and libcurl does not look at.
#pragma once

#include <memory>

namespace penstock::tls {

/// Puts right what libcurl gives an `SSL_CTX*`: a peer's cost is bounded, keys are written nowhere, whatever
/// SSLKEYLOGFILE says, and an end without a good-bye is not taken for one.
void harden(void* ssl_ctx);

/// Beside libcurl's `SSL*`, which may go first: what is known of the connection stays known.
class OpensslPeek {
 public:
  /// The one beside it, from the first asking on. `ssl` is not null.
  static std::shared_ptr<OpensslPeek> of(void* ssl);

  /// Whether the peer has said that this is its end, so that nobody else can have cut the connection there.
  bool has_said_goodbye() const { return has_said_goodbye_; }
  /// Whether bytes that were received wait where nobody sees them on the socket.
  bool holds_bytes() const;
  /// Whether the peer says something while nothing is asked: bytes, its end, or an error. What TLS says for itself,
  /// such as a session ticket that comes late, is read and counts as silence.
  bool speaks_unasked(int fd) const;

  void* owner = nullptr;  ///< whatever this belongs to

 private:
  struct Notes;
  void* ssl_ = nullptr;  // nothing: libcurl has closed it
  bool has_said_goodbye_ = false;
};

}  // namespace penstock::tls
