// SPDX-License-Identifier: Apache-2.0
// How long the requests of one `upstream` label wait and fly, and how busy the upstream is. Tunnels and upgrades count
// only in the waits: a tunnel's duration says nothing of the upstream's speed. For upstream_metrics only.
#pragma once

#include <cstdint>
#include <string>

#include "observe/families.h"
#include "observe/series.h"
#include "observe/stopwatch.h"
#include "penstock/duration.h"
#include "penstock/event.h"

namespace penstock::observe {

class LatencyMetrics {
 public:
  LatencyMetrics(LatencyFamilies& families, const std::string& label);

  /// The request has left the queue, in whichever way.
  void left_queue(const Event& event);
  void took_off(const Event& event);
  void landed(const Event& event);
  /// Sets what is computed for a scrape. `at` is µs on the loop's monotonic clock, as in Event.
  void set(std::int64_t at);

 private:
  Series<prometheus::Counter> busy_;
  Series<prometheus::Gauge> rps_;
  Series<prometheus::Gauge> mean_latency_;
  Series<prometheus::Histogram> wait_;
  Series<prometheus::Histogram> flight_;
  Series<prometheus::Histogram> first_byte_;
  Stopwatch stopwatch_;
  Duration busy_counted_{0};
};

}  // namespace penstock::observe
