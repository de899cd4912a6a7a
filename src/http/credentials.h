// SPDX-License-Identifier: Apache-2.0
// What a client says of itself: to us in `Proxy-Authorization: Basic` (RFC 7617), and which fields may say it to the
// upstream. Whether it is true is for others. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"

namespace penstock::http {

/// How it is asked for, in `Proxy-Authenticate`.
inline constexpr std::string_view kChallenge = R"(Basic realm="penstock", charset="UTF-8")";

/// The credentials as they came, still encoded; empty: there are none, or of another scheme, or more than anybody
/// needs. Two such fields are malformed: who speaks for whom?
std::expected<std::string_view, Refusal> basic_credentials(const Fields& request);

/// The fields that it reads, alone.
Fields only_credentials(const Fields& request);

struct Credentials {
  std::string user, password;
};
/// Nothing: that is no base64, or nothing that could be a name and a password. Neither has a NUL.
std::optional<Credentials> decode_basic(std::string_view encoded);

/// Whether a field of this name may tell who somebody is, or let do what only they may: the standard ones, and those
/// that are named for what they hold, as `X-Api-Key`, `X-Amz-Security-Token` or `Session-Id`.
bool may_be_credentials(std::string_view field_name);

/// Whether an upstream may know by one of these fields whose request it is: `Authorization`, cookies, keys of APIs. One
/// that says so in its URL, or by another field, counts as one without.
bool has_credentials(const Fields& request);

}  // namespace penstock::http
