// SPDX-License-Identifier: Apache-2.0
// Takes the secrets from OpenSSL's key log callback, and derives the keys from them.
#include "support/tls_records.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

namespace penstock::test {

namespace {

constexpr std::size_t kKey = 16, kIv = 12, kSalt = 4, kTag = 16, kSecret = 32;

std::string number(std::uint64_t value, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = bytes; i > 0; --i, value >>= 8) text[i - 1] = static_cast<char>(value & 0xff);
  return text;
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  }
  return bytes;
}

OSSL_PARAM param(const char* name, std::string_view bytes) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(bytes.data()), bytes.size());
}

std::string derived(const char* function, std::size_t size, std::vector<OSSL_PARAM> params) {
  char digest[] = "SHA256";
  params.push_back(OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0));
  params.push_back(OSSL_PARAM_construct_end());
  const std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, function, nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> context(EVP_KDF_CTX_new(kdf.get()), EVP_KDF_CTX_free);
  std::string bytes(size, '\0');
  EXPECT_EQ(EVP_KDF_derive(context.get(), reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), params.data()),
            1);
  return bytes;
}

/// RFC 8446 7.1.
std::string expanded(std::string_view secret, std::string_view label, std::size_t size) {
  int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
  return derived("TLS13-KDF", size,
                 {OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode), param(OSSL_KDF_PARAM_KEY, secret),
                  param(OSSL_KDF_PARAM_PREFIX, "tls13 "), param(OSSL_KDF_PARAM_LABEL, label)});
}

/// RFC 5246 6.3: the keys of client and server, then their salts.
std::string key_block(const SSL* ssl) {
  std::array<unsigned char, 48> master{};
  std::string client(32, '\0'), server(32, '\0');
  EXPECT_EQ(SSL_SESSION_get_master_key(SSL_get_session(ssl), master.data(), master.size()), master.size());
  SSL_get_client_random(ssl, reinterpret_cast<unsigned char*>(client.data()), client.size());
  SSL_get_server_random(ssl, reinterpret_cast<unsigned char*>(server.data()), server.size());
  return derived("TLS1-PRF", 2 * (kKey + kSalt),
                 {param(OSSL_KDF_PARAM_SECRET, {reinterpret_cast<const char*>(master.data()), master.size()}),
                  param(OSSL_KDF_PARAM_SEED, "key expansion"), param(OSSL_KDF_PARAM_SEED, server),
                  param(OSSL_KDF_PARAM_SEED, client)});
}

/// The ex-data index of this side's traffic secret, which comes from the key log line.
int place_of_secret() {
  static const int ours = SSL_get_ex_new_index(
      0, nullptr, nullptr, nullptr,
      [](void*, void* secret, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<std::string*>(secret); });
  return ours;
}

void keep_secret(const SSL* ssl, const char* line) {
  const std::string_view text(line);
  if (!text.starts_with(SSL_is_server(ssl) ? "SERVER_TRAFFIC_SECRET_0 " : "CLIENT_TRAFFIC_SECRET_0 ")) return;
  auto* secret = new std::string(from_hex(text.substr(text.rfind(' ') + 1)));
  SSL_set_ex_data(const_cast<SSL*>(ssl), place_of_secret(), secret);
}

}  // namespace

std::string plain_record(Record type, std::string_view content) {
  return number(static_cast<std::uint8_t>(type), 1) + number(0x0303, 2) + number(content.size(), 2) +
         std::string(content);
}

std::string handshake_message(std::uint8_t type, std::string_view body) {
  return number(type, 1) + number(body.size(), 3) + std::string(body);
}

void RecordSealer::prepare(SSL* connection) {
  EXPECT_EQ(SSL_set_ciphersuites(connection, "TLS_AES_128_GCM_SHA256"), 1);
  EXPECT_EQ(SSL_set_cipher_list(connection, "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256"), 1);
  SSL_set_num_tickets(connection, 0);
  SSL_CTX_set_keylog_callback(SSL_get_SSL_CTX(connection), keep_secret);
}

RecordSealer::RecordSealer(const SSL* connection, std::uint64_t said)
    : is_13_(SSL_version(connection) == TLS1_3_VERSION), sequence_(said) {
  if (is_13_) {
    const auto* secret = static_cast<const std::string*>(SSL_get_ex_data(connection, place_of_secret()));
    EXPECT_TRUE(secret) << "the connection was not prepared";
    if (secret) derive(*secret);
    return;
  }
  const std::string block = key_block(connection);
  const std::size_t ours = SSL_is_server(connection) ? 1 : 0;
  key_ = block.substr(ours * kKey, kKey);
  iv_ = block.substr(2 * kKey + ours * kSalt, kSalt);
  ++sequence_;  // the Finished record
}

void RecordSealer::derive(std::string_view secret) {
  secret_ = secret;
  key_ = expanded(secret_, "key", kKey);
  iv_ = expanded(secret_, "iv", kIv);
}

std::string RecordSealer::encrypt(std::string_view text, std::string_view nonce, std::string_view header) const {
  const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> cipher(EVP_CIPHER_CTX_new(),
                                                                               EVP_CIPHER_CTX_free);
  const auto bytes = [](std::string_view of) { return reinterpret_cast<const unsigned char*>(of.data()); };
  EVP_EncryptInit_ex(cipher.get(), EVP_aes_128_gcm(), nullptr, bytes(key_), bytes(nonce));
  int size = 0;
  EVP_EncryptUpdate(cipher.get(), nullptr, &size, bytes(header), static_cast<int>(header.size()));
  std::string sealed(text.size() + kTag, '\0');
  auto* out = reinterpret_cast<unsigned char*>(sealed.data());
  EVP_EncryptUpdate(cipher.get(), out, &size, bytes(text), static_cast<int>(text.size()));
  EVP_EncryptFinal_ex(cipher.get(), out + size, &size);
  EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTag, out + text.size());
  return sealed;
}

std::string RecordSealer::seal(Record type, std::string_view content) {
  const std::string sequence = number(sequence_++, 8);
  const std::string kind = number(static_cast<std::uint8_t>(type), 1);
  if (!is_13_) {
    const std::string header = sequence + kind + number(0x0303, 2) + number(content.size(), 2);
    return plain_record(type, sequence + encrypt(content, iv_ + sequence, header));
  }
  std::string nonce = iv_;
  for (std::size_t i = 0; i < sequence.size(); ++i) nonce[kIv - sequence.size() + i] ^= sequence[i];
  const std::string inner = std::string(content) + kind;
  const std::string header = number(23, 1) + number(0x0303, 2) + number(inner.size() + kTag, 2);
  return header + encrypt(inner, nonce, header);
}

std::string RecordSealer::update_keys() {
  constexpr std::uint8_t kKeyUpdate = 24;
  std::string record = seal(Record::handshake, handshake_message(kKeyUpdate, "\x01"));
  derive(expanded(secret_, "traffic upd", kSecret));
  sequence_ = 0;
  return record;
}

}  // namespace penstock::test
