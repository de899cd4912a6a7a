// SPDX-License-Identifier: Apache-2.0
// See digest.h.
#include "tls/digest.h"

#include <openssl/evp.h>

#include <array>

namespace penstock::tls {

std::string digest(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  EVP_Digest(text.data(), text.size(), bytes.data(), nullptr, EVP_sha256(), nullptr);
  std::string digits;
  for (std::size_t i = 0; i < 16; ++i) {
    for (const int shift : {4, 0}) digits += "0123456789abcdef"[bytes[i] >> shift & 15];
  }
  return digits;
}

}  // namespace penstock::tls
