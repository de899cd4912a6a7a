// SPDX-License-Identifier: Apache-2.0
// Checks single values against their bounds; values out of bounds become issues. For validate.cc and the check_*.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/issue.h"
#include "penstock/config.h"
#include "penstock/duration.h"

namespace penstock::config {

using Issues = std::vector<Issue>;

/// Adds an issue that says "maxWait in defaults.queue", followed by `what`.
void add(Issues& issues, const std::string& path, const std::string& what);
void check_count(Issues& issues, const std::string& path, std::int64_t value, std::int64_t least, std::int64_t most);
void check_number(Issues& issues, const std::string& path, double value, double least, double most);
void check_size(Issues& issues, const std::string& path, std::size_t value, std::size_t least, std::size_t most);
void check_duration(Issues& issues, const std::string& path, Duration value, Duration least, Duration most);
/// True if there is text, and it has only letters, digits and the characters of `extra`.
bool all_of(std::string_view text, std::string_view extra);

/// The most limits of routes that one queue may have.
inline constexpr std::size_t kMostOfRoutes = 64;

/// How a limit of that many requests in flight is named which a route has by `maxConcurrent`.
inline constexpr std::string_view kMaxConcurrent = "maxConcurrent";
/// The unit of limits that count weights.
inline constexpr std::string_view kRequests = "requests";
/// The most units that a limit ever lets leave at once, or, of a pacer, within `patience`. Nothing: it has no such
/// bound.
std::optional<double> most_units(const LimitConfig::Kind& kind, Duration patience);
/// Where a limit stands: "upstreams.github.limits[1].window", "upstreams.github.routes[0].limits[1].pacer".
std::string path_of_limit(const std::string& path, const UpstreamSettings& settings, std::size_t index);
/// Whether any limit is that route's.
bool has_limits(const UpstreamSettings& settings, std::string_view route);

/// Checks everything about an upstream's limits, groups and pauses.
void check_limits(Issues& issues, const std::string& path, const UpstreamSettings& settings);
/// Checks what its requests cost, and the units of its limits.
void check_cost(Issues& issues, const std::string& path, const UpstreamSettings& settings);
/// Checks its routes, but for their limits.
void check_routes(Issues& issues, const std::string& path, const UpstreamSettings& settings);
void check_timeouts(Issues& issues, const std::string& path, const TimeoutConfig& timeouts);
void check_retry(Issues& issues, const std::string& path, const RetryConfig& retry);
/// Checks the patterns of `redact`.
void check_redaction(Issues& issues, const std::string& path, const std::vector<std::string>& patterns);
/// A client certificate needs its key.
void check_tls(Issues& issues, const std::string& path, const TlsConfig& tls);
/// Checks the names of quotas, and how upstreams draw on them.
void check_quotas(Issues& issues, const Config& config);
/// Checks each Redis, and the names by which upstreams call them.
void check_redis(Issues& issues, const Config& config);

}  // namespace penstock::config
