// SPDX-License-Identifier: Apache-2.0
// A change of protocol (RFC 9110 section 7.8): which of the protocols that a request asks for may be passed on, whether
// a 101 answers that, and the fields that say both. Pure.
#pragma once

#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/response_head.h"

namespace penstock::http {

/// The members of `Upgrade` that may be passed on, `websocket` above all, with commas between them. Never another HTTP
/// or TLS: what comes after a change to these would be requests that nobody sees.
std::string upgrades_passed(const Fields& fields);

/// Whether this 101 changes to protocols that were all asked for.
bool switches_as_asked(const ResponseHead& head, std::string_view asked);

/// `Connection: Upgrade` and `Upgrade: protocols`.
void add_upgrade(Fields& fields, std::string_view protocols);

}  // namespace penstock::http
