// SPDX-License-Identifier: Apache-2.0
// The authority and its leaves, by what OpenSSL's client side makes of them.
#include "tls/authority.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tls/error_text.h"
#include "tls/in_memory.h"

namespace penstock::tls {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const AuthorityPem& ours() {
  static const AuthorityPem pem = make_authority("ours", kNow);
  return pem;
}
std::shared_ptr<const Authority> read(const AuthorityPem& pem, std::int64_t now = kNow) {
  auto authority = Authority::read(pem, now);
  return authority ? *authority : nullptr;
}
std::shared_ptr<const Leaf> leaf_for(const std::string& host, std::int64_t now = kNow) {
  return read(ours(), now)->sign(host, now);
}
std::string why_not(const AuthorityPem& pem, std::int64_t now = kNow) {
  const auto authority = Authority::read(pem, now);
  return authority ? "" : authority.error().message;
}

std::string taken_from(BIO* bio) {
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
Certificate parsed(const std::string& pem) {
  BIO* const text = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  Certificate certificate(PEM_read_bio_X509(text, nullptr, nullptr, nullptr), &X509_free);
  BIO_free(text);
  return certificate;
}
Certificate shown(const Leaf& leaf) {
  InMemory both(leaf, ours().certificate);
  EXPECT_TRUE(both.shake());
  return {SSL_get1_peer_certificate(both.client()), &X509_free};
}
std::int64_t seconds_of(const ASN1_TIME* time) {
  std::tm when{};
  ASN1_TIME_to_tm(time, &when);
  return timegm(&when);
}

EVP_PKEY* key_in(const std::string& pem) {
  BIO* const text = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
  BIO_free(text);
  return key;
}

/// A new authority that `above` has signed, or a root, with any number of others below it.
AuthorityPem signed_by(const AuthorityPem* above, const std::string& name, std::int64_t lasts = 1000 * kDay) {
  auto made = make_authority(name, kNow);
  const auto certificate = parsed(made.certificate), issuer = parsed(above ? above->certificate : made.certificate);
  X509_EXTENSION_free(
      X509_delete_ext(certificate.get(), X509_get_ext_by_NID(certificate.get(), NID_basic_constraints, -1)));
  X509_EXTENSION* const any = X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints, "critical,CA:TRUE");
  X509_add_ext(certificate.get(), any, -1);
  X509_EXTENSION_free(any);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), kNow + lasts);
  EVP_PKEY* const key = key_in(above ? above->key : made.key);
  X509_sign(certificate.get(), key, EVP_sha256());
  EVP_PKEY_free(key);
  BIO* const text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(text, certificate.get());
  made.certificate = taken_from(text);
  return made;
}

/// An authority whose key signs in a way that servers' certificates do not use.
AuthorityPem of_ed25519() {
  EVP_PKEY* const key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  const auto certificate = parsed(ours().certificate);
  X509_set_pubkey(certificate.get(), key);
  X509_sign(certificate.get(), key, nullptr);
  BIO *certificate_text = BIO_new(BIO_s_mem()), *key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, certificate.get());
  PEM_write_bio_PrivateKey(key_text, key, nullptr, nullptr, 0, nullptr, nullptr);
  EVP_PKEY_free(key);
  return {taken_from(certificate_text), taken_from(key_text)};
}

TEST(Authority, signs_what_proves_a_host_and_no_other) {
  for (const std::string host : {"api.example.com", "a_b.test", "127.0.0.1", "2001:db8::1"}) {
    const auto leaf = leaf_for(host);
    EXPECT_TRUE(InMemory(*leaf, ours().certificate, {.host = host}).shake()) << host;
    for (const std::string other : {"example.com", "x.api.example.com", "127.0.0.2", "2001:db8::2"}) {
      EXPECT_FALSE(InMemory(*leaf, ours().certificate, {.host = other}).shake()) << host << " for " << other;
    }
  }
}

TEST(Authority, proves_nothing_to_who_trusts_another) {
  const auto other = make_authority("ours", kNow);
  InMemory both(*leaf_for("a.test"), other.certificate, {.host = "a.test"});
  EXPECT_FALSE(both.shake());
  EXPECT_TRUE(is_rejection(both.said_by_server())) << failure_of_client(both.said_by_server());
}

