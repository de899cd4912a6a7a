// SPDX-License-Identifier: Apache-2.0
// Whose quota a request uses, by its credentials for the upstream. Reads secrets: the result holds them, or what they
// say of their owner, so it is to be hashed, never kept or shown. Checks no signature: another's identity can be
// claimed, so it may decide who waits, and nothing else. Pure.
#pragma once

#include <optional>
#include <string>

#include "http/fields.h"

namespace penstock::http {

/// Equal for requests of one owner. It is made of
/// - the whole key of Basic, Bearer, `token` and their like, and of fields such as X-Api-Key;
/// - the claims iss, sub and azp of a Bearer that is a JWT, which is renewed often; if it has none of them, all of it;
/// - the key's id of AWS4-HMAC-SHA256, the user of Digest, consumer key and token of OAuth 1.0, the account of
/// SharedKey; and of all of these, where there are several. Nothing: no credentials, or in a scheme that is not known.
/// Cookies say nothing, as they change.
std::optional<std::string> credential_identity(const Fields& request);

}  // namespace penstock::http
