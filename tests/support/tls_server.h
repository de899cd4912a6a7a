// SPDX-License-Identifier: Apache-2.0
// The server side of TLS, for the origins of tests: what it shows, what it demands, and what it has seen of each
// client. One TlsServer serves any number of connections, from any thread; it must outlive them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "support/layer.h"
#include "support/tls_authority.h"

namespace penstock::test {

struct TlsOptions {
  std::string client_ca{};  ///< clients must show a certificate issued below this CA; empty: they need none
  std::string alpn{};       ///< the protocol that it selects if the client offers it; empty: it selects none
  int most = 13;            ///< the highest version: 10, 11, 12 or 13
  int least = 10;           ///< the lowest version
  std::string ciphers{};    ///< for TLS below 1.3, in OpenSSL's notation; empty: OpenSSL's default
  std::string groups{};     ///< key exchange groups, likewise
  std::size_t tickets = 2;  ///< TLS 1.3 tickets sent right after the handshake; Layer::speak_aside() sends another
};

/// One handshake, complete or not.
struct Handshake {
  bool whole = false;
  std::string sni;      ///< as the client sent it; empty: none
  std::string offered;  ///< ALPN, separated by commas
  std::string peer;     ///< the common name in the client's certificate
  std::string version;  ///< "TLSv1.3"
  bool resumed = false;
};

/// OpenSSL's number for TLS 1.0 (10) to 1.3 (13).
int tls_version(int number);

class TlsServer {
 public:
  explicit TlsServer(const Issued& shown, TlsOptions options = {});
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;

  /// For an origin. Putting the layer on a connection performs the handshake.
  Wrap wrap();
  /// In the order in which they ended.
  std::vector<Handshake> handshakes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::test
