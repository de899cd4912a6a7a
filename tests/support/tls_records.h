// SPDX-License-Identifier: Apache-2.0
// TLS records that no library would send: of any type and content, sealed with the keys of a connection whose handshake
// OpenSSL has done. AES-128-GCM of TLS 1.2 (RFC 5246, 5288) or 1.3 (RFC 8446).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

struct ssl_st;

namespace penstock::test {

/// Record types.
enum class Record : std::uint8_t {
  change_cipher_spec = 20,
  alert = 21,
  handshake = 22,
  application = 23,
  unknown = 77
};

/// A record as it is before there are keys.
std::string plain_record(Record type, std::string_view content);
/// A handshake message: the type, the length, then the body.
std::string handshake_message(std::uint8_t type, std::string_view body);

/// Seals the records of one side after that side's last data through OpenSSL. For one connection that was prepared.
class RecordSealer {
 public:
  /// Before the handshake: keeps the needed secrets, allows no other cipher, and turns tickets off.
  static void prepare(ssl_st* connection);
  /// After the handshake. `said`: how many data records this side has sent since.
  RecordSealer(const ssl_st* connection, std::uint64_t said);

  std::string seal(Record type, std::string_view content);
  /// TLS 1.3: returns a key update that asks the peer to update too, and uses the new keys from then on.
  std::string update_keys();

 private:
  void derive(std::string_view secret);
  std::string encrypt(std::string_view text, std::string_view nonce, std::string_view header) const;

  const bool is_13_;
  std::string secret_, key_, iv_;
  std::uint64_t sequence_ = 0;
};

}  // namespace penstock::test
