// SPDX-License-Identifier: Apache-2.0
// The requests that an upstream knows, pending or in flight: small nodes in one growing array, used again when
// released, and lists of them linked through the nodes themselves. A ticket names a node for one life. Only for this
// room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flow/limit.h"

namespace penstock::flow {

class Lane;

/// What the caller knows a request by; opaque here.
using RequestId = std::uint64_t;

/// What an upstream knows a request by. Dead once the request was refused, has left or has landed, and never revived;
/// a ticket made from nothing is dead.
struct Ticket {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  bool operator==(const Ticket&) const = default;
};

enum class Stage : std::uint8_t {
  released,
  waiting,   ///< in its lane, has not flown
  flying,    ///< holds a slot
  returned,  ///< in its lane again, holds its slot
  resting,   ///< has left its slot to others
  resuming,  ///< has rested, and wants a slot again
};

/// Of a request without credentials: whether it waits for the end of a pause of such requests alone.
enum class Apart : std::uint8_t { never, now, before };

struct Request {
  RequestId id = 0;
  Time arrived = 0;
  union {
    Time deadline = 0;  ///< of one that waits and has not flown; of one that rests: since when
    Time took_off;      ///< of all others: the first time, or when it last had rested
  };
  Time slots_before = 0;  ///< for how long its lane had waited for slots when it came
  Lane* lane = nullptr;
  std::uint32_t previous = 0;
  std::uint32_t next = 0;
  std::uint32_t generation = 1;
  int weight = 1;
  Stage stage = Stage::released;
  Apart apart = Apart::never;
  bool beyond_queue : 1 = false;  ///< waits only to hear whether it starts by an answer under way
  bool tunnel : 1 = false;
  bool spare : 1 = false;        ///< a tunnel that makes room before others
  bool outside : 1 = false;      ///< of its lane: waits for a tunnel to end
  bool anonymous : 1 = false;    ///< without credentials
  std::uint32_t ms_outside = 0;  ///< for how long it waited so
};
static_assert(sizeof(Request) <= 64, "thousands of these wait");

class Requests {
 public:
  /// A node for a new request. Pointers and references to other nodes end here; indices stay.
  std::uint32_t take();
  /// Kills its ticket. The node must not be in a list.
  void release(std::uint32_t index);

  Request& operator[](std::uint32_t index) { return nodes_[index]; }
  const Request& operator[](std::uint32_t index) const { return nodes_[index]; }
  Ticket ticket(std::uint32_t index) const { return {index, nodes_[index].generation}; }
  /// `released` for a dead ticket.
  Stage stage(Ticket ticket) const;

 private:
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  std::vector<Request> nodes_;
  std::uint32_t free_ = kNone;  // linked through `next`
};

/// First come, first served. Removing from the middle costs no more than from an end.
class RequestList {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::uint32_t front() const { return first_; }
  std::uint32_t back() const { return last_; }
  void push_back(Requests& requests, std::uint32_t index);
  void remove(Requests& requests, std::uint32_t index);

 private:
  std::uint32_t first_ = 0;  // meaningless while empty
  std::uint32_t last_ = 0;
  std::size_t size_ = 0;
};

}  // namespace penstock::flow
