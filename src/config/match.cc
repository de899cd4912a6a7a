// SPDX-License-Identifier: Apache-2.0
// The patterns of `match`: read, judged, normalized, and written back. The router decides which of them wins.
#include <algorithm>

#include "access/address.h"
#include "access/rule.h"
#include "config/units.h"
#include "penstock/config.h"

namespace penstock {

namespace {

using Wrong = std::unexpected<std::string>;

bool is_path_char(char c) {
  return c > ' ' && c < 0x7f && std::string_view("?#*\\\"<>^`{|}").find(c) == std::string_view::npos;
}

std::optional<std::string> wrong_with_whole(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (text.empty()) return "an empty pattern matches nothing";
  if (has("://")) return "write it without the scheme, as in api.example.com/v1";
  if (has("@")) return "a pattern has no user name";
  if (has("?") || has("#")) return "a pattern ends with the path: no query, no fragment";
  if (text == "*") return "what nothing else matches is set by the entry named \"*\"";
  return std::nullopt;
}

std::expected<std::string, std::string> parse_bracketed(std::string_view inner) {
  const auto address = inner.find(':') == std::string_view::npos ? std::nullopt : access::parse_address(inner);
  if (!address) return Wrong("'" + std::string(inner) + "' is not an IPv6 address");
  if (!address->v6) return Wrong("write it as the IPv4 address that it is: " + access::to_string(*address));
  return access::to_string(*address);
}

std::optional<std::string> read_port(std::string_view text, Match& match) {
  const auto port = config::parse_count(text);
  if (!port || *port == 0 || *port > 65535) return "'" + std::string(text) + "' is not a port";
  match.port = static_cast<std::uint16_t>(*port);
  return std::nullopt;
}

// Reads the part before the path: returns the host, and stores the port in `match`.
std::expected<std::string, std::string> parse_authority(std::string_view text, Match& match) {
  const bool bracketed = text.starts_with('[');
  const auto end = bracketed ? text.find(']') : text.find(':');
  const auto after = bracketed && end != std::string_view::npos ? end + 1 : end;
  if (bracketed && end == std::string_view::npos) return Wrong("a bracket is not closed");
  if (!bracketed && std::count(text.begin(), text.end(), ':') > 1) {
    return Wrong("write an IPv6 address in brackets, as in [2001:db8::1]:8080");
  }
  if (after < text.size()) {
    if (text[after] != ':') return Wrong("only a port may follow the bracket");
    if (auto wrong = read_port(text.substr(after + 1), match)) return Wrong(*wrong);
  }
  return bracketed ? parse_bracketed(text.substr(1, end - 1)) : access::parse_name(text.substr(0, end));
}

// `/v1/` means the same as `/v1`, and `/` the same as no path.
std::expected<std::string, std::string> parse_path(std::string_view text) {
  if (text.find('*') != std::string_view::npos) return Wrong("a path is a prefix: it has no *");
  if (!std::all_of(text.begin(), text.end(), is_path_char)) return Wrong("'" + std::string(text) + "' is not a path");
  while (text.ends_with('/')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

std::expected<Match, std::string> parse_match(std::string_view text) {
  if (auto wrong = wrong_with_whole(text)) return Wrong(*wrong);
  Match match;
  match.suffix = text.starts_with("*.");
  if (match.suffix) text.remove_prefix(2);
  const auto slash = std::min(text.find('/'), text.size());
  const auto host = parse_authority(text.substr(0, slash), match);
  if (!host) return Wrong(host.error());
  if (match.suffix && access::parse_address(*host)) return Wrong("an address has no subdomains");
  const auto path = parse_path(text.substr(slash));
  if (!path) return Wrong(path.error());
  match.host = *host;
  match.path = *path;
  return match;
}

std::string to_string(const Match& match) {
  const bool v6 = match.host.find(':') != std::string::npos;
  std::string text = match.suffix ? "*." : "";
  text += v6 ? "[" + match.host + "]" : match.host;
  if (match.port) text += ":" + std::to_string(*match.port);
  return text + match.path;
}

}  // namespace penstock
