// SPDX-License-Identifier: Apache-2.0
// See authority.h. Certificates per RFC 5280: an authority that may only sign leaf certificates, and leaf certificates
// for one host each.
#include "tls/authority.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::tls {

namespace {
using Certificate = std::shared_ptr<X509>;
using Key = std::shared_ptr<EVP_PKEY>;

constexpr std::int64_t kDay = 24 * 60 * 60;
constexpr std::int64_t kLeafLasts = 30 * kDay;
constexpr std::int64_t kLeavesOfAuthority = 30;  // of an authority that lasts no longer than such a leaf
constexpr std::int64_t kBefore = kDay;           // for clients with slow clocks
constexpr int kX509v3 = 2;                       // version 3, as X.509 encodes it

Certificate owned(X509* certificate) { return {certificate, &X509_free}; }
Key owned(EVP_PKEY* key) { return {key, &EVP_PKEY_free}; }
Key make_key() { return owned(EVP_EC_gen("P-256")); }

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Text = std::unique_ptr<BIO, BioDeleter>;

std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

// Building a certificate.

void add_extension(X509* certificate, X509* issuer, int what, const char* value) {
  X509V3_CTX between;
  X509V3_set_ctx(&between, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &between, what, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

/// A positive, unpredictable number of 127 bits.
void set_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);
  BIGNUM* number = BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
  BN_free(number);
}

void set_name(X509* certificate, const std::string& name) {
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.data()), static_cast<int>(name.size()), -1, 0);
}

Certificate begin(EVP_PKEY* key, std::int64_t from, std::int64_t to) {
  auto made = owned(X509_new());
  X509_set_version(made.get(), kX509v3);
  set_serial(made.get());
  ASN1_TIME_set(X509_getm_notBefore(made.get()), from);
  ASN1_TIME_set(X509_getm_notAfter(made.get()), to);
  X509_set_pubkey(made.get(), key);
  return made;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 || inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

/// Adds the one host name or address that the certificate is for. The extension must be critical if there is no subject
/// (RFC 5280 4.2.1.6).
void add_host(X509* certificate, const std::string& host, bool critical) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_STRING* value = nullptr;
  if (inet_pton(AF_INET, host.c_str(), address.data()) == 1) {
    ASN1_STRING_set(value = ASN1_OCTET_STRING_new(), address.data(), sizeof(in_addr));
  } else if (inet_pton(AF_INET6, host.c_str(), address.data()) == 1) {
    ASN1_STRING_set(value = ASN1_OCTET_STRING_new(), address.data(), sizeof(in6_addr));
  }
  const int type = value ? GEN_IPADD : GEN_DNS;
  if (!value) ASN1_STRING_set(value = ASN1_IA5STRING_new(), host.data(), static_cast<int>(host.size()));
  GENERAL_NAME_set0_value(name, type, value);
  GENERAL_NAMES* names = GENERAL_NAMES_new();
  sk_GENERAL_NAME_push(names, name);
  X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, critical ? 1 : 0, X509V3_ADD_APPEND);
  GENERAL_NAMES_free(names);
}

std::int64_t seconds_of(const ASN1_TIME* time) {
  std::tm when{};
  ASN1_TIME_to_tm(time, &when);
  return timegm(&when);
}
std::int64_t end_of(const X509* certificate) { return seconds_of(X509_get0_notAfter(certificate)); }
std::int64_t length_of(const X509* certificate) {
  return end_of(certificate) - seconds_of(X509_get0_notBefore(certificate));
}

/// The value of the extension, as OpenSSL's configuration files write it. A kind of name of which none is permitted is
/// excluded as a whole: what says nothing of a kind permits all of it.
std::string constraints_of(const std::vector<std::string>& hosts) {
  std::string text = "critical", names, addresses;
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  for (const auto& host : hosts) {
    if (inet_pton(AF_INET, host.c_str(), bytes.data()) == 1) {
      addresses += ",permitted;IP:" + host + "/255.255.255.255";
    } else if (inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) {
      addresses += ",permitted;IP:" + host + "/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    } else {
      names += ",permitted;DNS:" + host;
    }
  }
  if (names.empty()) names = ",permitted;DNS:invalid";  // which is no host's, by RFC 2606
  if (addresses.empty()) addresses = ",excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:::/::";
  return text + names + addresses;
}

// OpenSSL contexts for connections.

