// SPDX-License-Identifier: Apache-2.0
// Reads and judges patterns of paths, and the rule of `group`. The proxy decides which group a request belongs to.
#include <algorithm>
#include <set>

#include "config/checks.h"
#include "cost/json_paths.h"
#include "penstock/config.h"

namespace penstock {

namespace {

using Wrong = std::unexpected<std::string>;

constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";  // beside letters and digits, in a token of RFC 9110

bool is_literal_char(char c) {
  return c > ' ' && c < 0x7f && std::string_view("?#*\\\"<>^`{|}").find(c) == std::string_view::npos;
}

bool is_literal(std::string_view text) { return std::ranges::all_of(text, is_literal_char); }

// Judges one segment of a path's pattern, and adds the names of its braced parts to `names`.
std::optional<std::string> wrong_with_segment(std::string_view segment, std::set<std::string_view>& names) {
  const std::string said = "'" + std::string(segment) + "'";
  if (segment.empty()) return "the pattern has an empty segment";
  const auto open = segment.find_first_of("*{");
  if (!is_literal(segment.substr(0, open))) return said + " is not a segment of a path";
  if (open == std::string_view::npos) return std::nullopt;
  auto rest = segment.substr(open + 1);
  if (segment[open] == '{') {
    const auto close = rest.find('}');
    if (close == std::string_view::npos) return said + " has a { that is not closed";
    const auto name = rest.substr(0, close);
    if (!config::all_of(name, "_")) return said + ": a name in braces has letters, digits and _ only";
    if (!names.insert(name).second) return "two parts are named {" + std::string(name) + "}";
    rest.remove_prefix(close + 1);
  }
  if (rest.find_first_of("*{") != std::string_view::npos) return said + " has more than one * or {name}";
  if (!is_literal(rest)) return said + " is not a segment of a path";
  return std::nullopt;
}

std::optional<std::string> wrong_with_path(std::string_view pattern, std::set<std::string_view>& names) {
  if (!pattern.starts_with('/')) return "a path begins with /";
  for (auto rest = pattern; !rest.empty();) {
    rest.remove_prefix(1);
    const auto end = std::min(rest.find('/'), rest.size());
    if (auto wrong = wrong_with_segment(rest.substr(0, end), names)) return wrong;
    rest.remove_prefix(end);
  }
  return std::nullopt;
}

std::expected<std::string, std::string> parse_path(std::string_view pattern, std::set<std::string_view>& names) {
  while (pattern.size() > 1 && pattern.ends_with('/')) pattern.remove_suffix(1);
  if (auto wrong = wrong_with_path(pattern, names)) return Wrong(*wrong);
  return std::string(pattern);
}

std::expected<GroupRule, std::string> parse_group_path(std::string_view text) {
  std::set<std::string_view> names;
  auto pattern = parse_path(text, names);
  if (!pattern) return Wrong(pattern.error());
  if (names.empty()) return Wrong("no part is braced; mark what makes the group, as in /guilds/{guild}");
  return GroupRule{GroupRule::By::path, *std::move(pattern)};
}

std::expected<GroupRule, std::string> parse_header(std::string_view name) {
  if (!config::all_of(name, kTokenMarks)) return Wrong("'" + std::string(name) + "' is not a header's name");
  return GroupRule{GroupRule::By::header, std::string(name)};
}

std::expected<GroupRule, std::string> parse_group_json(std::string_view path) {
  constexpr auto kMost = cost::JsonPaths::kDeepest;
  if (!cost::JsonPaths().add(path))
    return Wrong("'" + std::string(path) + "' is not a path of 1 to " + std::to_string(kMost) +
                 " keys, as in json:model or json:input.model");
  return GroupRule{GroupRule::By::json, std::string(path)};
}

}  // namespace

std::expected<std::string, std::string> parse_path_pattern(std::string_view text) {
  std::set<std::string_view> names;
  return parse_path(text, names);
}

std::expected<GroupRule, std::string> parse_group(std::string_view text) {
  constexpr std::string_view kPath = "path:", kHeader = "header:", kJson = "json:";
  if (text == "host") return GroupRule{};
  if (text.starts_with(kPath)) return parse_group_path(text.substr(kPath.size()));
  if (text.starts_with(kHeader)) return parse_header(text.substr(kHeader.size()));
  if (text.starts_with(kJson)) return parse_group_json(text.substr(kJson.size()));
  return Wrong("it must be path:/a/{name}, header:NAME, json:PATH or host");
}

}  // namespace penstock
