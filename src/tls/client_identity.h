// SPDX-License-Identifier: Apache-2.0
// As whom TLS connections to upstreams are made, and whom they trust: one OpenSSL context for each TlsConfig, made when
// it is first needed and kept.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "penstock/config.h"
#include "penstock/error.h"
#include "tls/settings.h"

namespace penstock::tls {

class ClientIdentity {
 public:
  /// The error names the key and the file that cannot be used.
  static std::expected<ClientIdentity, Error> make(const TlsConfig& config);

  /// The client's side of a connection that is good only if the peer proves to be `host`, a name or an address. At
  /// least TLS 1.2, HTTP/1.1, no renegotiation, nothing sent early.
  Ssl connection_to(const std::string& host) const;

 private:
  explicit ClientIdentity(Settings made) : made_(std::move(made)) {}

  Settings made_;
};

class ClientIdentities {
 public:
  std::expected<std::shared_ptr<const ClientIdentity>, Error> find_or_make(const TlsConfig& config);
  /// Their files are read anew when they are next needed.
  void forget() { all_.clear(); }

 private:
  std::vector<std::pair<TlsConfig, std::shared_ptr<const ClientIdentity>>> all_;
};

}  // namespace penstock::tls
