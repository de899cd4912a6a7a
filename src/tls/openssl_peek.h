// SPDX-License-Identifier: Apache-2.0
// Inspects TLS connections that libcurl has made with OpenSSL, for what libcurl itself does not check. For transfer/.
#pragma once

#include <memory>

namespace penstock::tls {

/// Hardens the `SSL_CTX*` that libcurl made: bounds a peer's cost, writes no keys even if SSLKEYLOGFILE is set, and
/// treats an end without close_notify as an error.
void harden(void* ssl_ctx);

/// Accompanies libcurl's `SSL*` and may outlive it: what is known of the connection stays known.
class OpensslPeek {
 public:
  /// Returns the object for `ssl`, made on the first call. `ssl` must not be null.
  static std::shared_ptr<OpensslPeek> of(void* ssl);

  /// Whether the peer has sent close_notify, so that the connection was not cut by anything else.
  bool has_said_goodbye() const { return has_said_goodbye_; }
  /// Whether OpenSSL holds received bytes, which are not visible on the socket.
  bool holds_bytes() const;
  /// Whether the peer has sent something while no request is under way: bytes, its end, or an error. TLS's own
  /// messages, such as a late session ticket, are read and count as silence. True too if libcurl has closed the
  /// connection.
  bool speaks_unasked(int fd) const;

  void* owner = nullptr;  ///< set by transfer/: the socket of this connection

 private:
  struct Notes;
  void* ssl_ = nullptr;  // null: libcurl has closed the connection
  bool has_said_goodbye_ = false;
};

}  // namespace penstock::tls
