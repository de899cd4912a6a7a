// SPDX-License-Identifier: Apache-2.0
// The request target: RFC 9112 section 3.2 and RFC 3986, judged strictly, once. libcurl gets only what is judged here,
// so nothing is parsed twice. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "http/refusal.h"
#include "penstock/config.h"

namespace penstock::http {

struct Target {
  std::string scheme;  ///< "http" or "https"; empty for a tunnel
  std::string host;    ///< lower case, no brackets, one trailing dot dropped; no mapped IPv4
  std::uint16_t port = 0;
  bool literal = false;  ///< the host is an IPv4 or IPv6 address
  std::string resource;  ///< what goes on the wire: "/path?query", byte-exact, or "*"; empty for a tunnel
  bool tunnel = false;   ///< of a CONNECT: bytes to host and port, whatever they mean

  // By what the client knows the place, where that is not this URL (front.h).
  bool originated = false;                  ///< it said http://
  std::string_view originated_below;        ///< what of the host becomes https: a path of the configuration; empty: all
  const UpstreamConfig* gateway = nullptr;  ///< it said /@NAME, of this upstream, which has a base URL
  bool gateway_escaped = false;             ///< it said /%40NAME
  std::string gateway_host;                 ///< and what `Host` said; empty: nothing

  /// `host:port`, IPv6 in brackets: the key of an upstream.
  std::string authority() const;
  /// What `Host` must say: no port where it is the scheme's default.
  std::string host_field() const;
  bool secure() const { return scheme == "https"; }
  /// `resource` without its query.
  std::string_view path() const;
};

/// An absolute-form target, or for CONNECT host and port. `Why::malformed` with a sentence for whatever is not.
/// Well-formed, but `Why::not_implemented`: schemes other than http and https.
/// Sentences never repeat the target: it may hold a password.
std::expected<Target, Refusal> parse_target(std::string_view method, std::string_view raw);

/// Of a request that came inside a CONNECT to `outside`: origin-form is on that authority, whatever `Host` says, and
/// absolute-form must name the same. Where `outside` has the scheme https, for the client speaks TLS inside, so has the
/// target, and one that names another place is `Why::misdirected`.
std::expected<Target, Refusal> parse_target_inside(const Target& outside, std::string_view method,
                                                   std::string_view raw);

/// Whether a value of `Host` names where the target leads; without a port it may be any.
bool is_host_of(const Target& target, std::string_view host_value);

/// Whether a host, as it stands in a Target, is an address.
bool is_literal(std::string_view host);

/// `host`, `host:port`, `[v6]:port`, judged like the authority of a target; port 0 where none is given. Names consist
/// of letters, digits, hyphens and underscores, which DNS has too; IPv4 only as four plain decimal numbers; IPv6 comes
/// out in its shortest form, and where it is mapped to IPv4 (`::ffff:1.2.3.4`) as IPv4.
struct Authority {
  std::string host;
  std::uint16_t port = 0;
  bool literal = false;
};
std::expected<Authority, std::string> parse_authority(std::string_view text);

/// Whether this may stand in `Host`: nothing at all, or what parse_authority would take.
bool is_host_value(std::string_view text);

}  // namespace penstock::http
