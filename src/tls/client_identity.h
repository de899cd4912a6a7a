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

struct ssl_ctx_st;
struct ssl_st;

namespace penstock::tls {

struct SslDeleter {
  void operator()(ssl_ctx_st* made) const;
  void operator()(ssl_st* made) const;
};
using Ssl = std::unique_ptr<ssl_st, SslDeleter>;

class ClientIdentity {
 public:
  /// The error names the key and the file that cannot be used.
  static std::expected<ClientIdentity, Error> make(const TlsConfig& config);

  /// The client's side of a connection that is good only if the peer proves to be `host`, a name or an address. At
  /// least TLS 1.2, HTTP/1.1, no renegotiation, nothing sent early.
  Ssl connection_to(const std::string& host) const;

 private:
  using Made = std::unique_ptr<ssl_ctx_st, SslDeleter>;
  explicit ClientIdentity(Made made) : made_(std::move(made)) {}

  Made made_;
};

class ClientIdentities {
 public:
  /// Lives as long as this does.
  std::expected<const ClientIdentity*, Error> find_or_make(const TlsConfig& config);

 private:
  std::vector<std::pair<TlsConfig, std::unique_ptr<ClientIdentity>>> all_;
};

}  // namespace penstock::tls
