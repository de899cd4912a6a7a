// SPDX-License-Identifier: Apache-2.0
// A line of `penstock top`, in pieces that may have different colours.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::app {

enum class Ink : std::uint8_t { plain, bold, dim, good, warn, bad };

struct Span {
  Ink ink = Ink::plain;
  std::string text;  ///< safe for a terminal
};

struct TopLine {
  std::vector<Span> spans;
  bool selected = false;
};

/// Without colours, and without blanks at its end.
inline std::string plain_text(const TopLine& line) {
  std::string text;
  for (const auto& span : line.spans) text += span.text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace penstock::app
