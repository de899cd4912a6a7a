// SPDX-License-Identifier: Apache-2.0
// The queue of an upstream: the pending requests of all its lanes together, their deadlines, and who has a place when
// the queue is full. Tunnels that must not join their lane yet wait here, outside it. Internal to flow/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "flow/deadlines.h"
#include "flow/lane_lists.h"
#include "flow/requests.h"

namespace penstock::flow {

class Queue {
 public:
  explicit Queue(Requests& requests) : requests_(requests) {}
  void resize(std::size_t most) { most_ = most; }

  /// Requests that wait and have not taken off yet.
  std::size_t pending() const { return pending_; }
  bool full() const { return pending_ >= most_; }
  bool overfull() const { return pending_ > most_; }

  /// A new request, in stage waiting, joins its lane; outside, if it says so.
  void add(std::uint32_t index);
  /// A request that has taken off waits again, as the first of those that arrived after it.
  void add_again(std::uint32_t index);
  /// A waiting or returned request leaves.
  void remove(std::uint32_t index);

  // Tunnels that wait until another tunnel ends, first come, first served.
  const RequestList& outside() const { return outside_; }
  /// The first of them joins its lane, which has waited so long for slots alone.
  void let_in(Time now, Time slots_so_far);

  // Deadlines of waiting requests.
  bool any_overdue_by(Time time) {
    deadlines_.prune(requests_, pending_);
    return !deadlines_.empty() && deadlines_.first_time() <= time;
  }
  /// The request whose deadline is first; needs that there is one, by any_overdue_by().
  std::uint32_t first_overdue() const { return deadlines_.first().index; }
  std::optional<Time> next_deadline() const {
    return deadlines_.empty() ? std::nullopt : std::optional(deadlines_.first_time());
  }

  // No group may keep others out of a full queue: the newest request of the longest lane makes room for an arrival
  // whose lane, counting it, is shorter. So does a waiting request that the caller named, since it has less right to
  // its place. A request beyond the queue, which only awaits an answer, has no place to give.
  bool has_place(Ticket in_place_of, std::size_t length) const {
    return !full() || may_displace(in_place_of) || may_make_room(length);
  }
  bool may_make_room(std::size_t length) const;
  /// The request that must leave; needs has_place() and a full queue.
  std::uint32_t makes_room(Ticket in_place_of) const {
    return may_displace(in_place_of) ? in_place_of.index : newest_of_longest();
  }
  std::uint32_t newest_of_longest() const { return newest_of(*lengths_.longest()); }

 private:
  void note_joined(std::uint32_t index);
  bool may_displace(Ticket in_place_of) const;
  std::uint32_t newest_of(const Lane& lane) const;

  Requests& requests_;
  std::size_t most_ = 0;
  std::size_t pending_ = 0;
  Deadlines deadlines_;
  LaneLengths lengths_;
  RequestList outside_;
};

}  // namespace penstock::flow
