// SPDX-License-Identifier: Apache-2.0
// See pkcs12.h. Writes PKCS#12 as keytool does for a store of certificates only.
#include "tls/pkcs12.h"

#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>

#include <memory>

namespace penstock::tls {

namespace {

/// Attribute by which Java trusts a certificate without a key (`trustedKeyUsage`).
constexpr const char* kTrusted = "2.16.840.1.113894.746875.1.1";
constexpr int kUnencrypted = -1;

struct Deleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(PKCS12* store) const { PKCS12_free(store); }
  void operator()(STACK_OF(PKCS12_SAFEBAG) * bags) const { sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free); }
  void operator()(STACK_OF(PKCS7) * safes) const { sk_PKCS7_pop_free(safes, PKCS7_free); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;
using Bags = Owned<STACK_OF(PKCS12_SAFEBAG)>;

/// Adds no name; Java makes one up.
void add_trusted(STACK_OF(PKCS12_SAFEBAG) * &bags, X509* certificate) {
  PKCS12_SAFEBAG* const bag = PKCS12_add_cert(&bags, certificate);
  if (!bag) return;
  const auto* any = reinterpret_cast<const unsigned char*>(OBJ_nid2obj(NID_anyExtendedKeyUsage));
  PKCS12_add1_attr_by_txt(bag, kTrusted, V_ASN1_OBJECT, any, -1);
}

/// Skips unreadable certificates, as OpenSSL does with a directory.
Bags read_all(std::string_view pem) {
  const Owned<BIO> text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  STACK_OF(PKCS12_SAFEBAG)* bags = nullptr;
  for (bool more = true; more;) {
    const Owned<X509> certificate(PEM_read_bio_X509_AUX(text.get(), nullptr, nullptr, nullptr));
    if (certificate) add_trusted(bags, certificate.get());
    more = certificate || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
    ERR_clear_error();
  }
  return Bags(bags);
}

/// Neither encrypted nor sealed (MAC), so any password opens it, such as one that Java was given for another store.
Owned<PKCS12> wrapped(STACK_OF(PKCS12_SAFEBAG) * bags) {
  STACK_OF(PKCS7)* one = nullptr;
  PKCS12_add_safe(&one, bags, kUnencrypted, 0, nullptr);
  const Owned<STACK_OF(PKCS7)> safes(one);
  return Owned<PKCS12>(PKCS12_add_safes(safes.get(), 0));
}

}  // namespace

std::string make_trust_store(std::string_view pem) {
  const auto bags = read_all(pem);
  if (!bags) return {};
  const auto store = wrapped(bags.get());
  unsigned char* bytes = nullptr;
  const int size = i2d_PKCS12(store.get(), &bytes);
  std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return text;
}

}  // namespace penstock::tls
