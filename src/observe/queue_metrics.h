// SPDX-License-Identifier: Apache-2.0
// The present load of one `upstream` label, beside the settings that bound it. For upstream_metrics only.
#pragma once

#include <cstddef>
#include <string>

#include "observe/families.h"
#include "observe/series.h"
#include "penstock/config.h"
#include "penstock/snapshot.h"

namespace penstock::observe {

/// The present load of all upstreams with one label.
struct Occupancy {
  std::size_t pending = 0;
  std::size_t in_flight = 0;
  std::size_t resting_tunnels = 0;
  std::size_t fullest = 0;  ///< the longest of their queues, with what waits there for other upstreams
  std::size_t pauses = 0;
  std::size_t unreachable = 0;  ///< how many of them cannot be reached
  HandshakeTotals handshakes;
};

class QueueMetrics {
 public:
  QueueMetrics(QueueFamilies& families, const std::string& label);

  void change(const UpstreamSettings& settings);
  void set(const Occupancy& occupancy);

 private:
  std::size_t most_pending_ = 0;
  Series<prometheus::Gauge> max_pending_;
  Series<prometheus::Gauge> max_wait_;
  Series<prometheus::Gauge> max_concurrent_;
  Series<prometheus::Gauge> pending_;
  Series<prometheus::Gauge> in_flight_;
  Series<prometheus::Gauge> fullest_queue_;
  Series<prometheus::Gauge> pauses_;
  Series<prometheus::Gauge> unreachable_;
  Series<prometheus::Gauge> resting_tunnels_;
};

}  // namespace penstock::observe
