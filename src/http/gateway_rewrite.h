// SPDX-License-Identifier: Apache-2.0
// Other URLs by which a client may know an upstream: `http://PROXY/@NAME/…` for its base URL (the gateway), and http://
// for an upstream spoken to over https. Tells where such a URL leads, and puts responses into the client's terms. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"
#include "http/target.h"

namespace penstock::http {

/// `/@NAME/rest?query`, or `/%40NAME…`, as clients that escape every path write it. `rest` begins with '/', '?' or '#',
/// or is empty.
struct GatewayForm {
  std::string_view name;
  std::string_view rest;
  bool escaped = false;  ///< `%40`
};
/// Nothing if `resource` has another form.
std::optional<GatewayForm> gateway_form(std::string_view resource);

/// The upstream's base URL with `rest` appended, byte for byte. A rest with a segment that may be read as `.` or `..`
/// (reference.h) could lead out of the base path, so it is malformed.
std::expected<Target, Refusal> behind_gateway(const UpstreamConfig& upstream, std::string_view rest);

/// True if the client addressed the target by another URL than the target's own.
inline bool has_front(const Target& target) { return target.front != Target::Front::none; }

/// The value of a response field in the client's terms; a changed value is stored in `room`. Nothing: drop the field.
/// Only for targets with has_front().
/// `Location` and `Content-Location` to the target's own scheme, host and port are translated, dot segments resolved.
/// For a gateway, this holds below the base path; the rest of the host has no name there and gets its full URL, and so
/// does a path that may be read as leading out. Dropped: references that clients read in different ways, and those to
/// another gateway of the proxy that was asked. Where only a part of a host becomes https, links beside that part are
/// https, and cookies stay `Secure`. `Strict-Transport-Security` is dropped, and so is `Secure` of a cookie, which no
/// jar would send back over http. A gateway's cookies lose `Domain` and stay below `/@NAME`, so that no upstream gets
/// another's. Other links stay as they are.
std::optional<std::string_view> said_in_front(const Fields::Line& line, const Target& target, std::string& room);

}  // namespace penstock::http
