// SPDX-License-Identifier: Apache-2.0
// What a TLS client says in the clear before anything is encrypted: the name that it wants (SNI) and the protocols that
// it offers (ALPN), of RFC 8446 4.1.2, 6066 3 and 7301. Only looks; whoever feeds it passes the bytes on. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::tls {

class ClientHello {
 public:
  /// Longer ones are given up: real ones have 300 bytes to 3 KiB, with keys of the post-quantum kind.
  static constexpr std::size_t kLongest = 16 * 1024;

  /// The next bytes of the connection, however they are cut. False: no more of them are wanted, because the hello was
  /// read, or is none.
  bool feed(std::string_view bytes);

  /// Empty: none was said, or not seen yet. At most 255 bytes, printable ASCII.
  const std::string& sni() const { return sni_; }
  /// In the client's order, with commas between them: `h2,http/1.1`. Likewise; other names are left out.
  const std::string& alpn() const { return alpn_; }

 private:
  bool begin_record();
  bool end();
  void read_body(std::string_view body);

  std::array<std::uint8_t, 5> header_{};  // of the record under way
  std::size_t header_size_ = 0;
  std::size_t record_left_ = 0;
  std::string message_;  // what the records hold, until it is whole
  std::string sni_, alpn_;
  bool over_ = false;
};

}  // namespace penstock::tls
