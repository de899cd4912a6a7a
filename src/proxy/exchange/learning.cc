// SPDX-License-Identifier: Apache-2.0
// See learning.h.
#include "proxy/exchange/learning.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <variant>

#include "http/credentials.h"

namespace penstock::proxy {

namespace {

struct Window {
  int units = 0;
  Duration length{0};
};

/// Nothing: limits of this kind have no window.
std::optional<Window> window_of(const LimitConfig& limit) {
  if (const auto* window = std::get_if<WindowConfig>(&limit.kind)) return Window{window->reservoir, window->interval};
  if (const auto* slides = std::get_if<SlidingWindowConfig>(&limit.kind)) return Window{slides->max, slides->interval};
  return std::nullopt;
}

bool about(double one, double other, double part) { return std::abs(one - other) <= part * other; }

constexpr double kLengths = 0.1, kSizes = 0.05;

}  // namespace

/// Where the length is not said, the reset is the least that it can be.
bool same_window(const http::Quota& quota, const LimitConfig& limit) {
  const auto window = limit.unit.empty() ? window_of(limit) : std::nullopt;  // quotas count requests
  if (!window || quota.of_part != (limit.per == LimitConfig::Per::group)) return false;
  const auto length = static_cast<double>(window->length.count());
  if (static_cast<double>(quota.resets.count()) > (1 + kLengths) * length) return false;
  return !quota.interval || about(static_cast<double>(quota.interval->count()), length, kLengths);
}

bool same_size(const http::Quota& quota, const LimitConfig& limit) {
  const auto window = window_of(limit);
  return window && about(static_cast<double>(quota.limit), window->units, kSizes);
}

void Learning::observe(const http::ResponseHead& head, const http::Fields& request, const Obey& obey,
                       flow::LaneKey lane, const flow::Departure& departure) {
  if (!http::has_credentials(request)) return;
  for (const auto& quota : http::read_quotas(head, services_.loop.wall(), obey)) {
    learn(quota, lane, departure);
  }
}

/// A quota that says no length may be of a shorter window, unless more than half of the limit's own is left.
void Learning::learn(const http::Quota& quota, flow::LaneKey lane, const flow::Departure& departure) {
  const flow::Time now = services_.loop.now();
  const LimitConfig* higher = nullptr;
  bool known = false;
  for (std::size_t i = 0; i < settings_.limits.size(); ++i) {
    const LimitConfig& limit = settings_.limits[i];
    const bool has_limit = governs(limit, lane.route) && (limit.per != LimitConfig::Per::group || !lane.group.empty());
    if (!has_limit || !same_window(quota, limit)) continue;
    const auto window = window_of(limit);
    const bool sure = quota.interval || 2 * quota.resets > window->length;
    if (sure && static_cast<double>(quota.limit) < (1 - kSizes) * window->units) higher = &limit;
    if (!same_size(quota, limit)) continue;
    known = true;
    const auto spent = static_cast<std::int64_t>(quota.limit - std::min(quota.remaining, quota.limit));
    limiter_->learned(now, lane, departure, {static_cast<flow::LimitIndex>(i), spent, now + quota.resets.count()});
  }
  if (higher && !known) tell_lower(quota, *higher);
}

void Learning::tell_lower(const http::Quota& quota, const LimitConfig& limit) {
  const flow::Time now = services_.loop.now();
  if (noticed_ && now < *noticed_ + kQuiet) return;
  noticed_ = now;
  services_.notices({.level = LogLevel::warn,
                     .text = upstream_ + " allows " + std::to_string(quota.limit) + ", as it says beside " +
                             std::string(quota.field) + "; the limit " + std::string(limit_name(limit)) + " allows " +
                             std::to_string(window_of(limit)->units)});
}

}  // namespace penstock::proxy
