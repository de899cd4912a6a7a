// SPDX-License-Identifier: Apache-2.0
// How the requests of an upstream are told apart: by groups, each of which has a queue of its own, and by what the
// routes of config.h are for. Plain values, no threads.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// How requests are put into groups. Each group has its own lane, and its own limits where they are `per: group`.
struct GroupRule {
  enum class By { path, header, host, json };
  By by = By::host;
  /// By path: a pattern, `/api/v*/guilds/{guild}`. `*` and `{name}` match one character or more within their segment,
  /// which has at most one of them. What braces match makes the group (several are joined with `/`); further segments
  /// are ignored. By header: the header's name. By json: a path such as `model` in a JSON body. Requests that do not
  /// match: group `-`.
  std::string pattern;
  bool operator==(const GroupRule&) const = default;
};

/// Reads a pattern as GroupRule::pattern, in which no part need be braced: without a slash at its end, or what is
/// wrong.
std::expected<std::string, std::string> parse_path_pattern(std::string_view text);

/// Reads `path:/api/v*/guilds/{guild}`, `header:NAME`, `json:PATH` or `host`: the rule, or what is wrong with the text.
std::expected<GroupRule, std::string> parse_group(std::string_view text);
inline std::string to_string(const GroupRule& rule) {
  if (rule.by == GroupRule::By::host) return "host";
  constexpr std::string_view kPrefixes[] = {"path:", "header:", "", "json:"};
  return std::string(kPrefixes[static_cast<std::size_t>(rule.by)]) + rule.pattern;
}

/// Which requests of an upstream a route is for: those that fit every part that is set.
struct RouteMatch {
  std::vector<std::string> methods;  ///< in upper case; empty: any
  std::string path;                  ///< a pattern, as parse_path_pattern() returns it; empty: any
  std::string header;                ///< the name of a field that is there; empty: any
  std::string header_value;          ///< the whole of one of its lines; empty: any
  bool operator==(const RouteMatch&) const = default;
};

/// `GET,POST /search X-Tier`: without the header's value, which may be a credential.
std::string to_string(const RouteMatch& match);

}  // namespace penstock
