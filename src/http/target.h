// SPDX-License-Identifier: Apache-2.0
// Parses the request target, strictly and once (RFC 9112 section 3.2, RFC 3986). libcurl gets only what passed here, so
// nothing is parsed twice. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "http/refusal.h"
#include "penstock/config.h"

namespace penstock::http {

struct Target {
  std::string_view scheme;  ///< "http" or "https", a literal; empty for a tunnel
  std::string host;         ///< lower case, no brackets, one trailing dot dropped; no mapped IPv4
  std::uint16_t port = 0;
  bool literal = false;  ///< the host is an IPv4 or IPv6 address
  std::string resource;  ///< what goes on the wire: "/path?query", byte-exact, or "*"; empty for a tunnel
  bool tunnel = false;   ///< a CONNECT: opaque bytes to host and port

  /// How the client addressed the target (gateway_rewrite.h): by this URL, by http:// in place of https://, or by
  /// /@NAME or /%40NAME of an upstream with a base URL.
  enum class Front : std::uint8_t { none, originated, gateway, escaped_gateway };
  Front front = Front::none;
  std::string_view originated_below;        ///< only this path becomes https (views the configuration); empty: all
  const UpstreamConfig* gateway = nullptr;  ///< the upstream of that NAME
  std::string_view gateway_host;            ///< the `Host` of a request to a gateway (views its head); empty: none

  /// Not a place, but a permit of the upstream (permits.h), which is held until the client leaves, or taken for a
  /// moment. Nothing is dialled.
  enum class Permit : std::uint8_t { none, held, momentary };
  Permit permit = Permit::none;

  /// `host:port`, IPv6 in brackets: the key of an upstream.
  std::string authority() const;
  /// The value for `Host`: without the port if it is the scheme's default.
  std::string host_field() const;
  bool secure() const { return scheme == "https"; }
  /// `resource` without its query.
  std::string_view path() const;
};

/// Parses an absolute-form target, or for CONNECT host and port. Anything else is `Reason::malformed`, with a sentence;
/// well-formed URLs of schemes other than http and https are `Reason::not_implemented`.
/// Sentences never repeat the target: it may hold a password.
std::expected<Target, Refusal> parse_target(std::string_view method, std::string_view raw);

/// For a request inside a CONNECT to `outside`: origin-form refers to that authority, whatever `Host` says, and
/// absolute-form must name it. If `outside` has the scheme https, because the client speaks TLS inside, so has the
/// target, and a target that names another authority is `Reason::misdirected`.
std::expected<Target, Refusal> parse_target_inside(const Target& outside, std::string_view method,
                                                   std::string_view raw);

/// True if a value of `Host` names the target's host; without a port it fits any port.
bool is_host_of(const Target& target, std::string_view host_value);

/// True if a host, in the form of Target::host, is an address.
bool is_literal(std::string_view host);

/// Parses `host`, `host:port` or `[v6]:port` like the authority of a target; port 0 if none is given. Names consist of
/// letters, digits, hyphens and underscores, which DNS has too; IPv4 only as four plain decimal numbers. IPv6 is
/// returned in its shortest form, and IPv4-mapped IPv6 (`::ffff:1.2.3.4`) as IPv4.
struct Authority {
  std::string host;
  std::uint16_t port = 0;
  bool literal = false;
};
std::expected<Authority, std::string> parse_authority(std::string_view text);

/// True if this may be the value of `Host`: nothing at all, or what parse_authority accepts.
bool is_host_value(std::string_view text);

}  // namespace penstock::http
