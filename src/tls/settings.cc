// SPDX-License-Identifier: Apache-2.0
// See settings.h.
#include "tls/settings.h"

#include <openssl/ssl.h>

#include "tls/bounds.h"

namespace penstock::tls {

void SslDeleter::operator()(ssl_ctx_st* made) const { SSL_CTX_free(made); }
void SslDeleter::operator()(ssl_st* made) const { SSL_free(made); }

Settings make_settings(const ssl_method_st* side) {
  Settings made(SSL_CTX_new(side));
  SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  bound_costs(made.get());
  SSL_CTX_set_mode(made.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  return made;
}

int no_passphrase(char*, int, int, void*) { return 0; }

}  // namespace penstock::tls
