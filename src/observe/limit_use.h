// SPDX-License-Identifier: Apache-2.0
// How much is used of the limits of one `upstream` label, as snapshots say. What is not known has no series, and is not
// 0. For upstream_metrics only.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "observe/families.h"
#include "observe/series.h"
#include "penstock/config.h"
#include "penstock/snapshot.h"

namespace penstock::observe {

class LimitUse {
 public:
  LimitUse(LimitFamilies& families, std::string label);

  /// Removes the series of limits that are gone. Limits in shadow mode have none: no quota is spent by them.
  void change(const std::vector<LimitConfig>& limits);

  /// Call note() for each upstream of the label, then show(). Of several, the one that has used most of a limit is
  /// shown.
  void note(const UpstreamSnapshot& upstream);
  void show();

 private:
  struct Limit {
    std::string name;
    Series<prometheus::Counter> units;
    Series<prometheus::Gauge> used, capacity, resets;
    const LimitSnapshot* fullest = nullptr;  ///< between note() and show()
  };
  struct Counted {
    std::vector<std::pair<std::string, std::uint64_t>> units;  ///< by limit, as last noted
    bool there = false;
  };
  Limit* find(const std::string& name);
  void count(const UpstreamSnapshot& upstream);

  LimitFamilies& families_;
  const std::string label_;
  std::vector<Limit> limits_;
  std::unordered_map<std::string, Counted> counted_;  // by upstream: of `*` they come and go
};

}  // namespace penstock::observe
