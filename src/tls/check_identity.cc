// SPDX-License-Identifier: Apache-2.0
// See check_identity.h. Lets OpenSSL read the files as it will for each connection.
#include "tls/check_identity.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

namespace penstock::tls {

namespace {
using Try = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

std::unexpected<Error> wrong_setting(const std::string& key, const std::string& what) {
  ERR_clear_error();
  return std::unexpected(Error{.token = {}, .message = "tls." + key + ": " + what});
}

std::expected<void, Error> check_readable(const std::string& key, const std::string& path) {
  errno = 0;
  std::ifstream file(path);
  file.peek();
  if (file.good()) return {};
  return wrong_setting(key, errno != 0 ? "cannot read " + path + ": " + std::strerror(errno) : path + " is empty");
}

std::expected<void, Error> check_own(SSL_CTX* ssl, const TlsConfig& identity) {
  if (auto fine = check_readable("clientCert", identity.client_cert); !fine) return fine;
  if (auto fine = check_readable("clientKey", identity.client_key); !fine) return fine;
  if (SSL_CTX_use_certificate_chain_file(ssl, identity.client_cert.c_str()) != 1) {
    return wrong_setting("clientCert", "there is no certificate in " + identity.client_cert + ", as PEM");
  }
  // The call fails both for a file without a key and for a key that does not match.
  if (SSL_CTX_use_PrivateKey_file(ssl, identity.client_key.c_str(), SSL_FILETYPE_PEM) == 1) return {};
  const int why = ERR_GET_REASON(ERR_peek_last_error());
  const bool other = why == X509_R_KEY_VALUES_MISMATCH || why == X509_R_KEY_TYPE_MISMATCH;
  if (other) return wrong_setting("clientKey", identity.client_key + " does not belong to " + identity.client_cert);
  return wrong_setting("clientKey",
                       "there is no private key in " + identity.client_key + ", as PEM and without a passphrase");
}
}  // namespace

std::expected<void, Error> check(const TlsConfig& identity) {
  const Try ssl(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  SSL_CTX_set_default_passwd_cb(ssl.get(), [](char*, int, int, void*) { return 0; });
  if (!identity.ca.empty()) {
    if (auto fine = check_readable("ca", identity.ca); !fine) return fine;
    if (SSL_CTX_load_verify_file(ssl.get(), identity.ca.c_str()) != 1) {
      return wrong_setting("ca", "there is no certificate in " + identity.ca + ", as PEM");
    }
  }
  if (identity.client_cert.empty() && identity.client_key.empty()) return {};
  return check_own(ssl.get(), identity);
}

}  // namespace penstock::tls
