// SPDX-License-Identifier: Apache-2.0
// See usage.h.
#include "replay/usage.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace penstock::replay {

namespace {

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Allowance even(double per_second) {
  const double seconds = std::max(1.0, std::ceil(1 / per_second));
  const auto interval = Duration{static_cast<std::int64_t>(std::min(seconds, 1e9) * 1e6)};
  return {per_second * seconds, interval, per_second};
}

struct Allowed {
  std::optional<Allowance> operator()(const PacerConfig& pacer) const {
    if (pacer.keeps) return Allowance{pacer.keeps->count, pacer.keeps->unit, pacer.qps};
    Allowance allowance = even(pacer.qps);
    allowance.units += pacer.max_burst;
    return allowance;
  }
  std::optional<Allowance> operator()(const WindowConfig& window) const {
    return Allowance{static_cast<double>(window.reservoir), window.interval,
                     window.reservoir / seconds_of(window.interval), true};
  }
  std::optional<Allowance> operator()(const SlidingWindowConfig& window) const {
    return Allowance{static_cast<double>(window.max), window.interval, window.max / seconds_of(window.interval)};
  }
  std::optional<Allowance> operator()(const TokenBucketConfig& bucket) const {
    const auto refill = static_cast<double>(bucket.refill_amount);
    return Allowance{bucket.capacity + refill, bucket.refill_frequency, refill / seconds_of(bucket.refill_frequency)};
  }
  std::optional<Allowance> operator()(const SemaphoreConfig&) const { return std::nullopt; }
  std::optional<Allowance> operator()(const CounterConfig& counter) const {
    return Allowance{static_cast<double>(counter.max), counter.period, counter.max / seconds_of(counter.period)};
  }
  std::optional<Allowance> operator()(const AdaptiveConfig& adaptive) const { return even(adaptive.max); }
};

struct Units {
  std::int64_t all = 0, most = 0;  // most: in one interval
};

template <typename Key>
void sort_by(std::vector<Departed>& departed, Key key) {
  if (!std::ranges::is_sorted(departed, {}, key)) std::ranges::sort(departed, {}, key);
}

/// Of departures of one account, in the order of time.
Units units_of(std::span<const Departed> departed, const Allowance& allowance) {
  Units units;
  std::int64_t here = 0;
  const Time interval = std::max<Time>(allowance.interval.count(), 1);
  for (std::size_t first = 0, i = 0; i < departed.size(); ++i) {
    const Time begins = allowance.aligned ? departed[i].at - departed[i].at % interval : departed[i].at - interval + 1;
    for (; departed[first].at < begins; ++first) here -= departed[first].weight;
    here += departed[i].weight;
    units.all += departed[i].weight;
    units.most = std::max(units.most, here);
  }
  return units;
}

}  // namespace

std::optional<Allowance> allowance_of(const LimitConfig::Kind& kind) { return std::visit(Allowed{}, kind); }

std::optional<Usage> usage_of(const LimitConfig& limit, std::vector<Departed>& departed, Time span) {
  const auto allowance = allowance_of(limit.kind);
  if (!allowance) return std::nullopt;
  Usage usage{.limit = std::string(limit_name(limit)), .per_group = limit.per == LimitConfig::Per::group};
  const double seconds = seconds_of(std::max(Duration{span}, allowance->interval));
  const auto see = [&](std::span<const Departed> account) {
    const Units units = units_of(account, *allowance);
    usage.mean = std::max(usage.mean, static_cast<double>(units.all) / (allowance->per_second * seconds));
    usage.most = std::max(usage.most, static_cast<double>(units.most) / allowance->units);
  };
  sort_by(departed, [&](const Departed& one) { return std::pair(usage.per_group ? one.group : 0, one.at); });
  if (!usage.per_group) return see(departed), usage;
  for (auto begin = departed.begin(); begin != departed.end();) {
    const auto end = std::find_if(begin, departed.end(), [&](const auto& one) { return one.group != begin->group; });
    see(std::span(begin, end));
    begin = end;
  }
  return usage;
}

std::uint64_t beyond(const Rate& rate, std::vector<Departed>& departed) {
  sort_by(departed, &Departed::at);
  std::uint64_t count = 0;
  double here = 0;  // units that passed in the last stretch, from `first` on
  std::vector<bool> refused(departed.size());
  for (std::size_t first = 0, i = 0; i < departed.size(); ++i) {
    for (; departed[first].at <= departed[i].at - rate.unit.count(); ++first)
      here -= refused[first] ? 0 : departed[first].weight;
    refused[i] = here + departed[i].weight > rate.count;
    here += refused[i] ? 0 : departed[i].weight;
    count += refused[i] ? 1 : 0;
  }
  return count;
}

std::uint64_t most_at_once(std::vector<Time> begins, std::vector<Time> ends) {
  std::ranges::sort(begins);
  std::ranges::sort(ends);
  std::size_t ended = 0, most = 0;
  for (std::size_t begun = 0; begun < begins.size(); ++begun) {
    while (ended < ends.size() && ends[ended] <= begins[begun]) ++ended;
    most = std::max(most, begun + 1 - std::min(ended, begun));
  }
  return most;
}

}  // namespace penstock::replay
