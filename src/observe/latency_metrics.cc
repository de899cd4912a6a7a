// SPDX-License-Identifier: Apache-2.0
// See latency_metrics.h.
#include "observe/latency_metrics.h"

#include <optional>
#include <utility>

namespace penstock::observe {
namespace {

void observe(const Series<prometheus::Histogram>& histogram, std::optional<Duration> duration) {
  if (duration) histogram->Observe(seconds(*duration));
}

/// At take-off it is unknown whether an upgrade will become a tunnel.
bool measured(const Event& event) { return !event.tunnel && event.upgrade.empty(); }

}  // namespace

LatencyMetrics::LatencyMetrics(LatencyFamilies& families, const std::string& label)
    : busy_(families.busy, {{"upstream", label}}),
      rps_(families.rps, {{"upstream", label}}),
      mean_latency_(families.mean_latency, {{"upstream", label}}),
      wait_(families.wait, {{"upstream", label}}, request_bounds()),
      flight_(families.flight, {{"upstream", label}}, request_bounds()),
      first_byte_(families.first_byte, {{"upstream", label}}, request_bounds()) {}

void LatencyMetrics::left_queue(const Event& event) { observe(wait_, event.wait); }

void LatencyMetrics::took_off(const Event& event) {
  if (measured(event)) stopwatch_.took_off(event.at);
}

void LatencyMetrics::landed(const Event& event) {
  if (!measured(event)) return;
  stopwatch_.landed(event.at);
  observe(flight_, event.flight);
  observe(first_byte_, event.first_byte);
  if (event.outcome == Outcome::success) stopwatch_.succeeded(event.at, event.flight.value_or(Duration{0}));
}

void LatencyMetrics::set(std::int64_t at) {
  const Duration busy = stopwatch_.busy(at);
  busy_->Increment(seconds(busy - std::exchange(busy_counted_, busy)));
  const auto [rps, mean_latency] = stopwatch_.last_minute(at);
  rps_->Set(rps);
  mean_latency_->Set(mean_latency);
}

}  // namespace penstock::observe
