// SPDX-License-Identifier: Apache-2.0
// A header or trailer section as it came: names, values, order and repetitions. All text is in one block, so that the
// fields of a pending request cost two allocations, however many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::http {

class Fields {
 public:
  struct Line {
    std::string_view name;
    std::string_view value;
  };

  void add(std::string_view name, std::string_view value);
  /// Adds a line in pieces, as a parser finds them: begin(), then pieces of the name, then pieces of the value.
  void begin() {
    const auto at = static_cast<std::uint32_t>(text_.size());
    places_.push_back({at, 0, at, 0});
  }
  void extend_name(std::string_view piece) {
    text_.append(piece);
    places_.back().name_size += static_cast<std::uint32_t>(piece.size());
    places_.back().value_at += static_cast<std::uint32_t>(piece.size());
  }
  void extend_value(std::string_view piece) {
    text_.append(piece);
    places_.back().value_size += static_cast<std::uint32_t>(piece.size());
  }
  void trim_value();  ///< drops blanks at the end of the last line's value

  /// Reserves room for so many bytes of text and so many lines, where they are known beforehand.
  void reserve(std::size_t text, std::size_t lines);
  void clear();
  void shrink_to_fit();  ///< for before a long wait

  std::size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  /// The views are valid until the next change.
  Line operator[](std::size_t index) const {
    const Place& place = places_[index];
    return {{text_.data() + place.name_at, place.name_size}, {text_.data() + place.value_at, place.value_size}};
  }
  /// The value of the first line of that name.
  std::optional<std::string_view> find(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  /// True if any line of that name has this token in its comma-separated list.
  bool lists(std::string_view name, std::string_view token) const;
  /// The approximate memory held, counted against `caps.pendingMemory`.
  std::size_t bytes() const;

 private:
  struct Place {
    std::uint32_t name_at, name_size, value_at, value_size;
  };
  std::string text_;
  std::vector<Place> places_;
};

}  // namespace penstock::http
