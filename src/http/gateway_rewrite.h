// SPDX-License-Identifier: Apache-2.0
// The other URLs by which a client may know an upstream, as if it stood in front of it: `http://PROXY/@NAME/…` for its
// base URL (the gateway), and http:// for one that is spoken to by https. Where such a URL leads, and what in answers
// must be said in its terms. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"
#include "http/target.h"

namespace penstock::http {

/// `/@NAME/rest?query`, or `/%40NAME…`, as some clients write every path: what follows the name begins with '/', '?' or
/// '#', or is empty.
struct GatewayForm {
  std::string_view name;
  std::string_view rest;
  bool escaped = false;  ///< `%40`
};
/// Nothing: it has another form.
std::optional<GatewayForm> gateway_form(std::string_view resource);

/// The rest put behind the upstream's base URL, byte for byte. A rest with a segment that may be read as `.` or `..`
/// (reference.h), and so lead out of the base path, is malformed.
std::expected<Target, Refusal> behind_gateway(const UpstreamConfig& upstream, std::string_view rest);

inline bool has_front(const Target& target) { return target.originated || target.gateway; }

/// The value of an answer's field as the client must read it; what is made anew stands in `room`. Nothing: the field is
/// not for it. Only of targets that have a front.
/// `Location` and `Content-Location` that lead to the target's own scheme, host and port come back in the client's
/// terms, with dot segments resolved; of a gateway only below the base path, for the rest of the host has no name
/// there, and gets its full URL. So does what may be read as a way out of it. What clients read in different ways, or
/// what leads to another gateway of the proxy that was asked, is dropped. Where only a part of a host becomes https,
/// links beside it are https, and cookies stay `Secure`. `Strict-Transport-Security` is dropped, and so is `Secure` of
/// a cookie, which no jar would send back over http; a gateway's cookies lose `Domain` and stay below `/@NAME`, lest
/// one upstream's go to another. Links of other kinds stay as they are.
std::optional<std::string_view> said_in_front(const Fields::Line& line, const Target& target, std::string& room);

}  // namespace penstock::http
