// SPDX-License-Identifier: Apache-2.0
// The credentials in a request: those for the proxy in `Proxy-Authorization: Basic` (RFC 7617), and the fields that may
// hold credentials for the upstream. Does not check whether they are right. Pure.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"

namespace penstock::http {

/// The value of `Proxy-Authenticate`.
inline constexpr std::string_view kChallenge = R"(Basic realm="penstock", charset="UTF-8")";

/// The credentials, still encoded. Empty if there are none, or if they have another scheme or more than 1024 bytes. Two
/// such fields are malformed, as it would be unclear which one counts.
std::expected<std::string_view, Refusal> basic_credentials(const Fields& request);

/// Only the fields that basic_credentials() reads.
Fields only_credentials(const Fields& request);

struct Credentials {
  std::string user, password;
};
/// Nothing if `encoded` is no base64, or holds no name and password, or a NUL.
std::optional<Credentials> decode_basic(std::string_view encoded);

/// The credentials as basic_credentials() has them, of `name:password`.
std::string encode_basic(std::string_view text);

/// True if a field of this name may identify a user or grant access: the standard fields, and those named after what
/// they hold, such as `X-Api-Key`, `X-Amz-Security-Token` or `Session-Id`.
bool may_be_credentials(std::string_view field_name);

/// True if a field may tell the upstream whose request it is: `Authorization`, cookies, API keys. Credentials in the
/// URL or in other fields are not found.
bool has_credentials(const Fields& request);

/// True if a field of this name holds a key of an API, or a token in place of one: `X-Api-Key`, `Private-Token`.
bool is_api_key(std::string_view field_name);

}  // namespace penstock::http
