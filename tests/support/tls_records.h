// SPDX-License-Identifier: Apache-2.0
// Records of TLS as no library sends them: of any type and content, sealed with the keys of a connection whose
// handshake OpenSSL has done, AES-128-GCM of TLS 1.2 (RFC 5246, 5288) or 1.3 (RFC 8446).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct ssl_st;

namespace penstock::test {

/// The types of records.
enum class Record : std::uint8_t {
  change_cipher_spec = 20,
  alert = 21,
  handshake = 22,
  application = 23,
  unknown = 77
};

/// As it is before there are keys.
std::string plain_record(Record type, std::string_view content);
/// A message of the handshake: its type, and its length before the body.
std::string handshake_message(std::uint8_t type, std::string_view body);

/// Seals what one side says once it has nothing more to say by OpenSSL. For one connection that was prepared.
class RecordSealer {
 public:
  /// Before its handshake: it keeps what is needed, takes no other cipher, and sends no tickets.
  static void prepare(ssl_st* connection);
  /// After the handshake. `said`: how many records with data this side has sent since.
  RecordSealer(const ssl_st* connection, std::uint64_t said);

  std::string seal(Record type, std::string_view content);
  /// TLS 1.3: announces other keys, asks for the same, and has them from now on.
  std::string update_keys();

 private:
  void derive(std::string_view secret);
  std::string encrypt(std::string_view text, std::string_view nonce, std::string_view header) const;

  const bool is_13_;
  std::string secret_, key_, iv_;
  std::uint64_t sequence_ = 0;
};

}  // namespace penstock::test
