// SPDX-License-Identifier: Apache-2.0
// See top_keys.h. Sequences are those of ECMA-48: CSI is ESC [, SS3 is ESC O.
#include "app/top_keys.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace penstock::app {

namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kLongestSequence = 32;

/// What one press comes to: nothing, or a key.
struct Press {
  std::size_t bytes = 0;  // 0: not all of it is there
  std::optional<Key> key = std::nullopt;
};

std::optional<Key> key_of(std::string_view sequence) {
  using enum Key::Kind;
  static constexpr std::array<std::pair<std::string_view, Key::Kind>, 14> kKnown{{{"[A", up},
                                                                                  {"OA", up},
                                                                                  {"[B", down},
                                                                                  {"OB", down},
                                                                                  {"[5~", page_up},
                                                                                  {"[6~", page_down},
                                                                                  {"[H", first},
                                                                                  {"OH", first},
                                                                                  {"[1~", first},
                                                                                  {"[F", last},
                                                                                  {"OF", last},
                                                                                  {"[4~", last},
                                                                                  {"OM", enter},
                                                                                  {"[3~", back}}};
  const auto found = std::ranges::find(kKnown, sequence, [](const auto& known) { return known.first; });
  return found == kKnown.end() ? std::nullopt : std::optional(Key{found->second});
}

/// Behind ESC.
Press sequence(std::string_view rest) {
  if (rest.size() < 2) return {};
  if (rest[1] == 'O') return rest.size() < 3 ? Press{} : Press{3, key_of(rest.substr(1, 2))};
  if (rest[1] != '[') return {1, Key{Key::Kind::escape}};
  const auto end = std::ranges::find_if(rest.substr(2), [](char c) { return c >= 0x40 && c <= 0x7e; });
  if (end == rest.end()) return rest.size() < kLongestSequence ? Press{} : Press{rest.size()};
  const auto bytes = static_cast<std::size_t>(end - rest.begin()) + 1;
  return {bytes, key_of(rest.substr(1, bytes - 1))};
}

/// A character of several bytes.
Press wide_character(std::string_view rest) {
  const auto lead = static_cast<unsigned char>(rest[0]);
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (bytes == 1) return {1};  // no beginning of any
  return rest.size() < bytes ? Press{} : Press{bytes, Key{Key::Kind::text, std::string(rest.substr(0, bytes))}};
}

Press press_of(std::string_view rest) {
  const char c = rest[0];
  if (c == kEscape) return sequence(rest);
  if (c == '\r' || c == '\n') return {1, Key{Key::Kind::enter}};
  if (c == '\x7f' || c == '\b') return {1, Key{Key::Kind::back}};
  if (c == '\x15') return {1, Key{Key::Kind::clear}};  // Ctrl-U
  if (static_cast<unsigned char>(c) >= 0x80) return wide_character(rest);
  return c < ' ' ? Press{1} : Press{1, Key{Key::Kind::text, std::string(1, c)}};
}

}  // namespace

std::vector<Key> KeyReader::read(std::string_view bytes) {
  std::vector<Key> keys;
  rest_ += bytes;
  while (!rest_.empty()) {
    auto press = press_of(rest_);
    if (press.bytes == 0) break;
    rest_.erase(0, press.bytes);
    if (press.key) keys.push_back(std::move(*press.key));
  }
  return keys;
}

std::vector<Key> KeyReader::finish() {
  const bool escape = rest_.starts_with(kEscape);
  rest_.clear();
  return escape ? std::vector<Key>{{Key::Kind::escape}} : std::vector<Key>{};
}

}  // namespace penstock::app
