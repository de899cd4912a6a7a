// SPDX-License-Identifier: Apache-2.0
// See route_match.h.
#include "config/route_match.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/path_pattern.h"
#include "config/checks.h"

namespace penstock::config {

namespace {

// The registry of IANA without CONNECT, as a tunnel has no route; and PURGE, which caches take.
constexpr auto kMethods = std::to_array<std::string_view>({"ACL",
                                                           "BASELINE-CONTROL",
                                                           "BIND",
                                                           "CHECKIN",
                                                           "CHECKOUT",
                                                           "COPY",
                                                           "DELETE",
                                                           "GET",
                                                           "HEAD",
                                                           "LABEL",
                                                           "LINK",
                                                           "LOCK",
                                                           "MERGE",
                                                           "MKACTIVITY",
                                                           "MKCALENDAR",
                                                           "MKCOL",
                                                           "MKREDIRECTREF",
                                                           "MKWORKSPACE",
                                                           "MOVE",
                                                           "OPTIONS",
                                                           "ORDERPATCH",
                                                           "PATCH",
                                                           "POST",
                                                           "PROPFIND",
                                                           "PROPPATCH",
                                                           "PURGE",
                                                           "PUT",
                                                           "QUERY",
                                                           "REBIND",
                                                           "REPORT",
                                                           "SEARCH",
                                                           "TRACE",
                                                           "UNBIND",
                                                           "UNCHECKOUT",
                                                           "UNLINK",
                                                           "UNLOCK",
                                                           "UPDATE",
                                                           "UPDATEREDIRECTREF",
                                                           "VERSION-CONTROL"});

bool equal_ignoring_case(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other,
                            [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
}

bool covers_methods(const RouteMatch& one, const RouteMatch& other) {
  if (one.methods.empty()) return true;
  const auto has = [&](const std::string& method) {
    return std::ranges::find(one.methods, method) != one.methods.end();
  };
  return !other.methods.empty() && std::ranges::all_of(other.methods, has);
}

bool covers_header(const RouteMatch& one, const RouteMatch& other) {
  if (one.header.empty()) return true;
  return equal_ignoring_case(one.header, other.header) &&
         (one.header_value.empty() || one.header_value == other.header_value);
}

/// The first place of `part`, in either case; npos: none.
std::size_t find_ignoring_case(std::string_view text, std::string_view part) {
  const auto found = std::ranges::search(
      text, part, [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); });
  return found.empty() && !part.empty() ? std::string_view::npos
                                        : static_cast<std::size_t>(found.begin() - text.begin());
}

constexpr std::string_view kHiddenPart = "…";

}  // namespace

std::span<const std::string_view> known_methods() { return kMethods; }

bool covers(const RouteMatch& one, const RouteMatch& other) {
  return covers_methods(one, other) && base::PathPattern(one.path).covers(base::PathPattern(other.path)) &&
         covers_header(one, other);
}

bool is_header_name(std::string_view text) { return all_of(text, "!#$%&'*+-.^_`|~"); }  // a token of RFC 9110

RouteMatch without_secrets(RouteMatch match, const std::vector<std::string>& redact) {
  for (const auto& pattern : redact) {
    const auto start = std::string_view(pattern).substr(0, pattern.find("{}"));
    const bool encoded = match.path.find('%') != std::string::npos;
    const auto at = find_ignoring_case(match.path, start);
    const auto secret = encoded ? 0 : at == std::string_view::npos ? at : at + start.size();
    if (secret < match.path.size() && (encoded || (match.path[secret] != '*' && match.path[secret] != '{')))
      match.path.resize(secret), match.path += kHiddenPart;
  }
  return match;
}

}  // namespace penstock::config

namespace penstock {

std::string to_string(const RouteMatch& match) {
  std::string text;
  for (const auto& method : match.methods) text += (text.empty() ? "" : ",") + method;
  for (const auto& part : {match.path, match.header}) {
    if (!part.empty()) text += (text.empty() ? "" : " ") + part;
  }
  return text;
}

}  // namespace penstock
