// SPDX-License-Identifier: Apache-2.0
// See reference.h. The search for dot segments copies only paths with a percent sign.
#include "http/reference.h"

#include <algorithm>

#include "http/grammar.h"

namespace penstock::http {

namespace {

constexpr int nibble(char c) {
  if (is_digit(c)) return c - '0';
  return lower(c) >= 'a' && lower(c) <= 'f' ? lower(c) - 'a' + 10 : -1;
}

/// Replaces an escape at the end of the text by its byte; false if the text does not end with one.
bool undo_escape(std::string& text) {
  if (text.size() < 3) return false;
  const std::size_t at = text.size() - 3;
  const int high = nibble(text[at + 1]), low = nibble(text[at + 2]);
  if (text[at] != '%' || high < 0 || low < 0) return false;
  text.resize(at);
  text += static_cast<char>(high << 4 | low);
  return true;
}

/// Replaces a two-byte overlong '.', '/' or '\' at the end of the text, as decoders once did.
void undo_overlong(std::string& text) {
  constexpr std::string_view kOverlong[] = {"\xc0\xae.", "\xc0\xaf/", "\xc1\x9c\\"};
  for (const auto& form : kOverlong) {
    if (!text.ends_with(form.substr(0, 2))) continue;
    text.resize(text.size() - 2);
    text += form[2];
  }
}

/// The path as read by a decoder that repeats until nothing is left to decode. One pass is enough: a decoded byte can
/// complete another escape only together with the bytes before or after it.
std::string decoded_path(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (const char c : path) {
    out += c;
    while (undo_escape(out)) undo_overlong(out);
  }
  return out;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }

bool is_dot_segment(std::string_view segment) {
  if (!segment.starts_with('.')) return false;
  segment.remove_prefix(segment.starts_with("..") ? 2 : 1);
  segment.remove_prefix(std::min(segment.find_first_not_of(' '), segment.size()));
  return segment.empty() || is_control(segment.front()) || std::string_view(";?#").contains(segment.front());
}

}  // namespace

bool has_dot_segment(std::string_view path) {
  std::string room;
  if (path.contains('%')) path = room = decoded_path(path);
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of("/\\"), path.size());
    if (is_dot_segment(path.substr(0, end))) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

std::string resolve_path(std::string_view base, std::string_view reference) {
  const std::size_t end = std::min(reference.find_first_of("?#"), reference.size());
  std::string whole;
  if (!reference.starts_with('/')) whole = base.substr(0, base.rfind('/') + 1);
  whole.append(reference.substr(0, end));
  std::string out;
  for (std::string_view rest = whole; !rest.empty();) {
    rest.remove_prefix(1);  // the slash before the segment
    const std::string_view segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(segment.size());
    const bool up = segment == "..";
    if (up && !out.empty()) out.resize(out.rfind('/'));
    if (!up && segment != ".") {
      out.append("/").append(segment);
    } else if (rest.empty()) {
      out += '/';
    }
  }
  return out.append(reference.substr(end));
}

std::string_view scheme_of(std::string_view reference) {
  const std::size_t colon = reference.find(':');
  if (colon == std::string_view::npos || colon == 0 || !is_letter(reference.front())) return {};
  const std::string_view scheme = reference.substr(0, colon);
  const bool whole = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  });
  return whole ? scheme : std::string_view();
}

}  // namespace penstock::http
