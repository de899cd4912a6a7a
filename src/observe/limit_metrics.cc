// SPDX-License-Identifier: Apache-2.0
// See limit_metrics.h.
#include "observe/limit_metrics.h"

#include <algorithm>
#include <optional>

namespace penstock::observe {
namespace {

/// Units a second in the long run; null: there is no fixed one.
struct Rate {
  std::optional<double> operator()(const PacerConfig& pacer) const { return pacer.qps; }
  std::optional<double> operator()(const WindowConfig& w) const { return w.reservoir / seconds(w.interval); }
  std::optional<double> operator()(const SlidingWindowConfig& w) const { return w.max / seconds(w.interval); }
  std::optional<double> operator()(const TokenBucketConfig& bucket) const {
    return std::min(bucket.refill_amount, bucket.capacity) / seconds(bucket.refill_frequency);
  }
  std::optional<double> operator()(const SemaphoreConfig&) const { return std::nullopt; }
  std::optional<double> operator()(const CounterConfig& c) const { return c.max / seconds(c.period); }
  /// The rate is learned while the limit is used.
  std::optional<double> operator()(const AdaptiveConfig&) const { return std::nullopt; }
};

}  // namespace

LimitMetrics::LimitMetrics(LimitFamilies& families, std::string label)
    : families_(families), label_(std::move(label)), departures_(families.departures, {{"upstream", label_}}) {}

void LimitMetrics::change(const std::vector<LimitConfig>& all) {
  show_shadows(limits_in_shadow(all));
  const auto limits = limits_that_hold(all);
  show_waits(limits);
  show_rates(limits);
  if (limits.empty()) tunnels_past_limits_ = {};
  if (!limits.empty() && !tunnels_past_limits_)
    tunnels_past_limits_ = {families_.tunnels_past_limits, {{"upstream", label_}}};
}

void LimitMetrics::show_waits(const std::vector<LimitConfig>& limits) {
  std::vector<std::string> names;
  names.reserve(limits.size() + 4);
  for (const LimitConfig& limit : limits) names.emplace_back(limit_name(limit));
  for (const char* of_nobody : {"pause", "redis", "maxConcurrent", "maxTunnels"}) names.emplace_back(of_nobody);
  auto before = std::exchange(waits_, {});
  for (const auto& name : names) {
    const auto known = std::ranges::find(before, name, [](const auto& one) -> const std::string& { return one.first; });
    if (known != before.end()) {
      waits_.push_back(std::move(*known));
    } else {
      waits_.emplace_back(name,
                          Series<prometheus::Counter>(families_.limit_waits, {{"upstream", label_}, {"limit", name}}));
    }
  }
}

void LimitMetrics::show_rates(const std::vector<LimitConfig>& limits) {
  rates_.clear();
  for (const LimitConfig& limit : limits) {
    const auto rate = std::visit(Rate{}, limit.kind);
    if (!rate || limit.per != LimitConfig::Per::upstream) continue;
    const prometheus::Labels labels{{"upstream", label_}, {"limit", std::string{limit_name(limit)}}};
    rates_.emplace_back(families_.limit_rate, labels)->Set(*rate);
  }
}

void LimitMetrics::show_shadows(const std::vector<LimitConfig>& limits) {
  auto before = std::exchange(shadows_, {});
  for (const LimitConfig& limit : limits) {
    const std::string name{limit_name(limit)};
    const auto known = std::ranges::find(before, name, &Shadow::name);
    if (known != before.end()) {
      shadows_.push_back(std::move(*known));
      continue;
    }
    const prometheus::Labels labels{{"upstream", label_}, {"limit", name}};
    shadows_.push_back(
        {.name = name, .requests = {families_.would_wait, labels}, .seconds = {families_.would_wait_seconds, labels}});
  }
}

void LimitMetrics::count_would_wait(std::string_view limit, Duration wait) {
  if (limit.empty()) return;
  const auto known = std::ranges::find(shadows_, limit, &Shadow::name);
  if (known == shadows_.end()) return;
  known->requests->Increment();
  known->seconds->Increment(seconds(wait));
}

void LimitMetrics::count_wait(std::string_view limited_by) {
  if (limited_by.empty()) return;
  const auto limit =
      std::ranges::find(waits_, limited_by, [](const auto& one) -> std::string_view { return one.first; });
  if (limit != waits_.end()) limit->second->Increment();
}

void LimitMetrics::count_departure(int weight, bool tunnel) {
  departures_->Increment(weight);
  if (tunnel && tunnels_past_limits_) tunnels_past_limits_->Increment();
}

}  // namespace penstock::observe
