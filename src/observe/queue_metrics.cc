// SPDX-License-Identifier: Apache-2.0
// See queue_metrics.h.
#include "observe/queue_metrics.h"

namespace penstock::observe {

QueueMetrics::QueueMetrics(QueueFamilies& families, const std::string& label)
    : max_pending_(families.max_pending, {{"upstream", label}}),
      max_wait_(families.max_wait, {{"upstream", label}}),
      max_concurrent_(families.max_concurrent, {{"upstream", label}}),
      pending_(families.pending, {{"upstream", label}}),
      in_flight_(families.in_flight, {{"upstream", label}}),
      fullest_queue_(families.fullest_queue, {{"upstream", label}}),
      pauses_(families.pauses, {{"upstream", label}}),
      unreachable_(families.unreachable, {{"upstream", label}}),
      resting_tunnels_(families.resting_tunnels, {{"upstream", label}}) {}

void QueueMetrics::change(const UpstreamSettings& settings) {
  most_pending_ = settings.queue.max_pending;
  max_pending_->Set(static_cast<double>(most_pending_));
  max_wait_->Set(seconds(settings.queue.max_wait));
  max_concurrent_->Set(settings.max_concurrent);
}

void QueueMetrics::set(const Occupancy& occupancy) {
  pending_->Set(static_cast<double>(occupancy.pending));
  in_flight_->Set(static_cast<double>(occupancy.in_flight));
  pauses_->Set(static_cast<double>(occupancy.pauses));
  unreachable_->Set(static_cast<double>(occupancy.unreachable));
  resting_tunnels_->Set(static_cast<double>(occupancy.resting_tunnels));
  fullest_queue_->Set(most_pending_ == 0 ? 0
                                         : static_cast<double>(occupancy.fullest) / static_cast<double>(most_pending_));
}

}  // namespace penstock::observe
