// SPDX-License-Identifier: Apache-2.0
// Finds costs that cannot be read or counted, and limits whose unit is not that of the upstream's cost.
#include <algorithm>
#include <optional>
#include <variant>

#include "config/checks.h"
#include "config/units.h"
#include "cost/amount.h"
#include "cost/estimate.h"

namespace penstock::config {

namespace {

constexpr std::size_t kLongestUnit = 32;
constexpr Duration kPacedTogether = std::chrono::minutes{1};  // a pacer has no capacity: vendors count by minutes

struct MostUnits {
  const double patience;  // seconds
  std::optional<double> operator()(const PacerConfig& pacer) const { return pacer.max_burst + pacer.qps * patience; }
  std::optional<double> operator()(const WindowConfig& window) const { return window.reservoir; }
  std::optional<double> operator()(const SlidingWindowConfig& window) const { return window.max; }
  std::optional<double> operator()(const TokenBucketConfig& bucket) const { return bucket.capacity; }
  std::optional<double> operator()(const CounterConfig& counter) const { return counter.max; }
  std::optional<double> operator()(const SemaphoreConfig&) const { return std::nullopt; }
  std::optional<double> operator()(const AdaptiveConfig&) const { return std::nullopt; }
};

bool is_counted(const CostConfig& cost, const LimitConfig& limit) {
  return !limit.unit.empty() && limit.unit == cost.unit;
}

void check_unit(Issues& issues, const std::string& path, const std::string& unit) {
  if (unit.empty()) return add(issues, path, " must name what is counted, as in unit: tokens");
  if (unit == kRequests) return add(issues, path, " is requests, which limits count anyway; it names something else");
  if (!all_of(unit, "_.-") || unit.size() > kLongestUnit)
    add(issues, path, " must be at most 32 letters, digits and _.-");
}

/// `amount` may have the path of a group's name already.
void check_entries(Issues& issues, const std::string& path, const std::vector<std::string>& entries, cost::Side side,
                   cost::Amount amount) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto added = amount.add(entries[i], side);
    if (!added) add(issues, path + "[" + std::to_string(i) + "]", ": '" + entries[i] + "' " + added.error());
  }
}

/// What one request costs beyond that would only be owed: a limit keeps no more than it lets leave together.
void check_max(Issues& issues, const std::string& path, const UpstreamSettings& settings) {
  const int max = *settings.cost->max;
  check_count(issues, path, max, 1, cost::kMostUnits);
  for (const auto& limit : settings.limits) {
    const bool has_most = limit.mode != LimitConfig::Mode::shadow && !std::holds_alternative<PacerConfig>(limit.kind);
    if (!has_most || !is_counted(*settings.cost, limit)) continue;
    const auto most = most_units(limit.kind, kPacedTogether);
    if (!most || *most >= max) continue;
    return add(issues, path,
               " is " + std::to_string(max) + ", and the limit " + std::string(limit_name(limit)) + " lets at most " +
                   write_number(*most) + " units leave together; no request may cost more");
  }
}

void check_unit_of(Issues& issues, const std::string& path, const LimitConfig& limit,
                   const std::optional<CostConfig>& cost) {
  if (limit.unit.empty()) return;
  const auto is = " is " + limit.unit;
  if (std::holds_alternative<SemaphoreConfig>(limit.kind))
    return add(issues, path, is + "; a semaphore counts requests in flight, so it must be requests");
  if (std::holds_alternative<AdaptiveConfig>(limit.kind))
    return add(issues, path, is + "; an adaptive limit learns how many requests are taken, so it must be requests");
  if (!cost) return add(issues, path, is + ", but the upstream has no cost; say with it how that is read");
  if (limit.unit != cost->unit && !cost->unit.empty())
    add(issues, path, is + ", but the unit of cost is " + cost->unit + "; it must be that, or requests");
}

}  // namespace

std::optional<double> most_units(const LimitConfig::Kind& kind, Duration patience) {
  return std::visit(MostUnits{std::chrono::duration<double>(patience).count()}, kind);
}

void check_cost(Issues& issues, const std::string& path, const UpstreamSettings& settings) {
  for (std::size_t i = 0; i < settings.limits.size(); ++i)
    check_unit_of(issues, path_of_limit(path, settings, i) + ".unit", settings.limits[i], settings.cost);
  if (!settings.cost) return;
  const CostConfig& cost = *settings.cost;
  const std::string of_cost = path + ".cost";
  check_unit(issues, of_cost + ".unit", cost.unit);
  if (cost.estimate.empty())
    add(issues, of_cost + ".estimate", " must say how it is read from a request, as in [json:max_tokens, bytes/4]");
  cost::Amount beside_group;
  if (settings.group && settings.group->by == GroupRule::By::json) beside_group.keep_text(settings.group->pattern);
  check_entries(issues, of_cost + ".estimate", cost.estimate, cost::Side::request, std::move(beside_group));
  check_entries(issues, of_cost + ".actual", cost.actual, cost::Side::response, {});
  if (cost.max) check_max(issues, of_cost + ".max", settings);
  if (cost.stream_usage && cost.actual.empty())
    add(issues, of_cost + ".streamUsage", " asks streams for their usage, which nothing reads; set actual, too");
}

}  // namespace penstock::config

namespace penstock {

int most_cost(const UpstreamSettings& settings) {
  if (!settings.cost) return 0;
  if (settings.cost->max) return *settings.cost->max;
  double most = cost::kMostUnits;
  for (const auto& limit : settings.limits) {
    if (limit.mode == LimitConfig::Mode::shadow || !config::is_counted(*settings.cost, limit)) continue;
    most = std::min(most, config::most_units(limit.kind, config::kPacedTogether).value_or(most));
  }
  return std::max(1, static_cast<int>(most));
}

}  // namespace penstock
