// SPDX-License-Identifier: Apache-2.0
// What tests ask a JsonScanner, with the text cut in several ways.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/json_scanner.h"

namespace penstock::cost {

/// Calls `each` with the bytes in pieces of `size`, each in memory of its own, so that a sanitizer notices who reads
/// beyond it.
inline void in_pieces(std::string_view bytes, std::size_t size, auto each) {
  while (!bytes.empty()) {
    const std::string piece(bytes.substr(0, size));
    bytes.remove_prefix(piece.size());
    each(std::string_view(piece));
  }
}

struct Scan {
  JsonScanner::State state = JsonScanner::State::more;
  std::vector<std::optional<double>> numbers;
  std::optional<std::string> text;
  bool operator==(const Scan&) const = default;
};

/// What is found at the paths of numbers, and at the one whose text is kept, if there is one.
inline Scan scan(std::string_view json, const std::vector<std::string>& paths, std::string_view kept = {}) {
  JsonPaths wanted;
  for (const auto& path : paths) EXPECT_TRUE(wanted.add(path)) << path;
  if (!kept.empty()) {
    EXPECT_TRUE(wanted.add_text(kept)) << kept;
  }
  const auto scan_in = [&](std::size_t size) {
    JsonScanner scanner(wanted);
    in_pieces(json, size, [&](std::string_view piece) { scanner.feed(piece); });
    Scan found{.state = scanner.finish()};
    for (std::size_t i = 0; i < paths.size(); ++i) found.numbers.push_back(scanner.number(i));
    if (scanner.text()) found.text = std::string(*scanner.text());
    return found;
  };
  const Scan whole = scan_in(json.size() + 1);
  for (const std::size_t size : {1, 2, 3, 7}) EXPECT_EQ(scan_in(size), whole) << json << " in pieces of " << size;
  return whole;
}

inline std::optional<double> number_in(std::string_view json, const std::string& path) {
  return scan(json, {path}).numbers[0];
}
inline std::optional<std::string> text_in(std::string_view json, std::string_view path) {
  return scan(json, {}, path).text;
}

}  // namespace penstock::cost
