// SPDX-License-Identifier: Apache-2.0
// See estimate.h.
#include "cost/estimate.h"

#include <algorithm>
#include <cmath>

namespace penstock::cost {

Estimate EstimateReader::estimate(std::optional<std::uint64_t> body_size) const {
  const auto found = amount_->in(scanner_, body_size.value_or(bytes_));
  if (!found) return {};
  const double units = std::clamp(std::ceil(found->units), 1.0, static_cast<double>(kMostUnits));
  return {.units = static_cast<int>(units), .entry = found->entry};
}

std::optional<int> plausible_cost(double units, int most) {
  if (!(units >= 0 && units <= most)) return std::nullopt;
  return static_cast<int>(std::ceil(units));
}

}  // namespace penstock::cost
