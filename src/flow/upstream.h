// SPDX-License-Identifier: Apache-2.0
// The heart of Penstock: one upstream's pending requests and slots. Requests arrive, wait first come first served in
// their lane, take off when a slot is free and a departure is booked, and land. Pure: no I/O, no clock, no bytes.
// Every call takes `now` and appends what is to be done to `Commands`; nothing calls back. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flow/booker.h"
#include "flow/lane.h"
#include "flow/limit.h"

namespace penstock::flow {

/// What the caller knows a request by; opaque here.
using RequestId = std::uint64_t;

enum class Refused : std::uint8_t {
  queue_full,  ///< max_pending reached
  wait_over,   ///< the deadline passed, or is sure to
};

struct Commands {
  struct Start {
    RequestId id;
    Time waited;  ///< arrival to take-off
  };
  struct Refuse {
    RequestId id;
    Refused why;
    Time waited;
    std::int64_t retry_after;  ///< seconds, 1 to 3600: an honest estimate
  };
  std::vector<Start> start;    ///< in order of take-off
  std::vector<Refuse> refuse;  ///< in order of arrival
  void clear() { start.clear(), refuse.clear(); }
};

struct Settings {
  int max_concurrent = 64;
  std::size_t max_pending = 1000;
  Time max_wait = 30'000'000;
};

class Upstream {
 public:
  Upstream(Settings settings, Booker& booker);
  ~Upstream();

  /// A request came. It starts at once, waits, or is refused (then the ticket is dead already). `max_wait` may shorten
  /// the upstream's, never lengthen it; one that is zero is refused unless it can start now. `group` names its lane.
  Ticket arrive(Time now, RequestId id, Commands& commands, std::optional<Time> max_wait = {}, std::string_view group = {});
  /// The client left while the request was pending. O(1) amortised; costs the upstream nothing.
  void leave(Time now, Ticket ticket, Commands& commands);
  /// A started request ended, whatever the way: its slot is free.
  void land(Time now, Ticket ticket, Commands& commands);
  /// A started request must be sent once more: it goes back to the head of its lane, keeps its slot, takes a new
  /// departure. It will be in `start` again; it can no longer be refused for waiting.
  void again(Time now, Ticket ticket, Commands& commands);
  /// An asynchronous booker's answer for that lane.
  void answer(Time now, std::string_view group, const Booking& booking, Commands& commands);
  /// Time passed: departures come due, deadlines pass. Call at wake_at().
  void advance(Time now, Commands& commands);

  /// When advance() is next needed; nothing: not before the next call.
  std::optional<Time> wake_at() const;

  std::size_t pending() const;
  std::size_t in_flight() const;
  /// No pending, no flight, nothing booked: may be forgotten.
  bool idle() const;
  /// How long the request at the head of the longest-waiting lane has been pending.
  Time oldest_wait(Time now) const;
  /// Seconds after which a newcomer is likely to be served: waiting ahead ÷ (max_concurrent ÷ mean flight of the last
  /// minute), rounded up, 1 to 3600.
  std::int64_t retry_after(Time now) const;
};

}  // namespace penstock::flow
