// SPDX-License-Identifier: Apache-2.0
// The lazy heap of deadlines.
#include "flow/deadlines.h"

#include <algorithm>
#include <tuple>

namespace penstock::flow {

bool Deadlines::later(const Entry& a, const Entry& b) {
  return std::tie(a.deadline, a.order) > std::tie(b.deadline, b.order);
}

void Deadlines::add(Time deadline, Ticket ticket) {
  entries_.push_back({deadline, entered_++, ticket});
  std::push_heap(entries_.begin(), entries_.end(), later);
}

void Deadlines::prune(const Requests& requests, std::size_t living) {
  const auto stale = [&](const Entry& entry) { return requests.stage(entry.ticket) != Stage::waiting; };
  if (entries_.size() > 2 * living + kSmall) {
    std::erase_if(entries_, stale);
    std::make_heap(entries_.begin(), entries_.end(), later);
  }
  while (!entries_.empty() && stale(entries_.front())) {
    std::pop_heap(entries_.begin(), entries_.end(), later);
    entries_.pop_back();
  }
}

}  // namespace penstock::flow
