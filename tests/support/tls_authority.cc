// SPDX-License-Identifier: Apache-2.0
// X.509 with OpenSSL.
#include "support/tls_authority.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <filesystem>

namespace penstock::test {

namespace {
constexpr long kDay = 24 * 3600;

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Key new_key(const std::string& kind = "P-256") {
  const std::string rsa = "RSA-";
  EVP_PKEY* made = kind.starts_with(rsa) ? EVP_RSA_gen(std::stoul(kind.substr(rsa.size()))) : EVP_EC_gen(kind.c_str());
  return {made, &EVP_PKEY_free};
}

struct Signer {
  X509* certificate;  // nullptr: the certificate itself
  EVP_PKEY* key;
};

void extend(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX links;
  X509V3_set_ctx(&links, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_nconf_nid(nullptr, &links, what, value.c_str());
  ASSERT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate blank(EVP_PKEY* key, const std::string& common_name, long from, long to) {
  Certificate made(X509_new(), &X509_free);
  std::uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), from);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), to);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1, 0);
  return made;
}

void sign(X509* certificate, const Signer& signer) {
  X509* issuer = signer.certificate ? signer.certificate : certificate;
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  EXPECT_GT(X509_sign(certificate, signer.key, EVP_sha256()), 0);
}

std::string alternatives(const Wanted& wanted) {
  std::string all;
  for (const auto& name : wanted.names) all += (all.empty() ? "DNS:" : ",DNS:") + name;
  for (const auto& address : wanted.addresses) all += (all.empty() ? "IP:" : ",IP:") + address;
  return all;
}

template <typename Write>
void write_pem(const std::string& path, Write write) {
  BIO* file = BIO_new_file(path.c_str(), "w");
  ASSERT_NE(file, nullptr) << path;
  EXPECT_EQ(write(file), 1);
  BIO_free(file);
}

void write_key(const std::string& path, EVP_PKEY* key) {
  write_pem(path, [&](BIO* to) { return PEM_write_bio_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

std::string new_tls_folder() {
  std::string folder = (std::filesystem::temp_directory_path() / "penstock-tls-XXXXXX").string();
  EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  return folder;
}

/// A unique name, so that no certificate of one authority is looked up under another.
std::string own_name() {
  unsigned char random[4];
  RAND_bytes(random, sizeof random);
  std::string name = "An authority of the tests ";
  for (const auto byte : random) name += std::to_string(byte);
  return name;
}
}  // namespace

struct Authority::Impl {
  std::string folder = new_tls_folder();
  std::string file = folder + "/ca.pem", key_file = folder + "/ca-key.pem";
  Key key = new_key();
  Certificate certificate = blank(key.get(), own_name(), -kDay, 365 * kDay);
  int issued = 0;
};

Authority::Authority() : impl_(std::make_unique<Impl>()) {
  X509* own = impl_->certificate.get();
  sign(own, {nullptr, impl_->key.get()});  // sets the issuer's name, which the extensions need
  extend(own, own, NID_basic_constraints, "critical,CA:TRUE");
  extend(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(own, own, NID_subject_key_identifier, "hash");
  sign(own, {nullptr, impl_->key.get()});
  write_pem(impl_->file, [&](BIO* to) { return PEM_write_bio_X509(to, own); });
  write_key(impl_->key_file, impl_->key.get());
  std::filesystem::permissions(impl_->key_file, std::filesystem::perms::owner_read);
}

Authority::~Authority() { std::filesystem::remove_all(impl_->folder); }

const std::string& Authority::file() const { return impl_->file; }
const std::string& Authority::key_file() const { return impl_->key_file; }
const std::string& Authority::folder() const { return impl_->folder; }

Issued Authority::issue(const Wanted& wanted) {
  const Key key = new_key(wanted.key);
  const long from = wanted.not_yet ? kDay : -30 * kDay, to = wanted.expired ? -kDay : 30 * kDay;
  const Certificate made = blank(key.get(), wanted.common_name, from, to);
  const Signer signer =
      wanted.self_signed ? Signer{nullptr, key.get()} : Signer{impl_->certificate.get(), impl_->key.get()};
  X509* issuer = signer.certificate ? signer.certificate : made.get();
  extend(made.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  extend(made.get(), issuer, NID_ext_key_usage, "serverAuth,clientAuth");
  if (const auto all = alternatives(wanted); !all.empty()) extend(made.get(), issuer, NID_subject_alt_name, all);
  sign(made.get(), signer);
  const std::string stem = impl_->folder + "/" + std::to_string(++impl_->issued);
  const Issued files{.certificate = stem + "-cert.pem", .key = stem + "-key.pem"};
  write_pem(files.certificate, [&](BIO* into) { return PEM_write_bio_X509(into, made.get()); });
  write_key(files.key, key.get());
  return files;
}

}  // namespace penstock::test
