// SPDX-License-Identifier: Apache-2.0
// What the limits of one `upstream` label let pass and make wait, and what they allow. For upstream_metrics only.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/families.h"
#include "observe/series.h"
#include "penstock/config.h"

namespace penstock::observe {

class LimitMetrics {
 public:
  LimitMetrics(LimitFamilies& families, std::string label);

  /// Removes the series of limits that are gone.
  void change(const std::vector<LimitConfig>& all);

  /// A request that this limit had made wait has left the queue; empty: none had.
  void count_wait(std::string_view limited_by);
  void count_departure(int weight, bool tunnel);
  /// A limit in shadow mode would have made a request wait so long; empty: none would have.
  void count_would_wait(std::string_view limit, Duration wait);

 private:
  void show_waits(const std::vector<LimitConfig>& limits);
  void show_rates(const std::vector<LimitConfig>& limits);
  void show_shadows(const std::vector<LimitConfig>& limits);

  struct Shadow {
    std::string name;
    Series<prometheus::Counter> requests, seconds;
  };

  LimitFamilies& families_;
  const std::string label_;
  Series<prometheus::Counter> departures_;
  std::vector<std::pair<std::string, Series<prometheus::Counter>>> waits_;
  std::vector<Series<prometheus::Gauge>> rates_;
  std::vector<Shadow> shadows_;
  Series<prometheus::Counter> tunnels_past_limits_;  // none without limits
};

}  // namespace penstock::observe
