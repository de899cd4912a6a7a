// SPDX-License-Identifier: Apache-2.0
// See authorities.h. OpenSSL's stores are reference-counted.
#include "tls/authorities.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace penstock::tls {

void Authorities::Deleter::operator()(x509_store_st* store) const { X509_STORE_free(store); }

void Authorities::take(const ssl_st* reader) {
  X509_STORE* store = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(reader));
  if (store == store_.get()) return;
  X509_STORE_up_ref(store);
  store_.reset(store);
  read_at_ = std::chrono::steady_clock::now();
}

void Authorities::lend(ssl_ctx_st* borrower) const { SSL_CTX_set1_cert_store(borrower, store_.get()); }

bool Authorities::can_lend() const { return store_ && std::chrono::steady_clock::now() - read_at_ < kGoodFor; }

}  // namespace penstock::tls
