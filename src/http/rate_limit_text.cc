// SPDX-License-Identifier: Apache-2.0
// See rate_limit_text.h.
#include "http/rate_limit_text.h"

#include <limits>

#include "http/date.h"
#include "http/grammar.h"

namespace penstock::http {

std::int64_t clock_of(const Fields& fields, std::int64_t wall) {
  const auto text = fields.find("date");
  const auto date = text ? parse_date(*text, wall / 1'000'000) : std::nullopt;
  return date ? *date * 1'000'000 : wall;
}

std::optional<std::uint64_t> units_of(std::string_view text) {
  text = trim(text.substr(0, text.find_first_of(";,")));
  if (text.starts_with('-')) return units_of(text.substr(1)) ? std::optional<std::uint64_t>(0) : std::nullopt;
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  if (!is_digit(text.front()) || !is_digit(text.back())) return std::nullopt;
  const auto whole = parse_digits(text.substr(0, text.find('.')));
  return whole ? whole : std::numeric_limits<std::int64_t>::max();
}

std::optional<std::string_view> parameter_of(std::string_view item, std::string_view name) {
  for (std::size_t at = item.find(name); at != std::string_view::npos; at = item.find(name, at + 1)) {
    const bool begins = at == 0 || item[at - 1] == ';' || item[at - 1] == ',' || is_blank(item[at - 1]);
    if (!begins) continue;
    const auto value = item.substr(at + name.size());
    return trim(value.substr(0, value.find_first_of(";,")));
  }
  return std::nullopt;
}

}  // namespace penstock::http
