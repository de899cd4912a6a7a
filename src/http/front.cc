// SPDX-License-Identifier: Apache-2.0
// See front.h. In, it is one concatenation; out, three kinds of fields are looked at.
#include "http/front.h"

#include <algorithm>

#include "http/grammar.h"

namespace penstock::http {
namespace {

constexpr std::string_view kMark = "/@";

/// The size of a dot at the beginning, in either spelling; 0: there is none.
std::size_t dot(std::string_view text) {
  if (text.starts_with('.')) return 1;
  return text.size() >= 3 && text[0] == '%' && text[1] == '2' && lower(text[2]) == 'e' ? 3 : 0;
}

bool is_dots(std::string_view segment) {
  if (segment.empty()) return false;
  segment.remove_prefix(dot(segment));
  segment.remove_prefix(dot(segment));
  return segment.empty();
}

bool has_dot_segment(std::string_view path) {
  while (!path.empty()) {
    if (is_dots(cut(path, '/'))) return true;
  }
  return false;
}

/// What follows the authority of a URL that leads to the target's own place; nothing: it leads elsewhere.
std::optional<std::string_view> behind_authority(std::string_view url, const Target& target) {
  const std::string_view scheme = target.scheme;
  if (equal_ignoring_case(cut(url, ':'), scheme) && url.starts_with("//")) {
    url.remove_prefix(2);
    const std::size_t end = std::min(url.find_first_of("/?#"), url.size());
    const auto authority = parse_authority(url.substr(0, end));
    const std::uint16_t usual = target.secure() ? 443 : 80;
    if (!authority || authority->host != target.host) return std::nullopt;
    if ((authority->port ? authority->port : usual) == target.port) return url.substr(end);
  }
  return std::nullopt;
}

/// What of a path follows another, whole segments; nothing: it is not below it.
std::optional<std::string_view> behind(std::string_view path, std::string_view base) {
  if (!path.starts_with(base)) return std::nullopt;
  path.remove_prefix(base.size());
  if (!path.empty() && !std::string_view("/?#").contains(path.front())) return std::nullopt;
  return path;
}

std::optional<std::string_view> below_base(std::string_view path, const UpstreamConfig& gateway) {
  return behind(path, gateway.base_url->path);
}

std::string_view link_through_gateway(std::string_view value, const Target& target, std::string& room) {
  const auto rest = behind_authority(value, target);
  const bool path_only = value.starts_with('/') && !value.starts_with("//");
  if (!rest && !path_only) return value;
  if (const auto below = below_base(rest ? *rest : value, *target.gateway)) {
    room.assign(kMark).append(target.gateway->name).append(*below);
    return room;
  }
  if (rest) return value;
  room.assign(target.scheme).append("://").append(target.host_field()).append(value);
  return room;
}

/// What else the host has would leave as plain http.
std::string_view link_to_originated(std::string_view value, const Target& target, std::string& room) {
  const auto rest = behind_authority(value, target);
  if (!rest || !behind(*rest, target.originated_below)) return value;
  room.assign("http://").append(target.host_field()).append(*rest);  // 443 has become 80 again: neither is said
  return room;
}

std::string_view link_with_scheme(std::string_view value, const Target& target, std::string& room) {
  return target.gateway ? link_through_gateway(value, target, room) : link_to_originated(value, target, room);
}

std::string_view link(std::string_view value, const Target& target, std::string& room) {
  if (!value.starts_with("//")) return link_with_scheme(value, target, room);
  std::string whole = target.scheme + ":";  // the client's scheme is another
  whole.append(value);
  const auto said = link_with_scheme(whole, target, room);
  if (said.data() == whole.data()) room = std::move(whole);
  return room;
}

void add_cookie_path(std::string_view path, const UpstreamConfig& gateway, std::string& room) {
  room.append("; Path=").append(kMark).append(gateway.name);
  if (const auto below = below_base(path, gateway)) room.append(*below);
}

/// Without a path a cookie is for the folder of the request's. That of `/@NAME` would be the root, and all gateways.
bool is_for_the_root(const Target& target) {
  if (!target.gateway) return false;
  const auto below = below_base(target.path(), *target.gateway);
  return below && (below->empty() || *below == "/");
}

std::string_view cookie(std::string_view value, const Target& target, std::string& room) {
  const bool goes_over_http = target.secure() && target.originated_below.empty();
  bool has_path = false;
  room.assign(cut(value, ';'));
  while (!value.empty()) {
    const std::string_view attribute = cut(value, ';');
    std::string_view said = attribute;
    const std::string_view name = trim(cut(said, '='));
    said = trim(said);
    if (goes_over_http && equal_ignoring_case(name, "secure")) continue;
    if (target.gateway && equal_ignoring_case(name, "domain")) continue;
    const bool says_path = equal_ignoring_case(name, "path") && said.starts_with('/');
    has_path = has_path || says_path;
    if (target.gateway && says_path) {
      add_cookie_path(said, *target.gateway, room);
    } else {
      room.append(";").append(attribute);
    }
  }
  if (!has_path && is_for_the_root(target)) room.append("; Path=").append(kMark).append(target.gateway->name);
  return room;
}

}  // namespace

std::optional<GatewayForm> gateway_form(std::string_view resource) {
  if (!resource.starts_with(kMark)) return std::nullopt;
  resource.remove_prefix(kMark.size());
  const std::size_t end = std::min(resource.find_first_of("/?"), resource.size());
  return GatewayForm{resource.substr(0, end), resource.substr(end)};
}

std::expected<Target, Refusal> behind_gateway(const UpstreamConfig& upstream, std::string_view rest) {
  if (!std::all_of(rest.begin(), rest.end(), is_visible))
    return malformed("the target has a character that must be percent-encoded");
  if (rest.contains('#')) return malformed("the target has a fragment, which only the client itself can use");
  if (has_dot_segment(rest.substr(0, rest.find('?'))))
    return malformed("the path has a segment '.' or '..', which a gateway does not resolve");
  const auto& base = *upstream.base_url;
  Target target{base.secure ? "https" : "http", base.host, base.port, is_literal(base.host), base.path};
  if (base.path.empty() && !rest.starts_with('/')) target.resource = '/';
  target.resource.append(rest);
  target.gateway = &upstream;
  return target;
}

std::optional<std::string_view> said_in_front(const Fields::Line& line, const Target& target, std::string& room) {
  const auto& [name, value] = line;
  if (equal_ignoring_case(name, "strict-transport-security")) return std::nullopt;
  if (equal_ignoring_case(name, "location") || equal_ignoring_case(name, "content-location"))
    return link(value, target, room);
  if (equal_ignoring_case(name, "set-cookie")) return cookie(value, target, room);
  return value;
}

}  // namespace penstock::http
