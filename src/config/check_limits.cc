// SPDX-License-Identifier: Apache-2.0
// Finds limits that cannot work, and limits that cannot exist side by side.
#include <algorithm>
#include <map>

#include "config/checks.h"
#include "config/reading.h"
#include "config/units.h"

namespace penstock::config {

namespace {

constexpr int kMostUnits = 1'000'000'000;
constexpr double kLeastRate = 1e-6, kMostRate = 1e6;  // per second: from one in twelve days to one in a microsecond
constexpr Duration kShortest = 10ms, kLongest = kLongestInterval;
constexpr std::size_t kMostLimits = 16, kLongestName = 64;
constexpr int kMostSliding = kMostRemembered, kMostSlidingOfGroup = 1000, kBytesOfUnit = 10;

/// Checks the parameters of one limit.
struct Checked {
  Issues& issues;
  const std::string path;  // with its kind: "upstreams.github.limits[0].pacer"
  const LimitConfig& limit;

  void operator()(const PacerConfig& pacer) const {
    check_number(issues, path + ".qps", pacer.qps, kLeastRate, kMostRate);
    check_count(issues, path + ".maxBurst", pacer.max_burst, 0, kMostUnits);
    const double factor = pacer.burst_allowance_factor;
    if (!(factor > 0 && factor <= 1))
      add(issues, path + ".burstAllowanceFactor", " is " + write_number(factor) + "; it must be over 0 and at most 1");
  }
  void operator()(const WindowConfig& window) const {
    check_count(issues, path + ".reservoir", window.reservoir, 1, kMostUnits);
    check_duration(issues, path + ".interval", window.interval, kShortest, kLongest);
  }
  void operator()(const SlidingWindowConfig& window) const {
    check_count(issues, path + ".max", window.max, 1, kMostSliding);
    check_duration(issues, path + ".interval", window.interval, kShortest, kLongest);
    if (limit.per == LimitConfig::Per::group && window.max > kMostSlidingOfGroup && window.max <= kMostSliding) {
      const auto bytes = write_size(static_cast<std::uint64_t>(window.max) * kBytesOfUnit);
      add(issues, path + ".max",
          " is " + std::to_string(window.max) + ": about " + bytes +
              " of memory for each group; per group it may be at most 1000, or take a window or a tokenBucket");
    }
  }
  void operator()(const TokenBucketConfig& bucket) const {
    check_count(issues, path + ".capacity", bucket.capacity, 1, kMostUnits);
    check_count(issues, path + ".refillAmount", bucket.refill_amount, 1, kMostUnits);
    check_duration(issues, path + ".refillFrequency", bucket.refill_frequency, 10us, kLongest);
  }
  void operator()(const SemaphoreConfig& semaphore) const {
    check_count(issues, path + ".capacity", semaphore.capacity, 1, 1'000'000);
    if (semaphore.lease < 1s || semaphore.lease > 24h) {
      const auto given = semaphore.lease < 0s ? "negative" : write_duration(semaphore.lease);
      add(issues, path + ".lease",
          " is " + given +
              "; it must be between 1s and 24h: it is renewed six times over, and a shorter one could not be");
    }
    if (limit.mode == LimitConfig::Mode::shadow)
      add(issues, path + ".mode",
          " is shadow; when a permit would come free is unknown while no request waits for one, so it must be delay or "
          "refuse");
  }
  void operator()(const CounterConfig& counter) const {
    check_count(issues, path + ".max", counter.max, 1, kMostUnits);
    check_duration(issues, path + ".period", counter.period, 100ms, kLongest);
  }
  void operator()(const AdaptiveConfig& adaptive) const {
    check_number(issues, path + ".min", adaptive.min, kLeastRate, kMostRate);
    check_number(issues, path + ".max", adaptive.max, kLeastRate, kMostRate);
    if (adaptive.min > adaptive.max && adaptive.max >= kLeastRate)
      add(issues, path + ".min", " is " + write_rate(adaptive.min) + ", more than max, " + write_rate(adaptive.max));
    if (limit.mode != LimitConfig::Mode::delay)
      add(issues, path + ".mode",
          " is " + std::string(mode_name(limit.mode)) +
              "; the rate grows only while requests wait for it, so it must be delay");
  }
};

void check_name(Issues& issues, const std::string& path, std::string_view name) {
  constexpr std::string_view kReserved[] = {"pause",  "head",  "line",          "alive",     "away",
                                            "limits", "redis", "maxConcurrent", "maxTunnels"};
  if (!all_of(name, "_.-") || name.size() > kLongestName) {
    add(issues, path, " must be at most 64 letters, digits and _.-");
  } else if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved)) {
    add(issues, path, " is '" + std::string(name) + "', which Penstock itself uses; take another");
  }
}

/// What maxConcurrent of a route has made.
bool is_max_concurrent(const LimitConfig& limit) {
  return !limit.route.empty() && std::holds_alternative<SemaphoreConfig>(limit.kind) && !limit.shared &&
         limit.name == limit.route + ":" + std::string(kMaxConcurrent);
}

