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

void Deadlines::sweep(const Requests& requests) {
  std::erase_if(entries_, [&](const Entry& entry) { return requests.stage(entry.ticket) != Stage::waiting; });
  std::make_heap(entries_.begin(), entries_.end(), later);
  after_sweep_ = entries_.size();
}

void Deadlines::pop() {
  std::pop_heap(entries_.begin(), entries_.end(), later);
  entries_.pop_back();
}

}  // namespace penstock::flow
