// SPDX-License-Identifier: Apache-2.0
// The values that a JsonScanner looks for, each named by a path such as `usage.total_tokens`. Made when a configuration
// is read; scanners of many requests then share it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cost {

class JsonPaths {
 public:
  /// A bit for each path, by its number.
  using Set = std::uint16_t;
  static constexpr std::size_t kMost = 16;    ///< paths
  static constexpr std::size_t kDeepest = 8;  ///< segments of a path

  /// The number of a path, which counts from 0; that of the same path if it was added before. Its segments are keys
  /// with dots between them; `[]` stands for any element of an array. A key that has a dot itself cannot be named.
  /// Nothing: a segment is empty, or there are too many segments or paths.
  std::optional<std::size_t> add(std::string_view text);
  /// The text of this path is kept, too, up to JsonScanner::kLongestText bytes. There is at most one such path.
  std::optional<std::size_t> add_text(std::string_view text);

  std::size_t size() const { return paths_.size(); }
  Set all() const { return static_cast<Set>((1U << paths_.size()) - 1); }
  /// The path whose text is kept, or none.
  Set of_text() const { return of_text_; }
  /// Those that end with the segment of this number, which counts from 0.
  Set ending_at(std::size_t segment) const { return segment < kDeepest ? ending_[segment] : Set{0}; }
  /// Those whose segment of this number is `[]`.
  Set elements_at(std::size_t segment) const { return segment < kDeepest ? elements_[segment] : Set{0}; }

  /// Those of `set` whose segment of this number goes on with `part` behind its first `at` bytes. The paths of `set`
  /// have a segment of this number.
  Set going_on(Set set, std::size_t segment, std::size_t at, std::string_view part) const {
    return kept_of(set, [&](const Path& path) {
      const std::string& key = path[segment];
      return key.size() >= at && std::string_view(key).substr(at).starts_with(part);
    });
  }
  /// Those of `set` whose segment of this number has `size` bytes.
  Set as_long(Set set, std::size_t segment, std::size_t size) const {
    return kept_of(set, [&](const Path& path) { return path[segment].size() == size; });
  }

 private:
  using Path = std::vector<std::string>;

  Set kept_of(Set set, auto keeps) const {
    Set kept = 0;
    for (Set left = set; left != 0; left = static_cast<Set>(left & (left - 1))) {
      if (const auto path = static_cast<std::size_t>(std::countr_zero(left)); keeps(paths_[path])) kept |= bit(path);
    }
    return kept;
  }
  static Set bit(std::size_t path) { return static_cast<Set>(1U << path); }

  std::vector<Path> paths_;
  std::array<Set, kDeepest> ending_{}, elements_{};
  Set of_text_ = 0;
};

}  // namespace penstock::cost
