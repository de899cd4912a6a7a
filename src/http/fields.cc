// SPDX-License-Identifier: Apache-2.0
// Each line is a place in one text: its name and value stand side by side, in the order of arrival.
#include "http/fields.h"

#include "http/grammar.h"

namespace penstock::http {

void Fields::add(std::string_view name, std::string_view value) {
  const auto at = static_cast<std::uint32_t>(text_.size());
  const auto name_size = static_cast<std::uint32_t>(name.size());
  text_.append(name).append(value);
  places_.push_back({at, name_size, at + name_size, static_cast<std::uint32_t>(value.size())});
}

void Fields::trim_value() {
  Place& last = places_.back();
  while (last.value_size > 0 && is_blank(text_.back())) {
    text_.pop_back();
    --last.value_size;
  }
}

void Fields::reserve(std::size_t text, std::size_t lines) {
  text_.reserve(text);
  places_.reserve(lines);
}

void Fields::clear() {
  text_.clear();
  places_.clear();
}

void Fields::shrink_to_fit() {
  text_.shrink_to_fit();
  places_.shrink_to_fit();
}

std::optional<std::string_view> Fields::find(std::string_view name) const {
  for (std::size_t i = 0; i < size(); ++i) {
    const Line line = (*this)[i];
    if (equal_ignoring_case(line.name, name)) return line.value;
  }
  return std::nullopt;
}

std::size_t Fields::count(std::string_view name) const {
  std::size_t found = 0;
  for (std::size_t i = 0; i < size(); ++i) found += equal_ignoring_case((*this)[i].name, name);
  return found;
}

bool Fields::lists(std::string_view name, std::string_view token) const {
  bool found = false;
  for (std::size_t i = 0; i < size() && !found; ++i) {
    const Line line = (*this)[i];
    if (!equal_ignoring_case(line.name, name)) continue;
    each_member(line.value, [&](std::string_view member) { found = found || equal_ignoring_case(member, token); });
  }
  return found;
}

std::size_t Fields::bytes() const { return text_.capacity() + places_.capacity() * sizeof(Place); }

}  // namespace penstock::http
