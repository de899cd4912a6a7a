// SPDX-License-Identifier: Apache-2.0
// See redaction.h. A path is read once for each pattern, and written only if something is hidden.
#include "http/redaction.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "http/grammar.h"
#include "http/reference.h"

namespace penstock::http {

namespace {

constexpr std::string_view kSecret = "{}";
constexpr auto kNowhere = std::string_view::npos;

/// A character of a path, and how many bytes it takes there.
struct Letter {
  char value;
  std::size_t size;
};

Letter letter_at(std::string_view path, std::size_t at) {
  unsigned char byte = 0;
  const auto digits = path.substr(at).substr(0, 3);
  if (digits.size() < 3 || digits[0] != '%') return {path[at], 1};
  const auto [end, error] = std::from_chars(digits.data() + 1, digits.data() + 3, byte, 16);
  if (error != std::errc{} || end != digits.data() + 3) return {path[at], 1};
  return {static_cast<char>(byte), 3};
}

/// An encoded slash is one to some servers. Where a secret is to end, it is none.
enum class Slashes { plain, any };

std::size_t behind_slashes(std::string_view path, std::size_t at, Slashes slashes) {
  while (at < path.size()) {
    const auto letter = slashes == Slashes::any ? letter_at(path, at) : Letter{path[at], 1};
    if (letter.value != '/' && (slashes == Slashes::plain || letter.value != '\\')) break;
    at += letter.size;
  }
  return at;
}

/// Where the literal ends that stands in the path at `at`; kNowhere: something else stands there.
std::size_t behind_literal(std::string_view path, std::size_t at, std::string_view literal, Slashes slashes) {
  for (const char wanted : literal) {
    if (at >= path.size()) return kNowhere;
    if (wanted == '/') {
      const auto end = behind_slashes(path, at, slashes);
      if (end == at) return kNowhere;
      at = end;
    } else {
      const auto letter = letter_at(path, at);
      if (lower(letter.value) != lower(wanted)) return kNowhere;
      at += letter.size;
    }
  }
  return at;
}

/// The parts of a path that are not shown.
class HiddenParts {
 public:
  /// Beyond so many, all that follows is hidden.
  static constexpr std::size_t kMost = 32;

  void add(std::size_t from, std::size_t to) {
    if (count_ == kMost) {
      auto& last = *std::ranges::min_element(parts_, {}, &Part::from);
      last = {.from = std::min(last.from, from), .to = kNowhere};
    } else {
      parts_[count_++] = {.from = from, .to = to};
    }
  }
  bool empty() const { return count_ == 0; }

  void write(std::string_view path, std::string& out) {
    const auto parts = std::span(parts_).first(count_);
    std::ranges::sort(parts, {}, &Part::from);
    out.clear();
    std::size_t shown_to = 0;
    for (const auto& [from, to] : parts) {
      const bool goes_on = !out.empty() && from <= shown_to;  // a part that touches the one before
      if (!goes_on) out.append(path.substr(shown_to, from - shown_to)).append(kHidden);
      shown_to = std::max(shown_to, std::min(to, path.size()));
    }
    out.append(path.substr(shown_to));
  }

 private:
  struct Part {
    std::size_t from, to;
  };
  std::array<Part, kMost> parts_;
  std::size_t count_ = 0;
};

/// Where the literal stands that ends a secret from `at` on, which is more than slashes; the path's end: nowhere.
std::size_t end_of_secret(std::string_view path, std::size_t at, std::string_view literal) {
  if (literal.empty()) return path.size();
  at = behind_slashes(path, at, Slashes::any);
  if (at < path.size()) at += letter_at(path, at).size;
  while (at < path.size() && behind_literal(path, at, literal, Slashes::plain) == kNowhere)
    at += letter_at(path, at).size;
  return at;
}

/// Hides what the pattern's `{}` cover, if it begins at `at`. Returns where it may begin again; kNowhere: it does not
/// begin there.
std::size_t hide(std::string_view path, std::size_t at, std::string_view pattern, HiddenParts& parts) {
  auto open = pattern.find(kSecret);
  at = behind_literal(path, at, pattern.substr(0, open), Slashes::any);
  while (at < path.size()) {
    pattern.remove_prefix(open + kSecret.size());
    open = pattern.find(kSecret);
    const auto literal = pattern.substr(0, open);
    const auto end = end_of_secret(path, at, literal);
    parts.add(at, end);
    if (open == kNowhere || end == path.size()) return end;
    at = behind_literal(path, end, literal, Slashes::plain);
  }
  return at;
}

void hide_all(std::string_view path, std::string_view pattern, HiddenParts& parts) {
  for (std::size_t at = 0; at < path.size();) {
    const bool segment = behind_slashes(path, at, Slashes::any) != at;
    const auto next = segment ? hide(path, at, pattern, parts) : kNowhere;
    at = next == kNowhere ? at + letter_at(path, at).size : next;
  }
}

}  // namespace

std::string_view shown_path(std::string_view path, std::span<const std::string> patterns, std::string& room) {
  if (patterns.empty() || path.empty()) return path;
  if (has_dot_segment(path)) return room.assign("/").append(kHidden);
  HiddenParts parts;
  for (const auto& pattern : patterns) hide_all(path, pattern, parts);
  if (parts.empty()) return path;
  parts.write(path, room);
  return room;
}

std::string shown_url(std::string_view url, std::span<const std::string> patterns) {
  const auto scheme = url.find("://");
  const auto authority = scheme == kNowhere ? 0 : scheme + 3;
  const auto path = std::min(url.find_first_of("/?#", authority), url.size());
  const auto end = std::min(url.find_first_of("?#", path), url.size());
  std::string room;
  std::string shown(url.substr(0, path));
  return shown.append(shown_path(url.substr(path, end - path), patterns, room)).append(url.substr(end));
}

}  // namespace penstock::http