/// Accepts only http/1.1, because the content must be read.
int select_protocol(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  auto* const known = reinterpret_cast<const unsigned char*>(kHttp1.data());
  unsigned char* selected = nullptr;
  const int found = SSL_select_next_proto(&selected, size, known, kHttp1.size(), offered, offered_size);
  *out = selected;
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// The certificate is for the host of the CONNECT. A client that asks for another host (SNI) would not accept it
/// anyway.
int judge_name(SSL* ssl, int* alert, void*) {
  const char* const name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (!name || X509_check_host(SSL_get_certificate(ssl), name, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1) {
    return SSL_TLSEXT_ERR_OK;
  }
  *alert = SSL_AD_UNRECOGNIZED_NAME;
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// `chain` is sent after every leaf certificate. Clients keep their sessions as tickets.
std::shared_ptr<SSL_CTX> settings_of_servers(const std::vector<Certificate>& chain) {
  std::shared_ptr<SSL_CTX> made = make_settings(TLS_server_method());
  SSL_CTX_set_num_tickets(made.get(), 1);
  SSL_CTX_set_alpn_select_cb(made.get(), &select_protocol, nullptr);
  SSL_CTX_set_tlsext_servername_callback(made.get(), &judge_name);
  for (const auto& one : chain) {
    X509_up_ref(one.get());
    SSL_CTX_add_extra_chain_cert(made.get(), one.get());
  }
  return made;
}

// Reading an authority.

std::unexpected<Error> wrong(const std::string& key, const std::string& what) {
  ERR_clear_error();
  return std::unexpected(Error{.token = {}, .message = "intercept." + key + ": " + what});
}

std::expected<std::string, Error> read_file(const std::string& key, const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (file && !text.str().empty()) return std::move(text).str();
  const std::string hint = errno == ENOENT ? "; `penstock ca init` makes one" : "";
  return wrong(key, errno != 0 ? "cannot read " + path + ": " + std::strerror(errno) + hint : path + " is empty");
}

/// Anyone who has the key can impersonate any host to clients that trust the authority.
std::expected<void, Error> check_private(const AuthorityFiles& files) {
  const mode_t others = files.key_is_credential ? S_IRWXO : S_IRWXG | S_IRWXO;
  struct stat is {};
  if (::stat(files.key.c_str(), &is) != 0 || (is.st_mode & others) == 0) return {};
  return wrong("key",
               files.key + " can be read by others than its owner, who could then be any host; chmod 600 " + files.key);
}

Certificate next_certificate(BIO* pem) { return owned(PEM_read_bio_X509(pem, nullptr, nullptr, nullptr)); }

/// The certificates to send to clients that trust only an authority above `own`: `own` and those that follow it, each
/// signed by the next, without the root, which clients have. Empty if `own` is the root. The error says what is wrong
/// with them.
std::expected<std::vector<Certificate>, std::string> chain_of(const Certificate& own, BIO* following) {
  std::vector<Certificate> chain;
  for (auto one = own; X509_self_signed(one.get(), 0) == 0;) {
    chain.push_back(one);
    auto above = next_certificate(following);
    if (!above && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
      return std::unexpected("a certificate behind the first cannot be read");
    }
    if (!above) break;
    if (X509_check_issued(above.get(), one.get()) != X509_V_OK) {
      return std::unexpected("behind the first must come who has signed it, and so on");
    }
    one = std::move(above);
  }
  return chain;
}

/// An authority for a month or less is for one task, and so are its leaves.
std::int64_t leaf_lasts(std::int64_t authority_lasts) {
  return authority_lasts > kLeafLasts ? kLeafLasts : authority_lasts / kLeavesOfAuthority;
}

bool same(const Certificate& one, const Certificate& other) { return X509_cmp(one.get(), other.get()) == 0; }
}  // namespace

AuthorityPem make_authority(const std::string& name, std::int64_t now, const AuthorityTerms& terms) {
  const auto key = make_key();
  const auto made = begin(key.get(), now - terms.before, now + terms.lasts);
  set_name(made.get(), name);
  X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
  add_extension(made.get(), made.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(made.get(), made.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(made.get(), made.get(), NID_ext_key_usage, "serverAuth");
  add_extension(made.get(), made.get(), NID_subject_key_identifier, "hash");
  if (!terms.hosts.empty())
    add_extension(made.get(), made.get(), NID_name_constraints, constraints_of(terms.hosts).c_str());
  X509_sign(made.get(), key.get(), EVP_sha256());
  const Text certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(certificate_text.get(), made.get());
  PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {.certificate = text_of(certificate_text.get()), .key = text_of(key_text.get())};
}

Authority::Authority(Certificate certificate, Key key, std::vector<Certificate> chain)
    : certificate_(std::move(certificate)),
      key_(std::move(key)),
      chain_(std::move(chain)),
      settings_(settings_of_servers(chain_)),
      good_until_(end_of(certificate_.get())),
      lasts_(length_of(certificate_.get())) {
  for (const auto& one : chain_) good_until_ = std::min(good_until_, end_of(one.get()));
}

std::string Authority::how_to_renew() const {
  return chain_.empty() ? "remove its files and have `penstock ca init` make another"
                        : "have another signed by whoever has signed it";
}

std::expected<std::shared_ptr<const Authority>, Error> Authority::load(const AuthorityFiles& files, std::int64_t now) {
  auto certificate = read_file("ca", files.certificate);
  if (!certificate) return std::unexpected(std::move(certificate.error()));
  auto key = read_file("key", files.key);
  if (!key) return std::unexpected(std::move(key.error()));
  if (auto fine = check_private(files); !fine) return std::unexpected(std::move(fine.error()));
  return read({.certificate = *std::move(certificate), .key = *std::move(key)}, now, files);
}

std::expected<std::shared_ptr<const Authority>, Error> Authority::read(const AuthorityPem& pem, std::int64_t now,
                                                                       const AuthorityFiles& from) {
  const Text certificate_text(BIO_new_mem_buf(pem.certificate.data(), static_cast<int>(pem.certificate.size())));
  const Text key_text(BIO_new_mem_buf(pem.key.data(), static_cast<int>(pem.key.size())));
  auto certificate = next_certificate(certificate_text.get());
  if (!certificate) return wrong("ca", "there is no certificate in " + from.certificate + ", as PEM");
  auto key = owned(PEM_read_bio_PrivateKey(key_text.get(), nullptr, &no_passphrase, nullptr));
  if (!key) return wrong("key", "there is no private key in " + from.key + ", as PEM and without a passphrase");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    return wrong("key", from.key + " does not belong to " + from.certificate);
  }
  if (X509_check_ca(certificate.get()) != 1) return wrong("ca", from.certificate + " is of no authority");
  auto chain = chain_of(certificate, certificate_text.get());
  if (!chain) return wrong("ca", from.certificate + ": " + chain.error());
  std::shared_ptr<const Authority> made(new Authority(std::move(certificate), std::move(key), *std::move(chain)));
  if (made->good_until() <= now) return wrong("ca", from.certificate + " has expired; " + made->how_to_renew());
  if (!made->sign("localhost", now)) return wrong("key", from.key + " is neither ECDSA nor RSA, which clients take");
  return made;
}

bool Authority::operator==(const Authority& other) const {
  return same(certificate_, other.certificate_) && std::ranges::equal(chain_, other.chain_, same);
}

std::shared_ptr<const Leaf> Authority::sign(const std::string& host, std::int64_t now) const {
  const std::int64_t until = std::min(now + leaf_lasts(lasts_), good_until_);
  if (until <= now) return nullptr;
  const auto key = make_key();
  const auto made = begin(key.get(), now - kBefore, until);
  // Some take a common name for a host's name, and hold an address in it to what is permitted of those.
  const bool named = host.size() <= ub_common_name && !is_address(host);
  if (named) set_name(made.get(), host);
  X509_set_issuer_name(made.get(), X509_get_subject_name(certificate_.get()));
  add_extension(made.get(), certificate_.get(), NID_basic_constraints, "critical,CA:FALSE");
  add_extension(made.get(), certificate_.get(), NID_key_usage, "critical,digitalSignature");
  add_extension(made.get(), certificate_.get(), NID_ext_key_usage, "serverAuth");
  add_extension(made.get(), certificate_.get(), NID_subject_key_identifier, "hash");
  add_extension(made.get(), certificate_.get(), NID_authority_key_identifier, "keyid");
  add_host(made.get(), host, !named);
  const bool signed_well = X509_sign(made.get(), key_.get(), EVP_sha256()) > 0;
  ERR_clear_error();
  if (!signed_well) return nullptr;
  return std::shared_ptr<const Leaf>(new Leaf(settings_, made, key, until - std::min(kDay, (until - now) / 2)));
}

Leaf::Leaf(std::shared_ptr<SSL_CTX> settings, Certificate certificate, Key key, std::int64_t good_until)
    : settings_(std::move(settings)),
      certificate_(std::move(certificate)),
      key_(std::move(key)),
      good_until_(good_until) {}

Ssl Leaf::connection() const {
  Ssl ssl(SSL_new(settings_.get()));
  SSL_use_certificate(ssl.get(), certificate_.get());
  SSL_use_PrivateKey(ssl.get(), key_.get());
  SSL_set_accept_state(ssl.get());
  return ssl;
}

}  // namespace penstock::tls
