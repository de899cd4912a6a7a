// SPDX-License-Identifier: Apache-2.0
// Routes in words, for `explain`, `check` and the page. What is secret is never shown: values of headers, parts of
// paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"
#include "proxy/route/routes.h"

namespace penstock::app {

/// `route search: GET /search, weight 5`: which requests it is for, and what it sets, but for its limits.
std::string route_in_words(const RouteConfig& route, const std::vector<std::string>& redact);

/// What holds for a request of that method and path, without fields, a line each: the route, its weight, what the route
/// sets, and which other routes a header would lead to. Empty: the upstream has no routes.
std::vector<std::string> route_lines(const UpstreamSettings& settings, std::string_view method, std::string_view path);

/// `upstreams.github: 3 routes, 2 with limits of their own (4 limits)`; empty: it has none.
std::string routes_in_short(const std::string& upstream, const UpstreamSettings& settings);

}  // namespace penstock::app
