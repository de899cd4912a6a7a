// SPDX-License-Identifier: Apache-2.0
// See gateway_rewrite.h. Requests take one concatenation; in responses, three kinds of fields are changed.
#include "http/gateway_rewrite.h"

#include <algorithm>

#include "http/grammar.h"
#include "http/reference.h"

namespace penstock::http {
namespace {

constexpr std::string_view kMark = "/@", kEscapedMark = "/%40";

/// What follows the authority of a URL with the target's own scheme, host and port; nothing if it leads elsewhere.
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

/// What follows `base` in a path, in whole segments; nothing if the path is not below it.
std::optional<std::string_view> behind(std::string_view path, std::string_view base) {
  if (!path.starts_with(base)) return std::nullopt;
  path.remove_prefix(base.size());
  if (!path.empty() && !std::string_view("/?#").contains(path.front())) return std::nullopt;
  return path;
}

/// Appends `/@NAME` or `/%40NAME`, as the client spelled it.
void append_front(const Target& target, std::string& room) {
  const bool escaped = target.front == Target::Front::escaped_gateway;
  room.append(escaped ? kEscapedMark : kMark).append(target.gateway->name);
}

/// Like behind(), but nothing also if some reader may see a dot segment in the path, and so leave `base`.
std::optional<std::string_view> surely_behind(std::string_view path, std::string_view base) {
  if (has_dot_segment(path.substr(0, path.find_first_of("?#")))) return std::nullopt;
  return behind(path, base);
}

/// The authority of an http URL, without a user name; nothing where clients disagree about it. Some read `http:path` as
/// a path on the server that they asked, a backslash as a slash, and numbers as addresses.
std::optional<Authority> authority_in_http(std::string_view url) {
  cut(url, ':');
  if (!url.starts_with("//")) return std::nullopt;
  url.remove_prefix(2);
  const std::size_t end = std::min(url.find_first_of("/?#\\"), url.size());
  if (end < url.size() && url[end] == '\\') return std::nullopt;
  const std::string_view authority = url.substr(0, end);
  auto parsed = parse_authority(authority.substr(authority.rfind('@') + 1));
  return parsed ? std::optional(*std::move(parsed)) : std::nullopt;
}

/// True if this URL, which does not lead to the target, may lead to the proxy that the client asked, and there to
/// anything but this gateway. An upstream must not direct clients to another upstream's gateway.
bool may_lead_to_other_gateway(std::string_view url, const Target& target) {
  if (!equal_ignoring_case(scheme_of(url), "http")) return false;
  const auto there = authority_in_http(url);
  const auto asked = parse_authority(target.gateway_host);
  const auto port = [](const Authority& authority) { return authority.port ? authority.port : 80; };
  if (!there || !asked) return !there;
  if (there->host != asked->host || port(*there) != port(*asked)) return false;
  const std::size_t path = std::min(url.find('/', std::string_view("http://").size()), url.size());
  const auto form = gateway_form(url.substr(path));
  return !form || form->name != target.gateway->name || !surely_behind(form->rest, "");
}

/// A link to the target's host: `said` is the path as written, `resolved` the path with dot segments resolved.
std::string_view link_through_gateway(std::string_view said, const std::string& resolved, const Target& target,
                                      std::string& room) {
  room.clear();
  if (const auto below = surely_behind(resolved, target.gateway->base_url->path)) {
    append_front(target, room);
    return room.append(*below);
  }
  room.append(target.scheme).append("://").append(target.host_field());
  if (!said.starts_with('/')) room.append(target.path().substr(0, target.path().rfind('/') + 1));
  return room.append(said);
}

/// Links to parts of the host that are not originated would leave as plain http: they keep, or get, their full URL.
std::string_view link_to_originated(std::string_view value, std::string_view said, const std::string& resolved,
                                    const Target& target, std::string& room) {
  const bool absolute = said.size() < value.size();
  const bool below = target.originated_below.empty() || surely_behind(resolved, target.originated_below);
  if (absolute != below) return value;
  room.assign(below ? "http://" : "https://").append(target.host_field());  // 443 became 80: neither is written
  return room.append(below ? said : std::string_view(resolved));
}

/// For a reference with scheme and authority.
std::optional<std::string_view> link_with_authority(std::string_view value, const Target& target, std::string& room) {
  const auto said = behind_authority(value, target);
  if (!said && target.gateway && may_lead_to_other_gateway(value, target)) return std::nullopt;
  if (!said) return value;
  const std::string resolved = said->starts_with('/') ? resolve_path("/", *said) : std::string(*said);
  if (!target.gateway) return link_to_originated(value, *said, resolved, target, room);
  const bool below = surely_behind(resolved, target.gateway->base_url->path).has_value();
  return below ? link_through_gateway(*said, resolved, target, room) : value;
}

std::optional<std::string_view> link(std::string_view value, const Target& target, std::string& room) {
  if (target.gateway && value.contains('\t')) return std::nullopt;  // some clients remove tabs and read the rest
  if (!scheme_of(value).empty()) return link_with_authority(value, target, room);
  if (value.starts_with("//")) {
    const std::string whole = std::string(target.scheme) + ":" + std::string(value);  // the client's scheme differs
    const auto said = link_with_authority(whole, target, room);
    if (said && said->data() == whole.data()) room = whole;
    return said ? std::optional<std::string_view>(room) : std::nullopt;
  }
  if (value.empty() || value.starts_with('?') || value.starts_with('#')) return value;  // the requested URL itself
  const std::string resolved = resolve_path(target.path(), value);
  return target.gateway ? link_through_gateway(value, resolved, target, room)
                        : link_to_originated(value, value, resolved, target, room);
}

void add_cookie_path(std::string_view path, const Target& target, std::string& room) {
  room.append("; Path=");
  append_front(target, room);
  if (const auto below = surely_behind(path, target.gateway->base_url->path)) room.append(*below);
}

/// A cookie without a path is for the folder of the request. For `/@NAME` that is the root, and so all gateways.
bool is_for_the_root(const Target& target) {
  const auto below = behind(target.path(), target.gateway->base_url->path);
  return below && (below->empty() || *below == "/");
}

/// A gateway's cookie gets one path, at the end. Of several paths the last one counts, even an empty one (RFC 6265 5.2
/// and 5.3), and a client that takes another one must not find any.
std::string_view cookie(std::string_view value, const Target& target, std::string& room) {
  const bool goes_over_http = target.secure() && target.originated_below.empty();
  std::string_view path;
  room.assign(cut(value, ';'));
  while (!value.empty()) {
    const std::string_view attribute = cut(value, ';');
    std::string_view said = attribute;
    const std::string_view name = trim(cut(said, '='));
    if (goes_over_http && equal_ignoring_case(name, "secure")) continue;
    if (target.gateway && equal_ignoring_case(name, "domain")) continue;
    if (target.gateway && equal_ignoring_case(name, "path")) {
      path = trim(said);
      continue;
    }
    room.append(";").append(attribute);
  }
  if (!target.gateway) return room;
  if (path.starts_with('/')) {
    add_cookie_path(path, target, room);
  } else if (is_for_the_root(target)) {
    add_cookie_path({}, target, room);
  }
  return room;
}

}  // namespace

std::optional<GatewayForm> gateway_form(std::string_view resource) {
  const bool escaped = resource.starts_with(kEscapedMark);
  if (!escaped && !resource.starts_with(kMark)) return std::nullopt;
  resource.remove_prefix(escaped ? kEscapedMark.size() : kMark.size());
  const std::size_t end = std::min(resource.find_first_of("/?#"), resource.size());
  return GatewayForm{resource.substr(0, end), resource.substr(end), escaped};
}

std::expected<Target, Refusal> behind_gateway(const UpstreamConfig& upstream, std::string_view rest) {
  if (!std::all_of(rest.begin(), rest.end(), is_visible))
    return malformed("the target has a character that must be percent-encoded");
  if (rest.contains('#')) return malformed("the target has a fragment, which only the client itself can use");
  if (has_dot_segment(rest.substr(0, rest.find('?'))))
    return malformed("the path has a segment that may be read as '.' or '..', which a gateway does not resolve");
  const auto& base = *upstream.base_url;
  Target target{base.secure ? "https" : "http", base.host, base.port, is_literal(base.host), base.path};
  if (base.path.empty() && !rest.starts_with('/')) target.resource = '/';
  target.resource.append(rest);
  target.front = Target::Front::gateway;
  target.gateway = &upstream;
  return target;
}

std::optional<std::string_view> said_in_front(const Fields::Line& line, const Target& target, std::string& room) {
  const auto& [name, value] = line;
  if (equal_ignoring_case(name, "strict-transport-security")) return std::nullopt;
  // RFC 2965, replaced by RFC 6265: some jars still take such a cookie, with whatever path it names.
  if (target.gateway && equal_ignoring_case(name, "set-cookie2")) return std::nullopt;
  if (equal_ignoring_case(name, "location") || equal_ignoring_case(name, "content-location"))
    return link(value, target, room);
  if (equal_ignoring_case(name, "set-cookie")) return cookie(value, target, room);
  return value;
}

}  // namespace penstock::http
