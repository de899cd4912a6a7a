// SPDX-License-Identifier: Apache-2.0
// Percent-encoding (RFC 3986, section 2.1).
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::base {

/// Nothing: a % is not followed by two hexadecimal digits.
inline std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    unsigned char byte = static_cast<unsigned char>(text.front());
    if (byte == '%') {
      const auto digits = text.substr(1, 2);
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (digits.size() < 2 || error != std::errc{} || end != digits.data() + 2) return std::nullopt;
      text.remove_prefix(2);
    }
    out += static_cast<char>(byte);
    text.remove_prefix(1);
  }
  return out;
}

/// For a query. Unreserved characters stay, and so do colons.
inline std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kPlain = "-._~:", kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const auto byte = static_cast<unsigned char>(c);
    if (plain || kPlain.contains(c)) {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

}  // namespace penstock::base
