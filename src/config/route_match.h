// SPDX-License-Identifier: Apache-2.0
// What is known of the matches of routes without a request: which fits all that another fits, and what may be shown.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"

namespace penstock::config {

/// The methods that a route may name.
std::span<const std::string_view> known_methods();
bool is_header_name(std::string_view text);

/// True only if every request that the other fits is fitted by this one, too.
bool covers(const RouteMatch& one, const RouteMatch& other);

/// With `…` for what follows a secret place of the path (UpstreamSettings::redact). In doubt more is hidden than less.
RouteMatch without_secrets(RouteMatch match, const std::vector<std::string>& redact);

}  // namespace penstock::config