/// So OpenSSL says it for a program whose own check has failed, such as one that pins.
TEST(Authority, is_rejected_by_a_program_with_a_check_of_its_own) {
  InMemory both(*leaf_for("a.test"), ours().certificate);
  const auto never = [](int, X509_STORE_CTX* verdict) {
    X509_STORE_CTX_set_error(verdict, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
  };
  SSL_set_verify(both.client(), SSL_VERIFY_PEER, +never);
  EXPECT_FALSE(both.shake());
  EXPECT_TRUE(is_rejection(both.said_by_server())) << failure_of_client(both.said_by_server());
}

/// Whether a client that trusts an authority for these hosts takes its leaf for `host`.
bool proves(const std::vector<std::string>& hosts, const std::string& host) {
  const auto pem = make_authority("for one command", kNow, {.before = 3600, .lasts = 30 * kDay - 3600, .hosts = hosts});
  return InMemory(*Authority::read(pem, kNow).value()->sign(host, kNow), pem.certificate, {.host = host}).shake();
}

TEST(AuthorityForHosts, proves_those_hosts_and_no_other) {
  const std::vector<std::string> names{"api.example.com", "example.org"}, addresses{"192.0.2.7", "2001:db8::1"};
  auto both = names;
  both.insert(both.end(), addresses.begin(), addresses.end());
  for (const std::string host : {"api.example.com", "example.org", "a.example.org"}) {
    EXPECT_TRUE(proves(names, host)) << host;
    EXPECT_TRUE(proves(both, host)) << host;
    EXPECT_FALSE(proves(addresses, host)) << host;
  }
  for (const std::string& host : addresses) {
    EXPECT_TRUE(proves(addresses, host)) << host;
    EXPECT_TRUE(proves(both, host)) << host;
    EXPECT_FALSE(proves(names, host)) << host;
  }
  for (const std::string host : {"example.com", "www.example.com", "xexample.org", "192.0.2.8", "2001:db8::2"})
    EXPECT_FALSE(proves(both, host)) << host;
}

TEST(AuthorityForHosts, has_leaves_that_last_a_thirtieth_of_its_time) {
  const auto pem =
      make_authority("for one command", kNow, {.before = 3600, .lasts = 30 * kDay - 3600, .hosts = {"a.test"}});
  const auto authority = Authority::read(pem, kNow).value();
  InMemory both(*authority->sign("a.test", kNow), pem.certificate);
  ASSERT_TRUE(both.shake());
  const Certificate leaf{SSL_get1_peer_certificate(both.client()), &X509_free};
  EXPECT_EQ(seconds_of(X509_get0_notAfter(leaf.get())), kNow + kDay);
  EXPECT_EQ(authority->good_until(), kNow + 30 * kDay - 3600);
}

TEST(Authority, lasts_ten_years_and_its_leaves_thirty_days) {
  const auto authority = parsed(ours().certificate);
  EXPECT_EQ(seconds_of(X509_get0_notAfter(authority.get())), kNow + 3652 * kDay);
  EXPECT_LT(seconds_of(X509_get0_notBefore(authority.get())), kNow) << "clocks of clients may be behind";
  const auto leaf = leaf_for("a.test");
  const auto certificate = shown(*leaf);
  EXPECT_EQ(seconds_of(X509_get0_notAfter(certificate.get())), kNow + 30 * kDay);
  EXPECT_TRUE(leaf->is_good_at(kNow + 28 * kDay));
  EXPECT_FALSE(leaf->is_good_at(kNow + 29 * kDay)) << "a last day is for connections that begin just before";
}

TEST(Authority, is_not_outlived_by_its_leaves) {
  const auto near_its_end = kNow + 3645 * kDay;
  const auto leaf = leaf_for("a.test", near_its_end);
  InMemory both(*leaf, ours().certificate, {.now = near_its_end});
  ASSERT_TRUE(both.shake());
  const Certificate certificate(SSL_get1_peer_certificate(both.client()), &X509_free);
  EXPECT_EQ(seconds_of(X509_get0_notAfter(certificate.get())), kNow + 3652 * kDay);
}

TEST(Authority, signs_until_its_last_second_and_not_after) {
  const auto authority = read(ours(), kNow);
  const auto end = kNow + 3652 * kDay;
  const auto last = authority->sign("a.test", end - 100);
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->is_good_at(end - 51)) << "it is not made anew for every client";
  EXPECT_FALSE(authority->sign("a.test", end));
}

