// SPDX-License-Identifier: Apache-2.0
// Strict base64 (RFC 4648), padding required: one password has exactly one spelling.
#include "http/credentials.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "http/grammar.h"

namespace penstock::http {
namespace {

constexpr std::size_t kLongestEncoded = 1024;
constexpr std::string_view kField = "proxy-authorization";
/// Looked up for every request, so a set of whole names, which is fast.
constexpr NameSet kOfUpstreams({"x-vault-token",
                                "x-figma-token",
                                "circle-token",
                                "x-auth-key",
                                "x-rapidapi-key",
                                "x-amz-security-token",
                                "authorization",
                                "cookie",
                                "api-key",
                                "apikey",
                                "x-api-key",
                                "x-apikey",
                                "x-api-token",
                                "x-access-token",
                                "x-auth-token",
                                "x-goog-api-key",
                                "x-shopify-access-token",
                                "private-token",
                                "ocp-apim-subscription-key",
                                "x-functions-key",
                                "dd-api-key"});

bool is_of_credentials(const Fields::Line& line) {
  return line.name.size() == kField.size() && equal_ignoring_case(line.name, kField);
}

/// Parts of names, in lower case. `auth` matches Authorization and what ends with it, `key` matches X-Api-Key.
constexpr std::string_view kTelling[] = {"auth",       "key",  "token",   "secret",    "passw", "pwd", "cookie",
                                         "credential", "cert", "session", "signature", "jwt",   "otp", "csrf"};

std::optional<std::uint32_t> sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (is_digit(c)) return c - '0' + 52;
  if (c == '+') return 62;
  if (c == '/') return 63;
  return std::nullopt;
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto six = sextet(c);
    if (!six) return std::nullopt;
    bits = (bits << 6 | *six) & 0xffff;
    count += 6;
    if (count >= 8) out += static_cast<char>(bits >> (count -= 8) & 0xff);
  }
  const bool nothing_left = (bits & ((1U << count) - 1)) == 0;
  return nothing_left && count < 6 ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::expected<std::string_view, Refusal> basic_credentials(const Fields& request) {
  std::optional<std::string_view> value;
  for (std::size_t i = 0; i < request.size(); ++i) {
    const auto line = request[i];
    if (!is_of_credentials(line)) continue;
    if (value)
      return std::unexpected(
          Refusal{.why = Reason::malformed, .details = "there is more than one Proxy-Authorization field"});
    value = line.value;
  }
  if (!value) return std::string_view();
  std::string_view encoded = *value;
  const auto scheme = cut(encoded, ' ');
  encoded = trim(encoded);
  return equal_ignoring_case(scheme, "basic") && encoded.size() <= kLongestEncoded ? encoded : std::string_view();
}

Fields only_credentials(const Fields& request) {
  Fields found;
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (const auto line = request[i]; is_of_credentials(line)) found.add(line.name, line.value);
  }
  return found;
}

std::optional<Credentials> decode_basic(std::string_view encoded) {
  auto text = decode_base64(encoded);
  if (!text || text->contains('\0')) return std::nullopt;
  const auto colon = text->find(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  return Credentials{.user = text->substr(0, colon), .password = text->substr(colon + 1)};
}

std::string encode_basic(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = i; k < i + 3; ++k)
      group = group << 8 | (k < text.size() ? static_cast<unsigned char>(text[k]) : 0);
    for (std::size_t k = 0; k < 4; ++k) out += i + k <= text.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

bool may_be_credentials(std::string_view field_name) {
  const auto names = [&](std::string_view part) {
    const auto same = [](char a, char b) { return lower(a) == b; };
    return !std::ranges::search(field_name, part, same).empty();
  };
  return std::ranges::any_of(kTelling, names);
}

bool is_api_key(std::string_view field_name) {
  if (!kOfUpstreams.contains(field_name)) return false;
  constexpr std::string_view kOthers[]{"authorization", "cookie", "x-amz-security-token"};
  return std::ranges::none_of(kOthers, [&](auto name) { return equal_ignoring_case(field_name, name); });
}

bool has_credentials(const Fields& request) {
  for (std::size_t i = 0; i < request.size(); ++i) {
    if (kOfUpstreams.contains(request[i].name)) return true;
  }
  return false;
}

}  // namespace penstock::http
