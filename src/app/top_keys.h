// SPDX-License-Identifier: Apache-2.0
// Keys out of the bytes that a terminal sends. For `penstock top` only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::app {

struct Key {
  enum class Kind : std::uint8_t { text, enter, escape, back, clear, up, down, page_up, page_down, first, last };
  Kind kind = Kind::text;
  std::string text = {};  ///< one character in UTF-8, of Kind::text

  bool operator==(const Key&) const = default;
};

class KeyReader {
 public:
  /// The keys that are whole. Sequences of keys that nobody needs are left out.
  std::vector<Key> read(std::string_view bytes);
  /// Something may still come: an Escape is the beginning of other keys, too.
  bool waits() const { return !rest_.empty(); }
  /// Nothing came for a while: an Escape was one.
  std::vector<Key> finish();

 private:
  std::string rest_;
};

}  // namespace penstock::app