/// Without the name of its route, and the colon.
std::string_view own_name(const LimitConfig& limit) {
  const auto name = limit_name(limit);
  const auto of_route = limit.route.size();
  const bool has_both = of_route > 0 && name.starts_with(limit.route) && name.substr(of_route).starts_with(':');
  return has_both ? name.substr(of_route + 1) : name;
}

void check_limit(Issues& issues, const std::string& path, const LimitConfig& limit, bool grouped) {
  if (is_max_concurrent(limit))
    return check_count(issues, path, std::get<SemaphoreConfig>(limit.kind).capacity, 1, 100'000);
  std::visit(Checked{issues, path, limit}, limit.kind);
  check_name(issues, path + ".name", own_name(limit));
  if (limit.per == LimitConfig::Per::group && !grouped)
    add(issues, path + ".per", " is group, but the upstream has no groups; say what makes them with group");
}

bool keeps_rate(const LimitConfig& limit) {
  const auto* pacer = std::get_if<PacerConfig>(&limit.kind);
  return pacer && pacer->keeps;
}

void check_group(Issues& issues, const std::string& path, const GroupRule& rule) {
  const auto read_again = parse_group(to_string(rule));
  if (!read_again) return add(issues, path, ": '" + to_string(rule) + "': " + read_again.error());
  if (*read_again != rule) add(issues, path, ": '" + to_string(rule) + "' is not in its plain form");
}

/// All that one request may count in, and all together.
void check_numbers(Issues& issues, const std::string& path, const UpstreamSettings& settings) {
  const auto of = [&](std::string_view route) {
    return static_cast<std::size_t>(std::ranges::count(settings.limits, route, &LimitConfig::route));
  };
  const bool of_rate = !settings.limits.empty() && keeps_rate(settings.limits.front());
  if (of("") > kMostLimits)
    add(issues, path + ".limits", std::string(" has more than 16 limits") + (of_rate ? "; rate: is two of them" : ""));
  for (std::size_t i = 0; i < settings.routes.size(); ++i) {
    const auto its = of(settings.routes[i].name);
    if (its == 0 || of("") > kMostLimits || of("") + its <= kMostLimits) continue;
    add(issues, path + ".routes[" + std::to_string(i) + "].limits",
        " and those of the upstream are more than 16 limits");
  }
  if (settings.limits.size() - of("") > kMostOfRoutes) add(issues, path + ".routes", " have more than 64 limits");
}

}  // namespace

std::string path_of_limit(const std::string& path, const UpstreamSettings& settings, std::size_t index) {
  const auto& limit = settings.limits[index];
  const auto first = settings.limits.begin();
  const auto place = std::count_if(first, first + static_cast<std::ptrdiff_t>(index),
                                   [&](const LimitConfig& other) { return other.route == limit.route; });
  const auto route = std::ranges::find(settings.routes, limit.route, &RouteConfig::name);
  const bool of_route = !limit.route.empty() && route != settings.routes.end();
  const auto owner = of_route ? path + ".routes[" + std::to_string(route - settings.routes.begin()) + "]" : path;
  if (of_route && is_max_concurrent(limit)) return owner + "." + std::string(kMaxConcurrent);
  return owner + ".limits[" + std::to_string(place) + "]." + std::string(limit_key(limit.kind));
}

void check_limits(Issues& issues, const std::string& path, const UpstreamSettings& settings) {
  if (settings.group) check_group(issues, path + ".group", *settings.group);
  check_duration(issues, path + ".maxPause", settings.max_pause, 0s, 24h);
  const bool of_rate = !settings.limits.empty() && keeps_rate(settings.limits.front());
  check_numbers(issues, path, settings);
  std::map<std::string_view, int> names;
  for (std::size_t i = 0; i < settings.limits.size(); ++i) {
    const auto& limit = settings.limits[i];
    const auto place = path_of_limit(path, settings, i);
    check_limit(issues, place, limit, settings.group.has_value());
    if (!limit.route.empty() &&
        std::ranges::find(settings.routes, limit.route, &RouteConfig::name) == settings.routes.end())
      issues.push_back({place, "the limit '" + std::string(limit_name(limit)) + "' of " + path + " is of the route '" +
                                   limit.route + "', which there is not"});
    if (++names[limit_name(limit)] != 2) continue;
    const bool by_rate = of_rate && (limit_name(limit) == "rate" || limit_name(limit) == "rate.window");
    issues.push_back(
        {place, "two limits of " + path + " are named '" + std::string(limit_name(limit)) + "'" +
                    (by_rate ? " (rate: has that name itself); give yours another" : "; give one a name")});
  }
}

void check_tls(Issues& issues, const std::string& path, const TlsConfig& tls) {
  if (tls.client_cert.empty() == tls.client_key.empty()) return;
  const bool key_only = tls.client_cert.empty();
  add(issues, path + (key_only ? ".clientKey" : ".clientCert"),
      key_only ? " has no clientCert beside it" : " has no clientKey beside it; if one file holds both, name it twice");
}

}  // namespace penstock::config
