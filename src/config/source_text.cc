// SPDX-License-Identifier: Apache-2.0
// See source_text.h.
#include "config/source_text.h"

#include <algorithm>

namespace penstock::config {

namespace {

constexpr std::size_t kLargest = 1024 * 1024;

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

// The length of the UTF-8 sequence that begins with `first`; 0 if none does.
std::size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

// False for overlong forms, surrogates and values beyond U+10FFFF, all of which show in the second byte.
bool second_fits(unsigned char first, unsigned char second) {
  if (first == 0xe0) return second >= 0xa0;
  if (first == 0xed) return second < 0xa0;
  if (first == 0xf0) return second >= 0x90;
  if (first == 0xf4) return second < 0x90;
  return true;
}

std::size_t valid_sequence(std::string_view text, std::size_t at) {
  const unsigned char first = byte_at(text, at);
  const std::size_t length = sequence_length(first);
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, at + i) & 0xc0) != 0x80) return 0;
  }
  return length == 1 || second_fits(first, byte_at(text, at + 1)) ? length : 0;
}

bool is_stray_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7f;
}

}  // namespace

Problem problem_at(std::string_view text, std::size_t offset, std::string message) {
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto feed = before.rfind('\n');
  const std::size_t column = feed == std::string_view::npos ? offset + 1 : offset - feed;
  return {static_cast<int>(line), static_cast<int>(column), std::move(message)};
}

std::optional<Problem> find_unreadable(std::string_view text) {
  if (text.size() > kLargest) return Problem{1, 1, "the file is larger than 1MiB"};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = valid_sequence(text, at);
    if (length == 0) return problem_at(text, at, "the file is not UTF-8 here");
    if (is_stray_control(text[at])) return problem_at(text, at, "a control character stands here");
    at += length;
  }
  return std::nullopt;
}

}  // namespace penstock::config
