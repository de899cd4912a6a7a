// SPDX-License-Identifier: Apache-2.0
// Both sides of a TLS connection without a socket: a client as a test wants it, and the server's side of a leaf.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "tls/authority.h"

namespace penstock::tls {

inline constexpr std::int64_t kDay = 24 * 60 * 60;
inline constexpr std::int64_t kNow = 1'800'000'000;

struct Wants {
  std::string host{};  ///< to be proved; empty: whoever it is
  std::string sni{};
  std::string alpn{};  ///< as on the wire
  int most = TLS1_3_VERSION;
  std::int64_t now = kNow;
};

class InMemory {
 public:
  /// `trusted`: the PEM of whom the client believes.
  InMemory(const Leaf& leaf, const std::string& trusted, const Wants& wants = {}) : server_(leaf.connection()) {
    const std::unique_ptr<SSL_CTX, SslDeleter> settings(SSL_CTX_new(TLS_client_method()));
    BIO* const text = BIO_new_mem_buf(trusted.data(), static_cast<int>(trusted.size()));
    X509* const certificate = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(settings.get()), certificate);
    X509_free(certificate);
    BIO_free(text);
    SSL_CTX_set_security_level(settings.get(), 0);  // or there would be no old versions to try
    client_.reset(SSL_new(settings.get()));
    SSL_set_min_proto_version(client_.get(), TLS1_VERSION);
    SSL_set_max_proto_version(client_.get(), wants.most);
    SSL_set_verify(client_.get(), SSL_VERIFY_PEER, nullptr);
    X509_VERIFY_PARAM* const proof = SSL_get0_param(client_.get());
    X509_VERIFY_PARAM_set_time(proof, wants.now);
    if (!wants.host.empty() && X509_VERIFY_PARAM_set1_ip_asc(proof, wants.host.c_str()) != 1) {
      X509_VERIFY_PARAM_set1_host(proof, wants.host.c_str(), 0);
    }
    if (!wants.sni.empty()) SSL_set_tlsext_host_name(client_.get(), wants.sni.c_str());
    SSL_set_alpn_protos(client_.get(), reinterpret_cast<const unsigned char*>(wants.alpn.data()),
                        static_cast<unsigned>(wants.alpn.size()));
    SSL_set_connect_state(client_.get());
    BIO *here = nullptr, *there = nullptr;
    BIO_new_bio_pair(&here, 0, &there, 0);
    SSL_set_bio(client_.get(), here, here);
    SSL_set_bio(server_.get(), there, there);
  }

  /// Whether both sides are content. Otherwise said() is OpenSSL's error on the client's side, or on the server's.
  bool shake() {
    int client = 0, server = 0;
    for (int i = 0; i < 10; ++i) {
      client = step(client_.get(), of_client_);
      server = step(server_.get(), of_server_);
      if (of_client_ != 0 || of_server_ != 0) step(client_.get(), of_client_);
      if (of_client_ != 0) step(server_.get(), of_server_);
    }
    return client == 1 && server == 1;
  }
  unsigned long said_by_client() const { return of_client_; }
  unsigned long said_by_server() const { return of_server_; }
  SSL* client() const { return client_.get(); }
  SSL* server() const { return server_.get(); }
  std::string alpn() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(client_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }

 private:
  static int step(SSL* ssl, unsigned long& error) {
    ERR_clear_error();
    const int done = SSL_do_handshake(ssl);
    if (done != 1 && SSL_get_error(ssl, done) == SSL_ERROR_SSL && error == 0) error = ERR_peek_error();
    ERR_clear_error();
    return done;
  }

  Ssl client_, server_;
  unsigned long of_client_ = 0, of_server_ = 0;
};

}  // namespace penstock::tls
