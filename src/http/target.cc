// SPDX-License-Identifier: Apache-2.0
// Splits a target into scheme, authority and resource, and refuses what RFC 3986 leaves ambiguous: numbers that might
// be addresses, escapes in a host, userinfo, fragments.
#include "http/target.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "http/grammar.h"
#include "http/reference.h"

namespace penstock::http {
namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestLabel = 63;

std::unexpected<Refusal> misdirected(const char* details) {
  return std::unexpected(Refusal{.why = Reason::misdirected, .details = details});
}
std::unexpected<Refusal> not_implemented(const char* details) {
  return std::unexpected(Refusal{.why = Reason::not_implemented, .details = details});
}

/// An authority in two parts, not judged yet.
struct Parts {
  std::string_view host;
  std::string_view port;
  bool bracketed = false;
};

/// Nothing if a bracket does not close, or something other than a port follows it.
std::optional<Parts> split(std::string_view text) {
  Parts parts;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    parts.bracketed = true;
    parts.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (!text.empty() && text.front() != ':') return std::nullopt;
    parts.port = text.substr(text.empty() ? 0 : 1);
    return parts;
  }
  parts.host = cut(text, ':');
  parts.port = text;
  return parts;
}

/// Decimal, 1 to 65535; 0 for an empty text, which means no port.
std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty()) return 0;
  const auto value = text.size() <= 5 ? parse_digits(text) : std::nullopt;
  if (!value || *value == 0 || *value > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*value);
}

bool is_number(std::string_view label) { return std::all_of(label.begin(), label.end(), is_digit); }

/// Resolvers take such a last label for part of an IPv4 address in an old spelling.
bool looks_numeric(std::string_view label) {
  return is_number(label) || label.starts_with("0x") || label.starts_with("0X");
}

bool is_octet(std::string_view text) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text.front() == '0')) return false;
  const auto value = parse_digits(text);
  return value && *value <= 255;
}

bool is_dotted_quad(std::string_view host) {
  if (std::count(host.begin(), host.end(), '.') != 3) return false;
  for (int i = 0; i < 4; ++i) {
    if (!is_octet(cut(host, '.'))) return false;
  }
  return true;
}

/// What is wrong with a label of a name; null if nothing is.
const char* judge_label(std::string_view label) {
  if (label.empty()) return "the host has an empty label";
  if (label.size() > kLongestLabel) return "a label of the host is longer than 63 bytes";
  for (const char c : label) {
    if (!is_letter(c) && !is_digit(c) && c != '-' && c != '_') {
      return "the host has a character other than letters, digits, '-', '_' and '.'";
    }
  }
  return nullptr;
}

const char* judge_name(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.empty()) return "the host is empty";
  if (host.size() > kLongestName) return "the host is longer than 253 bytes";
  std::string_view rest = host;
  std::string_view label;
  while (!rest.empty()) {
    label = cut(rest, '.');
    if (const char* wrong = judge_label(label)) return wrong;
  }
  if (host.ends_with('.')) return "the host has an empty label";
  if (looks_numeric(label)) return "the host is a number; write an IPv4 address as four decimal numbers";
  return nullptr;
}

/// The shortest spelling; nothing if it is no IPv6 address (one with a zone is refused). An IPv4-mapped address is
/// returned as IPv4: it reaches the same host, so it must not have a second name.
std::optional<std::string> canonical_address(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (text.size() >= buffer.size()) return std::nullopt;
  std::memcpy(buffer.data(), text.data(), text.size());
  in6_addr address{};
  if (std::memchr(buffer.data(), 0, text.size()) || inet_pton(AF_INET6, buffer.data(), &address) != 1)
    return std::nullopt;
  const bool mapped = IN6_IS_ADDR_V4MAPPED(&address);
  const void* bytes = mapped ? &address.s6_addr[12] : &address.s6_addr[0];
  return inet_ntop(mapped ? AF_INET : AF_INET6, bytes, buffer.data(), buffer.size());
}

