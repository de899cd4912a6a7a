// SPDX-License-Identifier: Apache-2.0
// Settings of every TLS connection that Penstock makes with OpenSSL, client or server.
#pragma once

#include <memory>
#include <string_view>

struct ssl_ctx_st;
struct ssl_method_st;
struct ssl_st;

namespace penstock::tls {

struct SslDeleter {
  void operator()(ssl_ctx_st* made) const;
  void operator()(ssl_st* made) const;
};
using Ssl = std::unique_ptr<ssl_st, SslDeleter>;
using Settings = std::unique_ptr<ssl_ctx_st, SslDeleter>;

/// The only application protocol, in ALPN's wire format.
inline constexpr std::string_view kHttp1 = "\x08http/1.1";

/// An OpenSSL context with bounded cost: at least TLS 1.2, no renegotiation, no compression, no session cache, and
/// little memory for idle connections.
Settings make_settings(const ssl_method_st* side);

/// OpenSSL's passphrase call-back for keys: gives none, since no one can type it.
int no_passphrase(char*, int, int, void*);

}  // namespace penstock::tls
