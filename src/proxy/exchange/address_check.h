// SPDX-License-Identifier: Apache-2.0
// Which addresses of a target may be dialled once its name has been looked up, and the refusal if there is none. For
// HTTP flights and the dialer.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "http/refusal.h"
#include "http/target.h"
#include "loop/resolver.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

/// Calls `each` with every address that may be dialled, in order. Returns the refusal if there is none.
template <typename Each>
std::optional<http::Refusal> judge(const Services& services, const http::Target& target,
                                   const loop::Addresses& addresses, Each each) {
  bool own = false, any = false;
  for (const auto& text : addresses) {
    const auto address = access::parse_address(text);
    if (!address) continue;
    const auto verdict = services.verdict.destination(*address, target.port, target.host);
    own = own || verdict == access::Destination::own;
    if (verdict != access::Destination::allowed) continue;
    any = true;
    each(text);
  }
  if (any) return std::nullopt;
  if (own) return http::Refusal{.why = http::Reason::loop, .details = target.host + " is this proxy itself"};
  return http::Refusal{.why = http::Reason::destination_denied,
                       .details = target.host + " has no address that may be dialled (access.allow)"};
}

/// Judges an address from judge() again, some time later.
inline bool is_still_allowed(const Services& services, const http::Target& target, const std::string& text) {
  const auto address = access::parse_address(text);
  return address && services.verdict.may_dial(*address, target.port, target.host);
}

inline http::Refusal unresolved(const std::string& host, const loop::LookupFailure& failure) {
  if (failure.timed_out) {
    return {.why = http::Reason::dns_timeout, .details = "no answer from the name servers about " + host};
  }
  const bool is_said = std::ranges::all_of(failure.rcode, [](char c) { return c >= 'A' && c <= 'Z'; });
  return {.why = http::Reason::dns_error,
          .details = "cannot resolve " + host + ": " + failure.rcode,
          .rcode = failure.rcode == "NODATA" ? "NOERROR"
                   : is_said                 ? failure.rcode
                                             : std::string()};
}

/// Prefixes the details with the upstream's name.
inline http::Refusal of(const std::string& upstream, http::Refusal refusal) {
  refusal.details = upstream + ": " + refusal.details;
  return refusal;
}

/// For people: `10 s`, `250 ms`.
inline std::string seconds(Duration duration) {
  const auto ms = duration.count() / 1000;
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

}  // namespace penstock::proxy
