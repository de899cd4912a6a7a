// SPDX-License-Identifier: Apache-2.0
// An upstream that publishes its quota with every answer, and serves strangers, too.
#pragma once

#include <vector>

#include "simulation/journal.h"
#include "simulation/plan.h"

namespace penstock::simulation {

/// What the upstream says of its quota in an answer.
struct QuotaWord {
  bool refused = false;
  int remaining = 0;
  Time resets = 0;  ///< a span from when it was said
};

class QuotaOrigin {
 public:
  QuotaOrigin(const Quota& quota, std::vector<QuotaWindow>& windows) : quota_(quota), windows_(windows) {}

  /// `wall`: microseconds since 1970, which never decrease.
  QuotaWord takes(Time wall, bool stranger) {
    const Time number = (wall - quota_.offset) / quota_.interval;
    if (windows_.empty() || number != number_) windows_.emplace_back(), number_ = number;
    QuotaWindow& window = windows_.back();
    const bool fits = window.ours + window.strangers < quota_.units;
    if (fits) ++(stranger ? window.strangers : window.ours);
    if (!fits && !stranger) ++window.refused;
    return {.refused = !fits,
            .remaining = quota_.units - window.ours - window.strangers,
            .resets = (number + 1) * quota_.interval + quota_.offset - wall};
  }

 private:
  const Quota& quota_;
  std::vector<QuotaWindow>& windows_;
  Time number_ = 0;
};

}  // namespace penstock::simulation
