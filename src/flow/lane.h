// SPDX-License-Identifier: Apache-2.0
// A lane: one FIFO queue of pending requests, of an upstream, of one of its groups or routes, or of a group within a
// route, with the departures booked for them and what the limiter told it. A departure is the lane's: the request at
// its head takes it. Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "flow/departures.h"
#include "flow/lane_ask.h"
#include "flow/lane_key.h"
#include "flow/lane_queue.h"
#include "flow/limit_remap.h"
#include "flow/limiter.h"
#include "flow/requests.h"

namespace penstock::flow {

class LaneList;
class RouteLanes;

/// How many requests want a departure, and their units.
struct Wants {
  std::size_t requests = 0;
  std::int64_t units = 0;
};

/// What a lane takes of the upstream: slots held for departures that it expects, and what it wants of the limits.
struct Demand {
  std::size_t slots = 0;
  Wants wants;  ///< none if it waits for a permit, or for a limit of its group or route
  std::int64_t unbooked_units = 0;
};

/// Measures for how long nothing but a slot was missing in a lane, by Slots::full_time(), a clock that runs only while
/// all slots are taken.
class SlotWait {
 public:
  Time so_far(Time clock) const { return lacks_slot_ ? sum_ + clock - since_ : sum_; }
  void begin(Time clock) { lacks_slot_ = true, since_ = clock; }
  void end(Time clock) { sum_ = so_far(clock), lacks_slot_ = false; }

 private:
  Time sum_ = 0;
  Time since_ = 0;
  bool lacks_slot_ = false;
};

class Lane {
 public:
  /// `its_route`, whose name stands in the key, must outlive it; null: it has none.
  explicit Lane(LaneKey key, RouteLanes* its_route = nullptr)
      : route(its_route), group_(key.group), route_name_(key.route) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  const std::string& group() const { return group_; }
  LaneKey key() const { return LaneKey(group_, route_name_); }

  /// Moves a request of the lane to another stage. It is counted here from its first stage until it is released.
  void change_stage(Request& request, Stage to) {
    requests_ += (request.stage == Stage::released ? 1 : 0) - (to == Stage::released ? 1 : 0);
    flying_ += (to == Stage::flying ? 1 : 0) - (request.stage == Stage::flying ? 1 : 0);
    resuming_ += (to == Stage::resuming ? 1 : 0) - (request.stage == Stage::resuming ? 1 : 0);
    request.stage = to;
  }
  /// The request is gone; it must have been removed from its queue or list before.
  void forget(Requests& requests, std::uint32_t index) {
    change_stage(requests[index], Stage::released);
    requests.release(index);
  }
  /// Returned and resting requests do not count.
  std::size_t flying() const { return static_cast<std::size_t>(flying_); }
  /// Tunnels that want a slot again.
  bool has_resuming() const { return resuming_ > 0; }
  /// No request is left, and nothing is booked or asked for.
  bool unused() const { return requests_ == 0 && at_rest(); }

  // Departures that it has or asks for, and requests for which it has none.
  std::size_t expected() const { return ask.count() + departures.size(); }
  /// Requests for which no departure is expected.
  std::size_t wants() const { return queue.size() - std::min(queue.size(), expected()); }
  /// How many of these hold a slot already: they have returned.
  std::size_t wants_no_slot() const { return queue.returned() - std::min(queue.returned(), expected()); }
  /// It wants a departure for a slot that it holds already, or is asking for one.
  bool asks_with_slot() const { return queue.returned() > departures.size(); }
  /// The first of them; needs wants() > 0.
  std::uint32_t first_wanting(const Requests& requests) const { return queue.behind(requests, expected()); }
  /// How many from that one on have the same load, all with or all without a slot.
  LaneQueue::Run next_run(const Requests& requests) const {
    return queue.run_behind(requests, expected(), wants_no_slot() > 0 ? wants_no_slot() : wants());
  }
  /// The units of the requests for which none is booked.
  std::int64_t unbooked_units() const { return std::max<std::int64_t>(0, queue.units() - departures.units()); }
  /// True if more departures are booked than there are requests.
  bool has_surplus() const { return departures.size() > queue.size(); }
  /// True if the lane is empty and may ask for an arrival at once.
  bool at_rest() const { return queue.empty() && expected() == 0 && !ask.to_resume(); }
  /// `behind`: it waits behind another lane of its route, which asks for both.
  Demand demand(bool behind) const {
    const std::int64_t unbooked = unbooked_units();
    Demand demand{.slots = expected() - std::min(queue.returned(), expected()) + (ask.to_resume() ? 1 : 0),
                  .unbooked_units = unbooked};
    const bool by_itself = ask.told_to_wait() && (for_route.asks || ask.line() == Booking::Scope::group);
    if (!ask.awaits() && !by_itself && !behind)
      demand.wants = {wants(), std::max<std::int64_t>(0, unbooked - ask.units())};
    return demand;
  }

  /// True if a limit stops the lane, and any request that joins it.
  bool stopped() const { return ask.awaits() || (ask.told_to_wait() && departures.empty()); }
  /// The earliest time at which a request of the lane may leave; nullopt: unknown.
  std::optional<Time> nobody_leaves_before() const {
    if (ask.for_departures()) return std::nullopt;
    return departures.empty() ? ask.not_before() : std::optional(departures.front().at);
  }
  /// When the scheduler must look at the lane; nullopt: not by time alone.
  std::optional<Time> next_moment() const {
    std::optional<Time> next;
    const auto at = [&next](Time moment) { next = next ? std::min(*next, moment) : moment; };
    if (!departures.empty()) at(departures.front().at);
    if (ask.told_to_wait() && wants() > 0) at(*ask.again());
    return next;
  }
  /// The limits have new indices, and have refused nothing yet.
  void renumber(std::span<const LimitIndex> moved) {
    ask.renumber(moved);
    departures.each([&](Departure& departure) { departure.limited_by = renumbered(departure.limited_by, moved); });
  }
  /// A new limiter, which may not know the booked departures.
  void hand_over_departures(bool knows_them) {
    departures.each([=](Departure& departure) { hand_over(departure, knows_them); });
  }

  LaneQueue queue;
  Departures departures;  ///< booked and not taken yet
  LaneAsk ask;
  bool grew = false;  ///< since it asked, so that it wants twice as much as it asked for
  SlotWait slot_wait;
  std::uint64_t last_served = 0;  ///< a serial number: the lane served longest ago goes first
  RouteLanes* const route;
  /// What the lane does for the other lanes of its route, see RouteLanes::Asking. Lanes alone changes it.
  struct ForRoute {
    bool asks = false;
    bool with_slot = false;
  } for_route;

  // Its places in the orders of lane_lists.h and in the sums of Lanes, which alone read and write them.
  struct InList {
    LaneList* list = nullptr;
    Lane* previous = nullptr;
    Lane* next = nullptr;
  } in_list;
  struct InLengths {
    std::size_t length = 0;  // its key
    Lane* before = nullptr;  // neighbours of the same length
    Lane* behind = nullptr;
  } in_lengths;
  struct InDue {
    static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
    Time due = 0;  // its key, with `served`
    std::uint64_t served = 0;
    std::size_t place = kNowhere;
  } in_due;
  Demand counted;

 private:
  std::string group_;
  const std::string_view route_name_;
  // How many of its requests are not released, in stage flying, and in stage resuming.
  std::int64_t requests_ = 0, flying_ = 0, resuming_ = 0;
};

}  // namespace penstock::flow
