// SPDX-License-Identifier: Apache-2.0
// See upstream_metrics.h: what each event counts towards.
#include "observe/upstream_metrics.h"

#include <utility>

namespace penstock::observe {
namespace {

/// True once for each request that waited. A refusal on arrival never waited: it would make waits look shorter than
/// they are.
bool left_queue(const Event& event) {
  return event.kind == EventKind::dispatch || event.kind == EventKind::gone ||
         (event.kind == EventKind::refused && event.wait > Duration{0});
}

}  // namespace

UpstreamMetrics::UpstreamMetrics(UpstreamFamilies& families, std::string label, const UpstreamSettings& settings)
    : label_(std::move(label)),
      outcomes_(families.outcomes, label_),
      limits_(families.limits, label_),
      use_(families.limits, label_),
      queue_(families.queue, label_),
      latency_(families.latency, label_),
      handshakes_(families.client_handshakes, label_) {
  change(settings);
}

void UpstreamMetrics::change(const UpstreamSettings& settings) {
  queue_.change(settings);
  limits_.change(settings.limits);
  use_.change(settings.limits);
  handshakes_.show(settings.https == Https::intercept);
}

void UpstreamMetrics::record(const Event& event) {
  const bool leaves = left_queue(event);
  if (leaves || event.waited_again) limits_.count_wait(event.limited_by);
  if (leaves) latency_.left_queue(event);
  if (event.kind == EventKind::dispatch) {
    latency_.took_off(event);
    limits_.count_would_wait(event.would_wait_for, event.would_wait);
    return limits_.count_departure(event.weight, event.tunnel);
  }
  if (event.kind == EventKind::complete || event.kind == EventKind::error) latency_.landed(event);
  outcomes_.record(event);
}

void UpstreamMetrics::set(const Occupancy& occupancy, std::int64_t at) {
  handshakes_.count(occupancy.handshakes);
  queue_.set(occupancy);
  use_.show();
  latency_.set(at);
}

}  // namespace penstock::observe