TEST(Authority, is_of_p256_and_may_sign_leaves_for_servers_only) {
  const auto authority = parsed(ours().certificate);
  std::array<char, 80> curve{};
  EVP_PKEY_get_group_name(X509_get0_pubkey(authority.get()), curve.data(), curve.size(), nullptr);
  EXPECT_STREQ(curve.data(), "prime256v1");
  EXPECT_EQ(X509_check_ca(authority.get()), 1);
  EXPECT_EQ(X509_get_pathlen(authority.get()), 0);
  EXPECT_EQ(X509_get_key_usage(authority.get()), static_cast<unsigned>(KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  EXPECT_EQ(X509_get_extended_key_usage(authority.get()), static_cast<unsigned>(XKU_SSL_SERVER));
  const auto leaf = shown(*leaf_for("a.test"));
  EXPECT_EQ(X509_check_ca(leaf.get()), 0);
  EXPECT_EQ(X509_get_extended_key_usage(leaf.get()), static_cast<unsigned>(XKU_SSL_SERVER));
}

TEST(Authority, gives_no_two_leaves_one_number_or_one_key) {
  const auto first = shown(*leaf_for("a.test")), second = shown(*leaf_for("a.test"));
  EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(first.get()), X509_get0_serialNumber(second.get())), 0);
  EXPECT_NE(EVP_PKEY_eq(X509_get0_pubkey(first.get()), X509_get0_pubkey(second.get())), 1);
}

TEST(Authority, names_a_host_too_long_for_a_common_name) {
  const std::string host = std::string(60, 'a') + "." + std::string(60, 'b') + ".test";
  EXPECT_TRUE(InMemory(*leaf_for(host), ours().certificate, {.host = host}).shake());
}

TEST(Authority, is_believed_by_the_strict) {
  for (const std::string& host : {std::string("a.test"), std::string(60, 'a') + ".test", std::string("::1")}) {
    InMemory both(*leaf_for(host), ours().certificate, {.host = host});
    X509_VERIFY_PARAM_set_flags(SSL_get0_param(both.client()), X509_V_FLAG_X509_STRICT);
    EXPECT_TRUE(both.shake()) << host << ": " << X509_verify_cert_error_string(SSL_get_verify_result(both.client()));
  }
}

TEST(Authority, is_not_read_from_what_is_none) {
  const auto other = make_authority("other", kNow);
  EXPECT_EQ(why_not(ours()), "");
  EXPECT_EQ(why_not({"nonsense", ours().key}), "intercept.ca: there is no certificate in it, as PEM");
  EXPECT_THAT(why_not({ours().certificate, "nonsense"}), StartsWith("intercept.key: there is no private key in it"));
  EXPECT_EQ(why_not({ours().certificate, other.key}), "intercept.key: it does not belong to it");
  EXPECT_THAT(why_not(of_ed25519()), HasSubstr("is neither ECDSA nor RSA"));
  EXPECT_THAT(why_not(ours(), kNow + 3653 * kDay), HasSubstr("has expired"));
  EXPECT_TRUE(*read(ours()) == *read(ours()));
  EXPECT_FALSE(*read(ours()) == *read(other));
}

TEST(Authority, below_others_shows_what_leads_to_their_root) {
  const auto root = signed_by(nullptr, "root"), middle = signed_by(&root, "middle"),
             below = signed_by(&middle, "below");
  const AuthorityPem whole{below.certificate + middle.certificate + root.certificate, below.key};
  const auto leaf = read(whole)->sign("a.test", kNow);
  InMemory both(*leaf, root.certificate, {.host = "a.test"});
  EXPECT_TRUE(both.shake()) << X509_verify_cert_error_string(SSL_get_verify_result(both.client()));
  EXPECT_EQ(sk_X509_num(SSL_get_peer_cert_chain(both.client())), 3)
      << "the leaf, below and middle: who trusts the root has it";
  InMemory cut(*read({below.certificate, below.key})->sign("a.test", kNow), root.certificate);
  EXPECT_FALSE(cut.shake()) << "middle is missing";
  EXPECT_EQ(why_not({below.certificate + root.certificate, below.key}),
            "intercept.ca: it: behind the first must come who has signed it, and so on");
  EXPECT_EQ(
      why_not({below.certificate + "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n", below.key}),
      "intercept.ca: it: a certificate behind the first cannot be read");
  EXPECT_FALSE(*read(whole) == *read({below.certificate, below.key})) << "a reload must see it";
}

TEST(Authority, ends_with_the_first_of_those_that_clients_are_shown) {
  const auto root = signed_by(nullptr, "root"), middle = signed_by(&root, "middle", 10 * kDay),
             below = signed_by(&middle, "below");
  const auto authority = read({below.certificate + middle.certificate, below.key});
  EXPECT_EQ(authority->good_until(), kNow + 10 * kDay);
  EXPECT_THAT(authority->how_to_renew(), HasSubstr("whoever has signed it"));
  EXPECT_THAT(read(ours())->how_to_renew(), HasSubstr("penstock ca init"));
}

TEST(Authority, that_is_a_root_is_not_shown) {
  InMemory both(*leaf_for("a.test"), ours().certificate);
  EXPECT_TRUE(both.shake());
  EXPECT_EQ(sk_X509_num(SSL_get_peer_cert_chain(both.client())), 1);
}

