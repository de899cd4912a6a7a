// SPDX-License-Identifier: Apache-2.0
// Orders of lanes: lists served in turn, lanes by the length of their queues, and lanes by the moment at which each is
// due. Their links stand in the lanes, so that no order allocates for a lane. Internal to flow/.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "flow/lane.h"

namespace penstock::flow {

/// A list of lanes that are served in turn. A lane is in one list at most.
class LaneList {
 public:
  LaneList() = default;
  LaneList(const LaneList&) = delete;
  LaneList& operator=(const LaneList&) = delete;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  Lane& front() const { return *first_; }
  /// Calls use(lane) for each, in their order. Defined in lanes.h.
  template <typename Use>
  void each(Use use) const;
  /// Moves `lane` to the end of `list`, unless it is there already; nullptr: out of any list.
  static void move(Lane& lane, LaneList* list);
  /// Moves `lane`, which must be in this list, to its front.
  void put_first(Lane& lane);

 private:
  void push_back(Lane& lane);
  void remove(Lane& lane);

  Lane* first_ = nullptr;
  Lane* last_ = nullptr;
  std::size_t size_ = 0;
};

/// Lanes by their places in the queue. Each call takes constant time, however many lanes there are, since a length
/// changes by one.
class LaneLengths {
 public:
  /// Puts the lane where its length belongs.
  void place(Lane& lane);
  /// The longest lane; of several, the one that reached this length last; nullptr: no request waits.
  Lane* longest() const { return of_length_.empty() ? nullptr : of_length_.back(); }

 private:
  void link(Lane& lane, std::size_t length);
  void unlink(Lane& lane);

  std::vector<Lane*> of_length_;  // the first lane of each length; the last entry is never null
};

/// A heap of lanes by next_moment(); of equal ones the lane served longest ago comes first.
class DueLanes {
 public:
  /// Puts the lane where its next moment belongs.
  void place(Lane& lane);
  /// The lane with the earliest moment, if that is no later than `now`.
  Lane* first_by(Time now) const {
    return !heap_.empty() && heap_.front()->in_due.due <= now ? heap_.front() : nullptr;
  }
  std::optional<Time> first_time() const;

 private:
  static bool before(const Lane& a, const Lane& b);
  void put(std::size_t place, Lane* lane) { heap_[place] = lane, lane->in_due.place = place; }
  void rise(Lane* lane, std::size_t place);
  void sink(Lane* lane, std::size_t place);
  void remove(Lane& lane);

  std::vector<Lane*> heap_;
};

}  // namespace penstock::flow
