// SPDX-License-Identifier: Apache-2.0
// Reads from a TLS client's hello, which is sent in the clear, the server name (SNI) and the offered protocols (ALPN):
// RFC 8446 4.1.2, 6066 3 and 7301. Only reads; the caller passes the bytes on. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::tls {

class ClientHello {
 public:
  /// In bytes. Longer hellos are ignored; real ones have 300 bytes to 3 KiB, with post-quantum keys.
  static constexpr std::size_t kLongest = 16 * 1024;

  /// The next bytes of the connection, split anywhere. False: no more are wanted, because the hello was read, or there
  /// is none.
  bool feed(std::string_view bytes);

  /// Empty: no name was sent, or it has not been read yet. At most 255 bytes, printable ASCII.
  const std::string& sni() const { return sni_; }
  /// In the client's order, separated by commas: `h2,http/1.1`. Same bounds; other names are left out.
  const std::string& alpn() const { return alpn_; }

 private:
  bool begin_record();
  bool end();
  void read_body(std::string_view body);

  std::array<std::uint8_t, 5> header_{};  // header of the current record
  std::size_t header_size_ = 0;
  std::size_t record_left_ = 0;
  std::string message_;  // the handshake message, until it is complete
  std::string sni_, alpn_;
  bool over_ = false;
};

}  // namespace penstock::tls
