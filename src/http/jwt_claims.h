// SPDX-License-Identifier: Apache-2.0
// The claims of a JSON Web Token (RFC 7519) that identify its owner. The signature is not checked. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock::http {

/// Texts as they stand in the JSON, with its escapes: an issuer writes the same one always alike.
struct JwtClaims {
  std::optional<std::string> iss, sub, azp;
};

/// Nothing if the text is no token of three parts, if its payload is no object in base64url, or if that has none of
/// these members as a text. No more is copied than these.
std::optional<JwtClaims> read_jwt_claims(std::string_view token);

}  // namespace penstock::http
