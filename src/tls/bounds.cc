// SPDX-License-Identifier: Apache-2.0
// See bounds.h. Counts in OpenSSL's trace call-back: only that one sees the records that OpenSSL handles itself.
#include "tls/bounds.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::tls {

namespace {
/// Index of a connection's extra data that holds its count, stored in the pointer itself.
int place() {
  static const int ours = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return ours;
}

std::intptr_t count_of(const SSL* ssl) { return reinterpret_cast<std::intptr_t>(SSL_get_ex_data(ssl, place())); }

/// A BIO at its end. OpenSSL's BIO_s_null would keep the retry flags of the last read.
BIO* make_end() {
  static BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "end");
    BIO_meth_set_read(method, [](BIO* bio, char*, int) {
      BIO_clear_retry_flags(bio);
      return 0;
    });
    BIO_meth_set_ctrl(method, [](BIO*, int what, long, void*) -> long { return what == BIO_CTRL_EOF; });
    return method;
  }();
  BIO* bio = BIO_new(kMethod);
  BIO_set_init(bio, 1);
  return bio;
}

constexpr unsigned char kOfApplication = 23;  // the record type of application data

bool carries_nothing(int told, unsigned char first) {
  if (told == SSL3_RT_HEADER || told == SSL3_RT_INNER_CONTENT_TYPE) return first != kOfApplication;
  return told == SSL3_RT_HANDSHAKE;
}

void on_message(int sent, int, int told, const void* bytes, std::size_t size, SSL* ssl, void*) {
  if (sent == 1 || size == 0 || !carries_nothing(told, *static_cast<const unsigned char*>(bytes))) return;
  const std::intptr_t count = count_of(ssl) + 1;
  SSL_set_ex_data(ssl, place(), reinterpret_cast<void*>(count));
  // OpenSSL fetches the BIO again before each read.
  if (count > kMostChatter) SSL_set0_rbio(ssl, make_end());
}

/// The ciphers of `made` without finite-field Diffie-Hellman, as OpenSSL spells them.
std::string affordable_ciphers(const SSL_CTX* made) {
  std::string names;
  const auto* ciphers = SSL_CTX_get_ciphers(made);
  for (int i = 0; i < sk_SSL_CIPHER_num(ciphers); ++i) {
    const SSL_CIPHER* cipher = sk_SSL_CIPHER_value(ciphers, i);
    const int exchange = SSL_CIPHER_get_kx_nid(cipher);
    if (exchange == NID_kx_dhe || exchange == NID_kx_dhe_psk) continue;
    names.append(names.empty() ? "" : ":").append(SSL_CIPHER_get_name(cipher));
  }
  return names;
}
}  // namespace

void bound_costs(ssl_ctx_st* made) {
  static const std::string ciphers = affordable_ciphers(made);  // the system's choice, the same for all contexts
  SSL_CTX_set_cipher_list(made, ciphers.c_str());
  static const bool hybrid = SSL_CTX_set1_groups_list(made, "X25519MLKEM768") == 1;  // needs OpenSSL 3.5
  if (!hybrid) ERR_clear_error();
  SSL_CTX_set1_groups_list(made,
                           hybrid ? "X25519MLKEM768:X25519:P-256:X448:P-521:P-384" : "X25519:P-256:X448:P-521:P-384");
  SSL_CTX_set_msg_callback(made, &on_message);
  SSL_CTX_clear_mode(made, SSL_MODE_AUTO_RETRY);
}

bool has_chattered(const ssl_st* connection) { return count_of(connection) > kMostChatter; }

}  // namespace penstock::tls
