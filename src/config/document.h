// SPDX-License-Identifier: Apache-2.0
// A YAML document as a plain tree with positions, in the subset that Penstock reads: no anchors, aliases, tags, merge
// keys or second document. Knows nothing of settings; duplicate keys stay in, for the reader to report.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/source_text.h"

namespace penstock::config {

struct Entry;

struct Node {
  enum class Kind { null, scalar, list, map, broken };  ///< `broken`: already reported, not to be read
  Kind kind = Kind::null;
  int line = 0;
  int column = 0;
  std::string text = {};         ///< of a scalar
  bool quoted = false;           ///< a scalar in quotes, or a block scalar
  std::vector<Node> items = {};  ///< of a list
  std::vector<Entry> entries;    ///< of a map, in the order of the text
};

struct Entry {
  Node key;
  Node value;
};

struct Document {
  Node root;
  std::vector<Problem> problems;  ///< unsupported YAML that was found; the rest of the tree is sound
};

/// The tree, or the one fault that keeps the text from being YAML at all.
std::expected<Document, Problem> parse_document(std::string_view text);

}  // namespace penstock::config