TEST(Authority, is_no_leaf) {
  const auto leaf = leaf_for("a.test");
  const auto certificate = shown(*leaf);
  InMemory both(*leaf, ours().certificate);
  BIO *certificate_text = BIO_new(BIO_s_mem()), *key_text = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(certificate_text, SSL_get_certificate(both.server()));
  PEM_write_bio_PrivateKey(key_text, SSL_get_privatekey(both.server()), nullptr, nullptr, 0, nullptr, nullptr);
  EXPECT_EQ(why_not({taken_from(certificate_text), taken_from(key_text)}), "intercept.ca: it is of no authority");
}

class AuthorityFile : public testing::Test {
 protected:
  AuthorityFile() {
    std::filesystem::create_directory(folder_);
    write(files_.certificate, ours().certificate, 0644);
    write(files_.key, ours().key, 0600);
  }
  ~AuthorityFile() override { std::filesystem::remove_all(folder_); }
  static void write(const std::string& path, const std::string& text, mode_t mode) {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
  }
  std::string why_not_loaded() const {
    const auto authority = Authority::load(files_, kNow);
    return authority ? "" : authority.error().message;
  }

  const std::string folder_ = testing::TempDir() + "authority-" + std::to_string(::getpid());
  const AuthorityFiles files_{folder_ + "/ca.pem", folder_ + "/ca-key.pem"};
};

TEST_F(AuthorityFile, of_the_key_is_for_its_owner_only) {
  EXPECT_EQ(why_not_loaded(), "");
  for (const mode_t mode : {0640, 0604, 0620}) {
    ::chmod(files_.key.c_str(), mode);
    EXPECT_THAT(why_not_loaded(), StartsWith("intercept.key: " + files_.key + " can be read by others")) << mode;
  }
}

TEST_F(AuthorityFile, that_is_missing_or_empty_is_named) {
  std::filesystem::remove(files_.key);
  EXPECT_EQ(why_not_loaded(),
            "intercept.key: cannot read " + files_.key + ": No such file or directory; `penstock ca init` makes one");
  write(files_.certificate, "", 0644);
  EXPECT_EQ(why_not_loaded(), "intercept.ca: " + files_.certificate + " is empty");
}

TEST(Leaf, speaks_http_1_1_or_nothing_where_a_protocol_is_asked_for) {
  const auto leaf = leaf_for("a.test");
  InMemory both(*leaf, ours().certificate, {.alpn = "\x02h2\x08http/1.1"});
  EXPECT_TRUE(both.shake());
  EXPECT_EQ(both.alpn(), "http/1.1");
  InMemory silent(*leaf, ours().certificate);
  EXPECT_TRUE(silent.shake());
  EXPECT_EQ(silent.alpn(), "");
  InMemory modern(*leaf, ours().certificate, {.alpn = "\x02h2"});
  EXPECT_FALSE(modern.shake());
  EXPECT_EQ(failure_of_client(modern.said_by_server()), "it does not offer http/1.1 (ALPN)");
}

TEST(Leaf, turns_away_who_asks_for_another_name) {
  const auto leaf = leaf_for("a.test");
  EXPECT_TRUE(InMemory(*leaf, ours().certificate, {.host = "a.test", .sni = "A.test"}).shake());
  InMemory other(*leaf, ours().certificate, {.sni = "b.test"});
  EXPECT_FALSE(other.shake());
  EXPECT_EQ(failure_of_client(other.said_by_server()), "it asks for another host than its CONNECT (SNI)");
  EXPECT_EQ(ERR_GET_REASON(other.said_by_client()), SSL_AD_REASON_OFFSET + SSL_AD_UNRECOGNIZED_NAME);
  EXPECT_FALSE(InMemory(*leaf_for("127.0.0.1"), ours().certificate, {.sni = "b.test"}).shake());
}

TEST(Leaf, speaks_tls_of_at_least_1_2) {
  const auto leaf = leaf_for("a.test");
  EXPECT_TRUE(InMemory(*leaf, ours().certificate, {.most = TLS1_2_VERSION}).shake());
  InMemory old(*leaf, ours().certificate, {.most = TLS1_1_VERSION});
  EXPECT_FALSE(old.shake());
  EXPECT_EQ(failure_of_client(old.said_by_server()), "its TLS is older than 1.2");
}

TEST(Leaf, stays_good_when_its_authority_has_gone) {
  auto authority = read(ours());
  const auto leaf = authority->sign("a.test", kNow);
  authority.reset();
  EXPECT_TRUE(InMemory(*leaf, ours().certificate, {.host = "a.test"}).shake());
}

}  // namespace
}  // namespace penstock::tls
