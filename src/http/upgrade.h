// SPDX-License-Identifier: Apache-2.0
// Protocol changes (RFC 9110 section 7.8): which of the requested protocols may be passed on, whether a 101 fits them,
// and the fields for both. Pure.
#pragma once

#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/response_head.h"

namespace penstock::http {

/// The members of `Upgrade` that may be passed on, `websocket` above all, joined with commas. Never another HTTP or
/// TLS: requests after such a change would pass unseen.
std::string upgrades_passed(const Fields& fields);

/// True if this 101 changes only to protocols that were asked for.
bool switches_as_asked(const ResponseHead& head, std::string_view asked);

/// Adds `Connection: Upgrade` and `Upgrade: protocols`.
void add_upgrade(Fields& fields, std::string_view protocols);

}  // namespace penstock::http
