// SPDX-License-Identifier: Apache-2.0
// At first, numbers are places.
#include "redis/limits/semaphore_table.h"

#include <utility>

#include "flow/limit_remap.h"

namespace penstock::redis {

using flow::LimitIndex;

namespace {
bool is_shared_semaphore(const LimitConfig& limit) {
  return limit.shared && std::holds_alternative<SemaphoreConfig>(limit.kind);
}
}  // namespace

SemaphoreTable::SemaphoreTable(const std::vector<LimitConfig>& limits)
    : next_number_(static_cast<LimitIndex>(limits.size())),
      permits_only_(std::ranges::all_of(limits, is_shared_semaphore)) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!is_shared_semaphore(limits[i])) continue;
    rows_.push_back({static_cast<LimitIndex>(i), static_cast<LimitIndex>(i), limits[i]});
  }
}

void SemaphoreTable::change(const std::vector<LimitConfig>& limits, const std::function<bool(LimitIndex)>& is_held) {
  permits_only_ = std::ranges::all_of(limits, is_shared_semaphore);
  std::vector<Row> before = std::exchange(rows_, {});
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!is_shared_semaphore(limits[i])) continue;
    const auto same = [&](const Row& row) { return flow::same_limit(row.config, limits[i]); };
    const auto known = std::ranges::find_if(before, same);
    Row row{next_number_, static_cast<LimitIndex>(i), limits[i]};
    if (known == before.end()) {
      ++next_number_;
    } else {
      row.number = known->number;
      row.is_new = known->gone();
      row.changed = row.is_new || known->config != limits[i];
      before.erase(known);
    }
    rows_.push_back(std::move(row));
  }
  for (Row& gone : before) {
    if (!is_held(gone.number)) continue;
    gone.is_new = false;
    gone.changed = std::exchange(gone.place, flow::kNoLimit) != flow::kNoLimit;
    rows_.push_back(std::move(gone));
  }
}

LimitIndex SemaphoreTable::at(LimitIndex place) const {
  const auto found = std::ranges::find(rows_, place, &Row::place);
  return place == flow::kNoLimit || found == rows_.end() ? flow::kNoLimit : found->number;
}

flow::Time SemaphoreTable::shortest_lease() const {
  const auto shortest = std::ranges::min_element(rows_, {}, &Row::lease);
  return shortest == rows_.end() ? 0 : shortest->lease();
}

}  // namespace penstock::redis