std::string lowered(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

/// The host in the form used from here on, or what is wrong with it.
std::expected<Authority, const char*> judge_host(const Parts& parts) {
  if (parts.bracketed) {
    auto address = canonical_address(parts.host);
    if (!address) return std::unexpected("what stands in brackets is no IPv6 address");
    return Authority{.host = *std::move(address), .port = 0, .literal = true};
  }
  if (is_dotted_quad(parts.host)) return Authority{.host = std::string(parts.host), .port = 0, .literal = true};
  if (const char* wrong = judge_name(parts.host)) return std::unexpected(wrong);
  std::string host = lowered(parts.host);
  if (host.ends_with('.')) host.pop_back();
  return Authority{.host = std::move(host), .port = 0, .literal = false};
}

std::expected<Authority, const char*> judge_authority(std::string_view text) {
  if (text.contains('@'))
    return std::unexpected("user and password do not belong in the URL; send Authorization instead");
  const auto parts = split(text);
  if (!parts) return std::unexpected("the host has unbalanced brackets");
  const auto port = parse_port(parts->port);
  if (!port) return std::unexpected("the port is not a number from 1 to 65535");
  auto authority = judge_host(*parts);
  if (authority) authority->port = *port;
  return authority;
}

std::expected<Target, Refusal> tunnel_to(std::string_view raw) {
  auto authority = judge_authority(raw);
  if (!authority) return malformed(authority.error());
  if (authority->port == 0) return malformed("CONNECT needs host:port");
  Target target{.host = std::move(authority->host), .port = authority->port, .literal = authority->literal};
  target.tunnel = true;
  return target;
}

/// What is wrong with a target that cannot be absolute-form; null if it may be.
const char* judge_form(std::string_view raw) {
  if (raw.empty()) return "the target is empty";
  if (!std::all_of(raw.begin(), raw.end(), is_visible))
    return "the target has a character that must be percent-encoded";
  if (raw.front() == '/') {
    return "this is a proxy, not a web server: set it as http_proxy, or ask for http://HOST/PATH";
  }
  if (raw == "*") return "'*' asks about no host: a proxy needs http://HOST/PATH";
  if (raw.contains('#')) return "the target has a fragment, which only the client itself can use";
  return nullptr;
}

/// What goes on the wire after the authority (RFC 9112 3.2.1, 3.2.4).
std::string resource_of(std::string_view method, std::string_view rest) {
  if (rest.empty()) return method == "OPTIONS" ? "*" : "/";
  std::string resource;
  resource.reserve(rest.size() + 1);
  if (rest.front() != '/') resource += '/';
  return resource.append(rest);
}

std::uint16_t default_port(bool secure) { return secure ? 443 : 80; }

std::string bracketed(const std::string& host) { return host.contains(':') ? "[" + host + "]" : host; }

}  // namespace

std::string Target::authority() const { return bracketed(host) + ":" + std::to_string(port); }

std::string Target::host_field() const { return port == default_port(secure()) ? bracketed(host) : authority(); }

std::string_view Target::path() const { return std::string_view(resource).substr(0, resource.find('?')); }

std::expected<Target, Refusal> parse_target(std::string_view method, std::string_view raw) {
  if (method == "CONNECT") return tunnel_to(raw);
  if (const char* wrong = judge_form(raw)) return malformed(wrong);

  const std::string_view scheme = scheme_of(raw);
  std::string_view rest = raw.substr(std::min(scheme.size() + 1, raw.size()));
  if (scheme.empty() || !rest.starts_with("//")) return malformed("the target is not of the form http://HOST/PATH");
  rest.remove_prefix(2);
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  auto authority = judge_authority(rest.substr(0, end));
  if (!authority) return malformed(authority.error());
  const bool secure = equal_ignoring_case(scheme, "https");
  if (!secure && !equal_ignoring_case(scheme, "http"))
    return not_implemented("only http:// and https:// URLs are forwarded");

  const std::uint16_t port = authority->port ? authority->port : default_port(secure);
  return Target{secure ? "https" : "http", std::move(authority->host), port, authority->literal,
                resource_of(method, rest.substr(end))};
}

std::expected<Target, Refusal> parse_target_inside(const Target& outside, std::string_view method,
                                                   std::string_view raw) {
  if (method == "CONNECT") return malformed("there is a CONNECT inside a CONNECT: tunnels do not nest here");
  if (raw.starts_with('/') || (raw == "*" && method == "OPTIONS")) {
    if (raw.contains('#')) return malformed("the target has a fragment, which only the client itself can use");
    return Target{outside.secure() ? "https" : "http", outside.host, outside.port, outside.literal, std::string(raw)};
  }
  auto target = parse_target(method, raw);
  constexpr const char* kElsewhere = "the target names another host or port than the CONNECT that it came in";
  if (!target || (target->authority() == outside.authority() && target->secure() >= outside.secure())) return target;
  return outside.secure() ? misdirected(kElsewhere) : malformed(kElsewhere);
}

bool is_host_of(const Target& target, std::string_view host_value) {
  const auto named = judge_authority(host_value);
  return named && named->host == target.host && (named->port == 0 || named->port == target.port);
}

bool is_literal(std::string_view host) { return host.contains(':') || is_dotted_quad(host); }

std::expected<Authority, std::string> parse_authority(std::string_view text) {
  auto authority = judge_authority(text);
  if (!authority) return std::unexpected<std::string>(authority.error());
  return *std::move(authority);
}

bool is_host_value(std::string_view text) {
  if (text.empty()) return true;
  if (text.contains('@')) return false;
  const auto parts = split(text);
  if (!parts || !parse_port(parts->port)) return false;
  if (parts->bracketed) return canonical_address(parts->host).has_value();
  return is_dotted_quad(parts->host) || judge_name(parts->host) == nullptr;
}

}  // namespace penstock::http
