// SPDX-License-Identifier: Apache-2.0
// See client_identity.h. Settings per identity first, then those per connection.
#include "tls/client_identity.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "tls/system_authorities.h"

namespace penstock::tls {

namespace {
std::unexpected<Error> unusable(const std::string& key, const std::string& path) {
  ERR_clear_error();
  return std::unexpected(Error{.token = {}, .message = "tls." + key + " cannot be used: " + path});
}

Settings settings_of_clients(std::string_view protocol) {
  auto made = make_settings(TLS_client_method());
  SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(protocol.data());
  if (!protocol.empty()) SSL_CTX_set_alpn_protos(made.get(), bytes, static_cast<unsigned>(protocol.size()));
  SSL_CTX_set_default_passwd_cb(made.get(), &no_passphrase);
  return made;
}
}  // namespace

std::expected<ClientIdentity, Error> ClientIdentity::make(const TlsConfig& config, std::string_view protocol) {
  auto made = settings_of_clients(protocol);
  const auto ca = config.ca.empty() ? system_authorities() : config.ca;
  if (SSL_CTX_load_verify_file(made.get(), ca.c_str()) != 1) return unusable("ca", ca);
  if (config.client_cert.empty()) return ClientIdentity(std::move(made));
  if (SSL_CTX_use_certificate_chain_file(made.get(), config.client_cert.c_str()) != 1) {
    return unusable("clientCert", config.client_cert);
  }
  if (SSL_CTX_use_PrivateKey_file(made.get(), config.client_key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return unusable("clientKey", config.client_key);
  }
  return ClientIdentity(std::move(made));
}

Ssl ClientIdentity::connection_to(const std::string& host) const {
  Ssl ssl(SSL_new(made_.get()));
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl.get());
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) != 1) {
    X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
    SSL_set_tlsext_host_name(ssl.get(), host.c_str());
  }
  SSL_set_connect_state(ssl.get());
  ERR_clear_error();
  return ssl;
}

std::expected<std::shared_ptr<const ClientIdentity>, Error> ClientIdentities::find_or_make(const TlsConfig& config) {
  const auto known = std::ranges::find(all_, config, [](const auto& one) -> const TlsConfig& { return one.first; });
  if (known != all_.end()) return known->second;
  auto made = ClientIdentity::make(config);
  if (!made) return std::unexpected(std::move(made.error()));
  return all_.emplace_back(config, std::make_shared<const ClientIdentity>(std::move(*made))).second;
}

}  // namespace penstock::tls
