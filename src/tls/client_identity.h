// SPDX-License-Identifier: Apache-2.0
// The client side of TLS connections to upstreams: the own certificate and the trusted authorities. One OpenSSL context
// per TlsConfig, made on first use and kept.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/config.h"
#include "penstock/error.h"
#include "tls/settings.h"

namespace penstock::tls {

class ClientIdentity {
 public:
  /// `protocol`: in ALPN's wire format; empty: none is offered. The error names the configuration key and the file that
  /// cannot be used.
  static std::expected<ClientIdentity, Error> make(const TlsConfig& config, std::string_view protocol = kHttp1);

  /// A client-side connection that succeeds only if the peer proves to be `host`, a name or an address. At least TLS
  /// 1.2, no renegotiation, no early data.
  Ssl connection_to(const std::string& host) const;

 private:
  explicit ClientIdentity(Settings made) : made_(std::move(made)) {}

  Settings made_;
};

class ClientIdentities {
 public:
  std::expected<std::shared_ptr<const ClientIdentity>, Error> find_or_make(const TlsConfig& config);
  /// Forgets all identities; their files are read again on next use.
  void forget() { all_.clear(); }

 private:
  std::vector<std::pair<TlsConfig, std::shared_ptr<const ClientIdentity>>> all_;
};

}  // namespace penstock::tls
