// SPDX-License-Identifier: Apache-2.0
// The heart of Penstock: one upstream's pending requests and slots. Requests arrive, wait first come first served in
// their lane, take off when a slot is free and a departure is booked, and land. Pure: no I/O, no clock, no bytes.
// Every call takes `now` and appends what is to be done to `Commands`; nothing calls back. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flow/booker.h"
#include "flow/deadlines.h"
#include "flow/lane.h"
#include "flow/limit.h"
#include "flow/mean_flight.h"
#include "flow/requests.h"

namespace penstock::flow {

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
  std::vector<Refuse> refuse;  ///< in order of their deadlines; of arrival where these are equal
  void clear() { start.clear(), refuse.clear(); }
};

struct Settings {
  int max_concurrent = 64;
  std::size_t max_pending = 1000;
  Time max_wait = 30'000'000;
};

/// Nobody takes off after its deadline; at the very deadline a take-off wins over the refusal. A dead ticket changes
/// nothing.
class Upstream {
 public:
  /// `booker` must outlive it.
  Upstream(Settings settings, Booker& booker);
  ~Upstream();
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;

  /// A request came. It starts at once, waits, or is refused (then the ticket is dead already). `max_wait` may shorten
  /// the upstream's, never lengthen it; one that is zero is refused unless it can start now. `group` names its lane.
  Ticket arrive(Time now, RequestId id, Commands& commands, std::optional<Time> max_wait = {},
                std::string_view group = {});
  /// The client left while the request was pending, or waited to be sent once more, or before its `start` was carried
  /// out. O(1) amortised; costs the upstream nothing.
  void leave(Time now, Ticket ticket, Commands& commands);
  /// A started request ended, whatever the way: its slot is free. Counts in the mean flight, unlike leave().
  void land(Time now, Ticket ticket, Commands& commands);
  /// A started request must be sent once more: it goes back to the head of its lane (behind those that came back before
  /// it), keeps its slot, takes a new departure. It will be in `start` again; it can no longer be refused for waiting.
  /// Nothing if it is not in flight.
  void again(Time now, Ticket ticket, Commands& commands);
  /// An asynchronous booker's answer for that lane.
  void answer(Time now, std::string_view group, const Booking& booking, Commands& commands);
  /// Time passed: departures come due, deadlines pass. Call at wake_at().
  void advance(Time now, Commands& commands);

  /// When advance() is next needed; nothing: not before the next call.
  std::optional<Time> wake_at() const;

  /// Those that wait and have not flown.
  std::size_t pending() const { return pending_; }
  /// Those started and not landed; they hold a slot each, also while they wait to be sent once more.
  std::size_t in_flight() const { return in_flight_; }
  /// Slots in use: in flight, booked, or held while the booker is asked.
  std::size_t slots_held() const { return in_flight_ + reserved_; }
  /// No pending, no flight, nothing booked: may be forgotten.
  bool idle() const { return pending_ == 0 && slots_held() == 0; }
  /// How long the request at the head of the longest-waiting lane has been pending.
  Time oldest_wait(Time now) const;
  /// Seconds after which a newcomer is likely to be served: waiting ahead ÷ (max_concurrent ÷ mean flight of the last
  /// minute), rounded up, 1 to 3600.
  std::int64_t retry_after(Time now) const;

 private:
  // Every call ends with settle(): whatever is due or has become possible by `now` is done.
  void settle(Time now, Commands& commands);
  bool refuse_until(Time deadline, Time now, Commands& commands);
  void take_off_due(Time now, Commands& commands);
  void serve_lanes(Time now, Commands& commands);
  void end(Time now, std::uint32_t index, Commands& commands);

  // A newcomer.
  bool may_start_now(Time now, Lane& lane);
  std::optional<Refused> refusal(Time now, const Lane& lane, Time deadline) const;
  Ticket start_newcomer(Time now, RequestId id, Lane& lane, Commands& commands);
  Ticket keep_waiting(Time now, RequestId id, Lane& lane, Time deadline);

  // A lane asks, is answered, and starts or loses the request at its head.
  void ask(Time now, Lane& lane, std::size_t count, Commands& commands);
  void use(Time now, Lane& lane, std::size_t asked_for, const Booking& booking, Commands& commands);
  void book(Time now, Lane& lane, std::size_t asked_for, const Booking& booking);
  void start_head(Time now, Lane& lane, Commands& commands);
  void take_out(Lane& lane, std::uint32_t index);
  void refuse(Time now, std::uint32_t index, Commands& commands);

  // After any change to a lane. It may be gone afterwards.
  void refresh(Time now, Lane& lane, Commands& commands);
  void refuse_hopeless(Time now, Lane& lane, Commands& commands);
  void place(Lane& lane);
  void wake_told_lanes(std::size_t count);

  Lane& lane_of(std::string_view group);
  Lane* find_lane(std::string_view group);
  std::size_t free_slots() const { return slots_ - slots_held(); }
  bool queue_full() const { return pending_ >= settings_.max_pending; }

  const Settings settings_;
  const std::size_t slots_;
  Booker& booker_;
  Booking booking_;  // kept for its memory

  Requests requests_;
  Deadlines deadlines_;
  MeanFlight flights_;
  std::size_t pending_ = 0;
  std::size_t in_flight_ = 0;
  std::size_t reserved_ = 0;  // sum of the lanes' reserves
  std::uint64_t turns_ = 0;

  Lane nameless_;                                                      // the usual case: no groups
  std::unordered_map<std::string_view, std::unique_ptr<Lane>> lanes_;  // by the name that the lane itself keeps
  LaneList returning_;  // lanes that want departures for slots they hold already
  LaneList wanting_;    // lanes that want a slot
  LaneList told_;       // lanes that want either, and were told when to ask again
  DueLanes due_;
};

}  // namespace penstock::flow
