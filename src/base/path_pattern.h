// SPDX-License-Identifier: Apache-2.0
// A pattern of paths, `/api/v*/guilds/{guild}`, as groups and routes have it. `*` and `{name}` stand for one character
// or more within their segment; what follows the pattern's last segment is ignored. Pure; matching allocates nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::base {

class PathPattern {
 public:
  /// `pattern` as parse_path_pattern() returns it; empty: it fits every path.
  explicit PathPattern(std::string_view pattern = {}) {
    while (!pattern.empty()) segments_.emplace_back(cut_segment(pattern));
    named_ = static_cast<std::size_t>(
        std::ranges::count(segments_, Segment::Part::named, [](const Segment& one) { return one.part; }));
  }

  /// How many `{name}` it has.
  std::size_t named() const { return named_; }
  bool fits(std::string_view path) const {
    return visit(path, [](std::string_view) {});
  }
  /// Calls `use` with what each `{name}` stands for, in their order. False: the path does not fit, and some calls may
  /// have been made nevertheless.
  template <typename Use>
  bool visit(std::string_view path, Use use) const {
    for (const Segment& segment : segments_) {
      if (!path.starts_with('/')) return false;
      const auto part = segment.fit(cut_segment(path));
      if (!part) return false;
      if (segment.part == Segment::Part::named) use(*part);
    }
    return true;
  }
  /// True only if every path that the other fits is fitted by this one, too.
  bool covers(const PathPattern& other) const {
    return segments_.size() <= other.segments_.size() &&
           std::equal(segments_.begin(), segments_.end(), other.segments_.begin(),
                      [](const Segment& one, const Segment& its) { return one.covers(its); });
  }

 private:
  /// `before*after`, `before{name}after`, or just `before`.
  struct Segment {
    enum class Part { none, any, named };
    explicit Segment(std::string_view text) {
      const auto open = text.find_first_of("*{");
      before = text.substr(0, open);
      if (open == std::string_view::npos) return;
      part = text[open] == '*' ? Part::any : Part::named;
      after = text.substr(part == Part::any ? open + 1 : text.find('}') + 1);
    }
    /// The text that the open part stands for, at least one character; empty if the segment has none; nullopt: no
    /// match.
    std::optional<std::string_view> fit(std::string_view text) const {
      if (part == Part::none) return text == before ? std::optional(std::string_view()) : std::nullopt;
      const auto fixed = before.size() + after.size();
      if (text.size() <= fixed || !text.starts_with(before) || !text.ends_with(after)) return std::nullopt;
      return text.substr(before.size(), text.size() - fixed);
    }
    bool covers(const Segment& other) const {
      if (other.part == Part::none) return fit(other.before).has_value();
      return part != Part::none && other.before.starts_with(before) && other.after.ends_with(after);
    }

    std::string before, after;
    Part part = Part::none;
  };

  /// Cuts "/first/rest" into "first" (returned) and "/rest" (left in `path`).
  static std::string_view cut_segment(std::string_view& path) {
    path.remove_prefix(1);
    const auto segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    return segment;
  }

  std::vector<Segment> segments_;
  std::size_t named_ = 0;
};

}  // namespace penstock::base
