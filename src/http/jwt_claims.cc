// SPDX-License-Identifier: Apache-2.0
// The payload is decoded and read byte by byte, once, without recursion. What is no JSON is found only where it
// matters: texts and brackets must end, and members of the object must look like some.
#include "http/jwt_claims.h"

#include <cstdint>

#include "http/grammar.h"

namespace penstock::http {
namespace {

/// Base64url without padding (RFC 7515 section 2).
class PayloadBytes {
 public:
  explicit PayloadBytes(std::string_view encoded) : rest_(encoded) {}

  /// The next byte without taking it; nothing at the end, or where the text is no base64url.
  std::optional<char> peek() {
    while (count_ < 8) {
      const auto six = rest_.empty() ? std::nullopt : six_bits(rest_.front());
      if (!six) return std::nullopt;
      rest_.remove_prefix(1);
      bits_ = (bits_ << 6 | *six) & 0xffff;
      count_ += 6;
    }
    return static_cast<char>(bits_ >> (count_ - 8) & 0xff);
  }
  std::optional<char> take() {
    const auto byte = peek();
    if (byte) count_ -= 8;
    return byte;
  }
  /// False: something in the text is no base64url.
  bool all_read() const { return rest_.empty(); }

 private:
  static std::optional<std::uint32_t> six_bits(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (is_digit(c)) return c - '0' + 52;
    if (c == '-') return 62;
    if (c == '_') return 63;
    return std::nullopt;
  }

  std::string_view rest_;
  std::uint32_t bits_ = 0;
  int count_ = 0;  // of the bits that no byte has taken yet
};

class ClaimReader {
 public:
  explicit ClaimReader(std::string_view payload) : bytes_(payload) {}

  /// False if this is no object.
  bool read(JwtClaims& claims) {
    if (!takes('{')) return false;
    if (takes('}')) return at_end();
    do {
      auto* const claim = read_name(claims);
      if (!takes(':') || !read_value(claim)) return false;
    } while (takes(','));
    return takes('}') && at_end();
  }

 private:
  void skip_blanks() {
    for (auto c = bytes_.peek(); c && (is_blank(*c) || *c == '\n' || *c == '\r'); c = bytes_.peek()) bytes_.take();
  }
  bool takes(char wanted) {
    skip_blanks();
    if (bytes_.peek() != wanted) return false;
    bytes_.take();
    return true;
  }
  bool at_end() {
    skip_blanks();
    return !bytes_.peek() && bytes_.all_read();
  }

  /// The member that the name stands for; null for any other, and where there is no name: then no colon follows either.
  std::optional<std::string>* read_name(JwtClaims& claims) {
    if (!takes('"')) return nullptr;
    constexpr std::size_t kLonger = 4;  // than those that are looked for
    std::string name;
    if (!read_text([&](char c) { name.size() < kLonger ? void(name += c) : void(); })) return nullptr;
    return name == "iss" ? &claims.iss : name == "sub" ? &claims.sub : name == "azp" ? &claims.azp : nullptr;
  }

  bool read_value(std::optional<std::string>* claim) {
    if (claim) claim->reset();  // of two members of a name the last counts
    if (!takes('"')) return skip_value();
    if (!claim) return read_text([](char) {});
    auto& text = claim->emplace();
    return read_text([&](char c) { text += c; });
  }

  /// The rest of a text up to its quote, with its escapes as they stand.
  bool read_text(auto visit) {
    for (auto c = bytes_.take(); c; c = bytes_.take()) {
      if (*c == '"') return true;
      visit(*c);
      if (*c != '\\') continue;
      const auto escaped = bytes_.take();
      if (!escaped) return false;
      visit(*escaped);
    }
    return false;
  }

  /// A number, a word, a list or an object, up to the comma or the brace behind it.
  bool skip_value() {
    std::size_t depth = 0;
    bool any = false;
    for (auto c = bytes_.peek(); c; c = bytes_.peek()) {
      const bool opens = *c == '[' || *c == '{', closes = *c == ']' || *c == '}';
      if (depth == 0 && (closes || *c == ',')) return any;
      bytes_.take();
      any = true;
      if (*c == '"' && !read_text([](char) {})) return false;
      depth = opens ? depth + 1 : closes ? depth - 1 : depth;
    }
    return false;
  }

  PayloadBytes bytes_;
};

}  // namespace

std::optional<JwtClaims> read_jwt_claims(std::string_view token) {
  const auto header = cut(token, '.'), payload = cut(token, '.');
  if (header.empty() || payload.empty() || token.empty() || token.contains('.')) return std::nullopt;
  JwtClaims claims;
  if (!ClaimReader(payload).read(claims)) return std::nullopt;
  return claims.iss || claims.sub || claims.azp ? std::optional(std::move(claims)) : std::nullopt;
}

}  // namespace penstock::http
