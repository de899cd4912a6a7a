// SPDX-License-Identifier: Apache-2.0
// See top_text.h.
#include "app/top_text.h"

#include <algorithm>
#include <array>
#include <clocale>
#include <cwchar>
#include <utility>

namespace penstock::app {

namespace {

constexpr std::string_view kReplacement = "\uFFFD", kCut = "…";
constexpr int kMostCombining = 3;

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = false;
};

/// Of a lead byte: how many bytes, and the smallest value that needs so many.
std::pair<std::size_t, char32_t> length_by(unsigned char lead) {
  if (lead < 0x80) return {1, 0};
  if (lead >= 0xc2 && lead < 0xe0) return {2, 0x80};
  if (lead >= 0xe0 && lead < 0xf0) return {3, 0x800};
  if (lead >= 0xf0 && lead < 0xf5) return {4, 0x10000};
  return {0, 0};
}

/// The first of the text, which is not empty. RFC 3629.
CodePoint first_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const auto [bytes, least] = length_by(lead);
  if (bytes == 0 || bytes > text.size()) return {};
  if (bytes == 1) return {lead, 1, true};
  char32_t value = lead & (0x7fu >> bytes);
  for (std::size_t at = 1; at < bytes; ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte & 0xc0) != 0x80) return {};
    value = value << 6 | (byte & 0x3fu);
  }
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  if (value < least || surrogate || value > 0x10ffff) return {};
  return {value, bytes, true};
}

template <typename Each>
void for_each_code_point(std::string_view text, Each each) {
  while (!text.empty()) {
    const auto point = first_of(text);
    each(point, text.substr(0, point.bytes));
    text.remove_prefix(point.bytes);
  }
}

/// Without a locale of UTF-8, which glibc's own package has, nothing is known of widths.
locale_t utf8_locale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

/// As terminals count: -1 for what has no place in a cell.
int width_of(char32_t value) {
  if (value < 0x20 || (value >= 0x7f && value < 0xa0)) return -1;
  if (value < 0x7f || !utf8_locale()) return 1;
  const locale_t before = uselocale(utf8_locale());
  const int width = wcwidth(static_cast<wchar_t>(value));
  uselocale(before);
  return width;
}

/// Characters of no width that show nothing, turn the direction of writing, or join what terminals measure differently.
bool is_unseen(char32_t value) {
  static constexpr std::array<std::pair<char32_t, char32_t>, 9> kUnseen{{{0xad, 0xad},
                                                                         {0x61c, 0x61c},
                                                                         {0x180e, 0x180e},
                                                                         {0x200b, 0x200f},
                                                                         {0x2028, 0x202e},
                                                                         {0x2060, 0x206f},
                                                                         {0xfe00, 0xfe0f},
                                                                         {0xfeff, 0xfeff},
                                                                         {0xe0000, 0xe0fff}}};
  return std::ranges::any_of(kUnseen, [=](const auto& range) { return range.first <= value && value <= range.second; });
}

char ascii_for(std::string_view character) {
  static constexpr std::array<std::pair<std::string_view, char>, 9> kLikeIt{
      {{"▓", '#'}, {"░", '.'}, {"■", '#'}, {"□", '.'}, {"●", '*'}, {"·", '-'}, {"–", '-'}, {"…", '~'}, {"›", '>'}}};
  const auto found = std::ranges::find(kLikeIt, character, [](const auto& pair) { return pair.first; });
  return found == kLikeIt.end() ? '?' : found->second;
}

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string valid;
  for_each_code_point(text, [&](const CodePoint& point, auto bytes) { valid += point.valid ? bytes : kReplacement; });
  return valid;
}

std::string safe_text(std::string_view text) {
  std::string safe;
  int combining = kMostCombining;  // those at the beginning would join what stands before the text
  for_each_code_point(text, [&](const CodePoint& point, std::string_view bytes) {
    const int width = point.valid && !is_unseen(point.value) ? width_of(point.value) : -1;
    if (width == 0 && combining == kMostCombining) {
      if (safe.empty()) safe += kReplacement;
      return;
    }
    combining = width == 0 ? combining + 1 : 0;
    safe += width < 0 ? kReplacement : bytes;
  });
  return safe;
}

std::size_t cells_of(std::string_view safe) {
  std::size_t cells = 0;
  for_each_code_point(safe, [&](const CodePoint& point, auto) {
    cells += static_cast<std::size_t>(std::max(0, width_of(point.value)));
  });
  return cells;
}

std::string in_cells(std::string_view safe, std::size_t cells, Side side) {
  const std::size_t wanted = cells_of(safe);
  if (wanted <= cells) {
    const std::string blanks(cells - wanted, ' ');
    return side == Side::left ? std::string(safe) + blanks : blanks + std::string(safe);
  }
  if (cells == 0) return {};
  std::string cut;
  std::size_t used = 0;
  bool full = false;
  for_each_code_point(safe, [&](const CodePoint& point, std::string_view bytes) {
    const auto width = static_cast<std::size_t>(std::max(0, width_of(point.value)));
    full = full || used + width > cells - 1;
    if (full) return;
    used += width;
    cut += bytes;
  });
  return cut + std::string(kCut) + std::string(cells - 1 - used, ' ');
}

std::string in_ascii(std::string_view safe) {
  std::string ascii;
  for_each_code_point(safe, [&](const CodePoint& point, std::string_view bytes) {
    if (point.value < 0x7f) {
      ascii += static_cast<char>(point.value);
    } else {
      ascii.append(static_cast<std::size_t>(std::max(0, width_of(point.value))), ascii_for(bytes));
    }
  });
  return ascii;
}

}  // namespace penstock::app
