// SPDX-License-Identifier: Apache-2.0
// See json_paths.h.
#include "cost/json_paths.h"

#include <algorithm>

namespace penstock::cost {

std::optional<std::size_t> JsonPaths::add(std::string_view text) {
  Path path;
  for (bool more = true; more;) {
    const auto dot = text.find('.');
    more = dot != std::string_view::npos;
    const auto segment = text.substr(0, dot);
    text.remove_prefix(more ? dot + 1 : text.size());
    if (segment.empty() || path.size() == kDeepest) return std::nullopt;
    path.emplace_back(segment);
  }
  const auto known = std::ranges::find(paths_, path);
  if (known != paths_.end()) return static_cast<std::size_t>(known - paths_.begin());
  if (paths_.size() == kMost) return std::nullopt;
  const Set one = bit(paths_.size());
  for (std::size_t segment = 0; segment < path.size(); ++segment) {
    if (path[segment] == "[]") elements_[segment] |= one;
  }
  ending_[path.size() - 1] |= one;
  paths_.push_back(std::move(path));
  return paths_.size() - 1;
}

std::optional<std::size_t> JsonPaths::add_text(std::string_view text) {
  const auto path = of_text_ == 0 ? add(text) : std::nullopt;
  if (path) of_text_ = bit(*path);
  return path;
}

}  // namespace penstock::cost
