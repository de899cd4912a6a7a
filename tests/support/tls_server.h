// SPDX-License-Identifier: Apache-2.0
// The server's side of TLS, for the origins of the tests: what it shows, what it demands, and what it has seen of each
// client. One for any number of connections, from any thread; it outlives them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "support/layer.h"
#include "support/tls_authority.h"

namespace penstock::test {

struct TlsOptions {
  std::string client_ca{};  ///< clients must show a certificate below this one; empty: they need none
  std::string alpn{};       ///< the one protocol that it takes where it is offered; empty: it does not choose
  int most = 13;            ///< the highest version: 10, 11, 12 or 13
  int least = 10;           ///< and the lowest
  std::string ciphers{};    ///< below 1.3, as OpenSSL spells them; empty: its own choice
  std::string groups{};     ///< of the key exchange, likewise
  std::size_t tickets = 2;  ///< of TLS 1.3, right after the handshake; Layer::speak_aside() sends another
};

/// One handshake, whole or not.
struct Handshake {
  bool whole = false;
  std::string sni;      ///< as the client asked; empty: not at all
  std::string offered;  ///< ALPN, with commas between
  std::string peer;     ///< the common name in the client's certificate
  std::string version;  ///< "TLSv1.3"
  bool resumed = false;
};

/// OpenSSL's number of TLS 1.0 (10) to 1.3 (13).
int tls_version(int number);

class TlsServer {
 public:
  explicit TlsServer(const Issued& shown, TlsOptions options = {});
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;

  /// For an origin. The handshake takes place when the layer is put on.
  Wrap wrap();
  /// In the order in which they ended.
  std::vector<Handshake> handshakes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::test
