// SPDX-License-Identifier: Apache-2.0
// The deadlines of waiting requests, a lazy heap. Entries of requests that no longer wait are skipped when they come
// up, and swept out when they outnumber the live ones, so that leaving the queue costs O(1). Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flow/requests.h"

namespace penstock::flow {

class Deadlines {
 public:
  void add(Time deadline, Ticket ticket);
  /// Afterwards the first entry belongs to a waiting request. `living` is how many of the entered requests still wait.
  void prune(const Requests& requests, std::size_t living) {
    if (entries_.size() > 2 * std::max(living, after_sweep_) + kSmall) sweep(requests);
    while (!entries_.empty() && requests.stage(entries_.front().ticket) != Stage::waiting) pop();
  }

  bool empty() const { return entries_.empty(); }
  Time first_time() const { return entries_.front().deadline; }
  Ticket first() const { return entries_.front().ticket; }
  std::size_t size() const { return entries_.size(); }  ///< with stale entries

  /// At most this many entries plus twice the live ones are kept. A request that has waited twice is entered twice.
  static constexpr std::size_t kSmall = 64;

 private:
  struct Entry {
    Time deadline;
    std::uint64_t order;  // order of arrival, for equal deadlines
    Ticket ticket;
  };
  static bool later(const Entry& a, const Entry& b);
  void sweep(const Requests& requests);
  void pop();

  std::vector<Entry> entries_;  // a heap with the earliest deadline in front
  std::uint64_t entered_ = 0;
  std::size_t after_sweep_ = 0;  // entries left by the last sweep
};

}  // namespace penstock::flow
