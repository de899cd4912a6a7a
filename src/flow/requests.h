// SPDX-License-Identifier: Apache-2.0
// The requests of a scheduler, pending or in flight: small nodes in one growing array, reused when released, and lists
// linked through the nodes themselves. A ticket names a node until that is released. Internal to flow/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "flow/limit.h"
#include "flow/load.h"

namespace penstock::flow {

class Lane;

/// The caller's name for a request; opaque here.
using RequestId = std::uint64_t;

/// The scheduler's name for a request. It is dead for good once the request is refused, has left or has landed; a
/// default-constructed ticket is dead.
struct Ticket {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;
  bool operator==(const Ticket&) const = default;
};

enum class Stage : std::uint8_t {
  released,
  waiting,   ///< pending: in its lane or outside; has not taken off
  flying,    ///< in flight, holds a slot
  returned,  ///< in its lane again to be sent once more, holds its slot
  resting,   ///< a tunnel that has given up its slot
  resuming,  ///< a tunnel that has rested, and wants a slot again
};

struct Request {
  RequestId id = 0;
  Time arrived = 0;
  union {
    Time deadline = 0;  ///< in stage waiting: its deadline; in stages resting and resuming: since when it rests
    Time took_off;      ///< in stages flying and returned: its first take-off, or when it last resumed
  };
  Time slots_before = 0;  ///< for how long its lane had waited only for slots when it joined
  Lane* lane = nullptr;
  std::uint32_t previous = 0;
  std::uint32_t next = 0;
  std::uint32_t generation = 1;
  int weight = 1;
  Stage stage = Stage::released;
  bool beyond_queue : 1 = false;  ///< has no place in the full queue: waits only for an answer that may start it
  bool tunnel : 1 = false;
  bool spare : 1 = false;    ///< a tunnel that makes room before others
  bool outside : 1 = false;  ///< a tunnel that waits outside its lane until another tunnel ends
  bool let_in : 1 = false;   ///< has been outside: it may stand behind others that arrived later
  bool gated : 1 = false;    ///< a gate of a pause waits for its answer
  std::uint16_t rank = 0;    ///< how many arrived before it at the same time; of a crowd, at most kLastRank
  union {
    int cost = 1;              ///< of all but tunnels, which have none
    std::uint32_t ms_outside;  ///< of a tunnel: how long it waited outside
  };
};
static_assert(sizeof(Request) <= 64, "thousands of these wait");
inline constexpr std::uint16_t kLastRank = 0xFFFF;

inline Load load_of(const Request& request) { return Load(request.weight, request.tunnel ? 1 : request.cost); }

inline bool arrived_before(const Request& one, const Request& other) {
  return std::tie(one.arrived, one.rank) < std::tie(other.arrived, other.rank);
}

class Requests {
 public:
  /// A node for a new request. Invalidates pointers and references to nodes; indices stay valid.
  std::uint32_t take(bool tunnel = false);
  /// Frees the node; its ticket is dead. The node must not be in a list.
  void release(std::uint32_t index);
  /// How many of the requests are tunnels.
  std::size_t tunnels() const { return tunnels_; }

  /// Calls use(request) for each that is not released.
  template <typename Use>
  void each(Use use) const {
    for (const Request& request : nodes_) {
      if (request.stage != Stage::released) use(request);
    }
  }

  Request& operator[](std::uint32_t index) { return nodes_[index]; }
  const Request& operator[](std::uint32_t index) const { return nodes_[index]; }
  Ticket ticket(std::uint32_t index) const { return {index, nodes_[index].generation}; }
  /// `released` for a dead ticket.
  Stage stage(Ticket ticket) const {
    if (ticket.index >= nodes_.size()) return Stage::released;
    const Request& request = nodes_[ticket.index];
    return request.generation == ticket.generation ? request.stage : Stage::released;
  }

 private:
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);
  std::vector<Request> nodes_;
  std::uint32_t free_ = kNone;  // first of the free nodes, linked through `next`
  std::size_t tunnels_ = 0;
};

/// A FIFO list of requests. Each operation but insert_by_arrival() takes constant time, also removing from the middle.
class RequestList {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::uint32_t front() const { return first_; }
  std::uint32_t back() const { return last_; }
  void push_back(Requests& requests, std::uint32_t index);
  /// Behind those that arrived before it. It is looked for from both ends: returns how many it passed at either, which
  /// is what this costs.
  std::size_t insert_by_arrival(Requests& requests, std::uint32_t index);
  void remove(Requests& requests, std::uint32_t index);

 private:
  void insert_before(Requests& requests, std::uint32_t next, std::uint32_t index);

  std::uint32_t first_ = 0;  // meaningless while empty
  std::uint32_t last_ = 0;
  std::size_t size_ = 0;
};

}  // namespace penstock::flow
