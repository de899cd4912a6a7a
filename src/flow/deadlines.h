// SPDX-License-Identifier: Apache-2.0
// When waiting requests must have taken off. A heap that learns lazily of those that no longer wait: their entries are
// skipped when they come up, and swept out when they outnumber the living, so leaving costs O(1). Only for this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flow/requests.h"

namespace penstock::flow {

class Deadlines {
 public:
  void add(Time deadline, Ticket ticket);
  /// Afterwards the first entry belongs to a request that waits. `living` of all those entered still wait.
  void prune(const Requests& requests, std::size_t living);

  bool empty() const { return entries_.empty(); }
  Time first_time() const { return entries_.front().deadline; }
  Ticket first() const { return entries_.front().ticket; }
  std::size_t size() const { return entries_.size(); }  ///< the stale ones too

  /// More entries than this and twice the living are never kept.
  static constexpr std::size_t kSmall = 64;

 private:
  struct Entry {
    Time deadline;
    std::uint64_t order;  // of arrival: settles ties
    Ticket ticket;
  };
  static bool later(const Entry& a, const Entry& b);

  std::vector<Entry> entries_;  // a heap, the earliest in front
  std::uint64_t entered_ = 0;
};

}  // namespace penstock::flow
