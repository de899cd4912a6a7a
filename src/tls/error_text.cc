// SPDX-License-Identifier: Apache-2.0
// See error_text.h. OpenSSL's words are for programmers, so frequent errors get texts of their own.
#include "tls/error_text.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <array>

namespace penstock::tls {

namespace {
/// The reason in an OpenSSL error: the text after the last `::`, up to what libcurl appends.
std::string_view reason(std::string_view said) {
  const auto at = said.rfind("::");
  if (at == std::string_view::npos) return {};
  said.remove_prefix(at + 2);
  return said.substr(0, said.find(','));
}

/// The peer's alert that an error stands for; 0: none.
int alert_of(unsigned long error) {
  const int reason = ERR_GET_REASON(error);
  return ERR_GET_LIB(error) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : 0;
}

bool speaks_no_tls(std::string_view why) {
  constexpr std::array<std::string_view, 4> kSigns{"wrong version number", "packet length too long", "http request",
                                                   "unknown protocol"};
  for (const auto sign : kSigns) {
    if (why == sign) return true;
  }
  return false;
}
}  // namespace

std::string wrong_certificate(long verdict) {
  switch (verdict) {
    case X509_V_OK:
    case X509_V_ERR_UNSPECIFIED:
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return "its certificate is for another name";
    case X509_V_ERR_CERT_HAS_EXPIRED: return "its certificate has expired (or this machine's clock is wrong)";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "its certificate is not valid yet (or this machine's clock is wrong)";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "its certificate is signed by itself only (to trust it, name its file in tls.ca)";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return "its certificate comes from an authority that is not trusted here (to trust it, name its file in tls.ca)";
    default: break;
  }
  return std::string("its certificate is not acceptable: ") + X509_verify_cert_error_string(verdict);
}

std::string failed_handshake(std::string_view said) {
  const auto why = reason(said);
  if (speaks_no_tls(why)) return "it does not speak TLS on this port";
  if (why.find("certificate required") != std::string_view::npos) {
    return "it demands a client certificate (tls.clientCert, tls.clientKey)";
  }
  if (why.empty() || why.find("unexpected eof") == 0) return "it broke off the TLS handshake";
  const bool alert = why.find("alert") != std::string_view::npos;
  return (alert ? "it ended the TLS handshake: " : "the TLS handshake failed: ") + std::string(why);
}

bool is_end(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

bool is_rejection(unsigned long error) {
  switch (alert_of(error)) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_HANDSHAKE_FAILURE: return true;  // sent by OpenSSL when a program's own check refused the certificate
    default: return false;
  }
}

std::string failure_of_client(unsigned long error) {
  if (error == 0 || is_end(error)) return "it broke off the TLS handshake";
  if (const int alert = alert_of(error)) return std::string("it says: ") + SSL_alert_desc_string_long(alert);
  if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
    switch (ERR_GET_REASON(error)) {
      case SSL_R_CALLBACK_FAILED: return "it asks for another host than its CONNECT (SNI)";
      case SSL_R_NO_APPLICATION_PROTOCOL: return "it does not offer http/1.1 (ALPN)";
      case SSL_R_UNSUPPORTED_PROTOCOL: return "its TLS is older than 1.2";
      default: break;
    }
  }
  const char* const why = ERR_reason_error_string(error);
  return std::string("the TLS handshake failed: ") + (why ? why : "for no known reason");
}

bool is_alert(std::string_view said) { return reason(said).find(" alert ") != std::string_view::npos; }

}  // namespace penstock::tls
