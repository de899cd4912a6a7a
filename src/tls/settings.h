// SPDX-License-Identifier: Apache-2.0
// What every TLS connection of ours keeps to that OpenSSL makes, whichever side it is.
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

/// The one protocol that is spoken inside, as ALPN has it on the wire.
inline constexpr std::string_view kHttp1 = "\x08http/1.1";

/// Bounded in cost; at least TLS 1.2, no renegotiation, no compression, sessions nowhere kept; little memory for
/// connections at rest.
Settings make_settings(const ssl_method_st* side);

/// Of a key: nobody is there to type it.
int no_passphrase(char*, int, int, void*);

}  // namespace penstock::tls
