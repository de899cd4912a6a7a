// SPDX-License-Identifier: Apache-2.0
// The smallest parts of RFC 9110 section 5.6: token characters, blanks, comma-separated lists, digits; and sets of
// field names. Has no error texts. For this directory, and for code that judges fields from elsewhere.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace penstock::http {

/// A message whose Connection fields nominate more fields than this is refused.
inline constexpr std::size_t kMostNominations = 32;
/// A request with a longer method is refused as not implemented.
inline constexpr std::size_t kLongestMethod = 32;

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
/// Ignores ASCII case, as every comparison of field names and of most tokens does.
inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

/// Printable ASCII without the space.
constexpr bool is_visible(char c) { return c > ' ' && c < 0x7f; }

namespace detail {
constexpr std::array<bool, 256> token_table() {
  std::array<bool, 256> table{};
  for (int c = 0; c < 128; ++c) table[c] = is_digit(static_cast<char>(c)) || is_letter(static_cast<char>(c));
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}
inline constexpr std::array<bool, 256> kToken = token_table();
}  // namespace detail

constexpr bool is_token_char(char c) { return detail::kToken[static_cast<unsigned char>(c)]; }

/// True for a method or a field name.
constexpr bool is_token(std::string_view text) {
  for (const char c : text) {
    if (!is_token_char(c)) return false;
  }
  return !text.empty();
}

/// Tabs, printable ASCII, and bytes from 0x80 on: what a field value may hold. No CR, LF, NUL or other control.
constexpr bool is_field_value(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0x7f || (byte < ' ' && byte != '\t')) return false;
  }
  return true;
}

constexpr std::string_view trim_right(std::string_view text) {
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}
constexpr std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return trim_right(text);
}

/// One or more digits, at most 2^63-1; nothing for a sign, a blank, or anything else.
constexpr std::optional<std::uint64_t> parse_digits(std::string_view text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (kMost - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

/// Cuts `text` at the first `separator`: returns the part before it, and leaves the part behind it.
constexpr std::string_view cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view before = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return before;
}

/// Calls `visit` with each non-empty member of a comma-separated list, without its blanks.
template <class Visit>
void each_member(std::string_view list, Visit visit) {
  while (!list.empty()) {
    const std::string_view member = trim(cut(list, ','));
    if (!member.empty()) visit(member);
  }
}

/// A set of field names, in lower case. Most other names are ruled out by length and first letter alone.
template <std::size_t N>
class NameSet {
 public:
  consteval explicit NameSet(const std::string_view (&names)[N]) {
    for (std::size_t i = 0; i < N; ++i) {
      names_[i] = names[i];
      lengths_ |= std::uint64_t{1} << names[i].size();
      letters_ |= letter(names[i][0]);
    }
  }

  bool contains(std::string_view name) const {
    if (name.empty() || name.size() > 63 || !(lengths_ >> name.size() & 1) || !(letters_ & letter(name[0])))
      return false;
    for (const std::string_view each : names_) {
      if (equal_ignoring_case(each, name)) return true;
    }
    return false;
  }

 private:
  static constexpr std::uint32_t letter(char c) { return std::uint32_t{1} << (lower(c) & 31); }

  std::array<std::string_view, N> names_{};
  std::uint64_t lengths_ = 0;
  std::uint32_t letters_ = 0;
};
template <std::size_t N>
NameSet(const std::string_view (&)[N]) -> NameSet<N>;

}  // namespace penstock::http
