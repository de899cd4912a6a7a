// SPDX-License-Identifier: Apache-2.0
// See hints.h.
#include "config/hints.h"

#include <algorithm>
#include <array>

namespace penstock::config {

namespace {

/// `section`: the last word of the section's path; empty: the top of the file.
struct Hint {
  std::string_view section, key, words;
};

constexpr std::string_view kOfUpstream = "; it belongs to an upstream, as in upstreams: { NAME: { match: HOST, … } }";
constexpr std::string_view kOfUpstreamOfPermits =
    "; it belongs to an upstream, as in upstreams: { NAME: { permits: true, … } }";
constexpr std::string_view kOfUpstreamOrDefaults = "; it belongs to an upstream, or in defaults";
constexpr std::string_view kOfMatch = "; it belongs in match, as in match: { path: /search }";
constexpr std::string_view kReservoir = "; here it is 'reservoir'", kMax = "; here it is 'max'";
constexpr std::string_view kAttempts = "; here it is 'attempts', with the first one among them";
constexpr std::string_view kInterval = "; here it is 'interval'", kCapacity = "; here it is 'capacity'";

constexpr std::array kHints = std::to_array<Hint>({
    {"", "listen", "; it belongs in proxy, or in admin"},
    {"", "port", "; the port is a part of proxy.listen, as in 127.0.0.1:3128"},
    {"", "include", "; there is no such thing: a configuration is one file"},
    {"", "limits", kOfUpstream},
    {"", "rate", kOfUpstream},
    {"", "match", kOfUpstream},
    {"", "baseUrl", kOfUpstream},
    {"", "permits", kOfUpstreamOfPermits},
    {"", "maxConcurrent", kOfUpstreamOrDefaults},
    {"", "timeouts", kOfUpstreamOrDefaults},
    {"", "queue", kOfUpstreamOrDefaults},
    {"", "https", kOfUpstreamOrDefaults},
    {"", "retry", kOfUpstreamOrDefaults},
    {"", "obey", kOfUpstream},
    {"", "pauseOn", kOfUpstream},
    {"", "learn", kOfUpstream},
    {"", "breaker", kOfUpstream},
    {"", "redact", kOfUpstream},
    {"", "routes", kOfUpstream},
    {"defaults", "routes", kOfUpstream},
    {"routes", "path", kOfMatch},
    {"routes", "method", kOfMatch},
    {"routes", "header", kOfMatch},
    {"match", "methods", "; here it is 'method', one or a list"},
    {"match", "headers", "; here it is 'header', as in X-Tier or X-Tier=free"},
    {"match", "host", "; the hosts are in match of the upstream"},
    {"defaults", "redact", kOfUpstream},
    {"", "quota", "; it belongs to an upstream, and names an entry of quotas"},
    {"defaults", "quota", "; it belongs to an upstream, and names an entry of quotas"},
    {"limits", "leakyBucket", "; here it is 'tokenBucket'"},
    {"limits", "fixedWindow", "; here it is 'window'"},
    {"limits", "concurrency", "; here it is 'semaphore', or maxConcurrent for one process"},
    {"limits", "rate", "; it stands beside limits, as in rate: 15/s"},
    {"window", "max", kReservoir},
    {"window", "limit", kReservoir},
    {"window", "period", kInterval},
    {"slidingWindow", "reservoir", kMax},
    {"slidingWindow", "limit", kMax},
    {"slidingWindow", "period", kInterval},
    {"counter", "reservoir", kMax},
    {"counter", "interval", "; here it is 'period'"},
    {"pacer", "rate", "; here it is 'qps', a number a second"},
    {"pacer", "burst", "; here it is 'maxBurst'"},
    {"tokenBucket", "burst", kCapacity},
    {"tokenBucket", "max", kCapacity},
    {"semaphore", "max", kCapacity},
    {"queue", "timeout", "; here it is 'maxWait'"},
    {"retry", "max", kAttempts},
    {"retry", "maxAttempts", kAttempts},
    {"retry", "retries", kAttempts},
    {"retry", "statuses", "; which statuses refuse is said beside it, as in pauseOn: [429, 503]"},
    {"retry", "on", "; which statuses refuse is said beside it, as in pauseOn: [429, 503]"},
    {"breaker", "threshold", "; here it is 'failures', in a row"},
    {"breaker", "timeout", "; here it is 'maxPause'"},
    {"redis", "host", "; it is a part of url, as in redis://HOST:6379/0"},
    {"redis", "port", "; it is a part of url, as in redis://HOST:6379/0"},
});

std::string_view last_word(std::string_view path) { return path.substr(path.find_last_of('.') + 1); }

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

}  // namespace

std::string hint_for_key(std::string_view path, std::string_view key) {
  const auto section = last_word(path);
  const auto* const found =
      std::ranges::find_if(kHints, [&](const Hint& hint) { return hint.section == section && hint.key == key; });
  return found == kHints.end() ? std::string() : std::string(found->words);
}

std::string hint_for_text(std::string_view path, std::string_view text) {
  if (path == "redis" || (path.starts_with("redis.") && text.find("://") != std::string_view::npos))
    return "; write " + std::string(last_word(path)) + ": { url: " + std::string(text) + " }";
  const auto colon = text.find(':');
  if (colon == std::string_view::npos || !is_word(text.substr(0, colon)) || text.substr(colon).starts_with("://"))
    return {};
  return "; a blank must follow the colon: " + std::string(text.substr(0, colon)) + ": " +
         std::string(text.substr(colon + 1));
}

std::optional<Duration> sum_of_units(std::string_view text) {
  Duration sum{0};
  int units = 0;
  for (; !text.empty(); ++units) {
    const auto unit = text.find_first_not_of("0123456789.");
    const auto end =
        unit == std::string_view::npos ? unit : std::min(text.find_first_of("0123456789.", unit), text.size());
    const auto part = unit == std::string_view::npos ? std::nullopt : parse_duration(text.substr(0, end));
    if (!part) return std::nullopt;
    sum += *part;
    text.remove_prefix(end);
  }
  return units > 1 ? std::optional(sum) : std::nullopt;
}

}  // namespace penstock::config
