// SPDX-License-Identifier: Apache-2.0
// The scheduler of one upstream: its pending requests and its slots. Requests arrive, wait in their lane in order of
// arrival, take off when a slot is free and a departure is booked, and land. Pure: no I/O, no clock, no bytes. Every
// call takes `now` and appends what the caller must do to `Commands`; there are no callbacks. One thread.
//
// The stages of a request (requests.h), and what moves it on:
//
//                     granted for now                      requeue()
//    arrive() ────────────────────────────┐          ┌───────────────────▶ returned
//       │ must wait                       ▼          │                         │
//       ├───────▶ waiting ────────────▶ flying ──────┤◀────────────────────────┘
//       │            │  its departure     ▲          │    its departure is due
//       │            │  is due            │          │
//       │ refused    │ refused            │          │ park()          resume()
//       │            │                    │          └───────▶ resting ───────▶ resuming
//       │            │                    │                       │                 │
//       ▼            ▼                    └───────────────────────┼─────────────────┘
//             released                       slot and permits     │ makes room for
//     (from any stage by land() or cancel()) are granted          ▼ another tunnel
//                                                             released
//
// A waiting request stands in its lane; or `outside`, while too many tunnels are open. It is refused at its deadline or
// when that is certain to pass, by a full queue, by a limit in refuse mode, or if the limits cannot be asked. A request
// that has taken off is never refused: a returned one and a tunnel keep waiting. Slots are held by flying and returned
// requests.
//
// The states of a lane, each but idle and asking a list of lanes.h:
//
//               wants a departure                    its turn
//      idle ────────────────────────▶ ready ──────────────────────────▶ asking
//       ▲                               ▲   some are booked, or a limit   │
//       │                               │◀──of the upstream stops all─────┤
//       │                               │                                 │
//       │         its time to ask comes ├─────── told ◀───────────────────┤ a limit or permit of its group stops it,
//       │                               │                                 │ or it has departures ahead
//       │     a permit is offered to it └────── awaiting ◀────────────────┤ no permit of the upstream is free
//       │                                                                 │
//       └─────────────────────────────────────────────────────────────────┘ a departure is booked for each request
//
// Ready lanes that want a departure for a slot which a request holds already are `returning`, others are `wanting` and
// ask only while a slot is free. A stop by the upstream's own limits holds all of them back at once, in their order
// (UpstreamStop). One by the limits of a route holds those of the route back: they stand behind one of them, which asks
// for all (RouteLanes). retry(), change() and departures that another lane gives back make told and awaiting lanes
// ready; the last request that wants a departure makes any lane idle when it leaves. An idle lane of a group is deleted
// when no request of it is left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "flow/arrivals.h"
#include "flow/asker.h"
#include "flow/commands.h"
#include "flow/estimates.h"
#include "flow/forecast.h"
#include "flow/gates.h"
#include "flow/lane_server.h"
#include "flow/lanes.h"
#include "flow/limit.h"
#include "flow/limited_by.h"
#include "flow/limiter.h"
#include "flow/queue.h"
#include "flow/requests.h"
#include "flow/slots.h"
#include "flow/tunnels.h"
#include "flow/upstream_stop.h"

namespace penstock::flow {

struct Settings {
  int max_concurrent = 64;
  std::size_t max_pending = 1000;
  Time max_wait = 30'000'000;
  std::size_t max_tunnels = 1024;
};

/// At least one slot.
inline std::size_t slots_of(const Settings& settings) {
  return static_cast<std::size_t>(std::max(settings.max_concurrent, 1));
}

/// No request takes off after its deadline; at exactly the deadline a take-off wins over the refusal. Calls with a dead
/// ticket change nothing.
class Scheduler {
 public:
  /// `limiter` must outlive the scheduler, or be replaced before it ends.
  Scheduler(const Settings& settings, Limiter& limiter);
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// A request arrived. It starts at once, waits, or is refused (then its ticket is dead already). A request that may
  /// not wait is refused unless it can start now; if the limiter is asynchronous, it waits for the limiter's answer.
  Ticket arrive(Time now, const Arrival& arrival, Commands& commands);
  /// The client left while the request was pending, or waited to be sent once more, or before its `start` was carried
  /// out. O(1) amortised; costs the upstream nothing, but for the departure of that start: `unused` is the one that
  /// another may have instead.
  void cancel(Time now, Ticket ticket, Commands& commands, const Departure* unused = nullptr);
  /// A started request ended, in whatever way: its slot is free. It counts in the mean latency, unlike by cancel().
  /// Also for a tunnel that rests, or wants a slot again.
  void land(Time now, Ticket ticket, Commands& commands);
  /// A started request must be sent once more: it goes back to the head of its lane (behind those that came back before
  /// it), keeps its slot, and needs a new departure. It will be in `start` again; it can no longer be refused for
  /// waiting. No effect unless it is in flight.
  void requeue(Time now, Ticket ticket, Commands& commands);
  /// A started request was refused and is to be sent again: it gives up its slot and waits in the lane of that group
  /// and its route, as the first of those that arrived after it, until `deadline` at the latest. It will be in `start`
  /// again, or in `refuse`.
  void send_back(Time now, Ticket ticket, Time deadline, std::string_view group, Commands& commands);
  /// A started request was sent. Needed only while any pause is not over or not probed yet.
  void left(Time now, Ticket ticket);
  /// The answer to a started request is no refusal. False: no pause waits for it, and nothing changes.
  bool answered(Time now, Ticket ticket, Commands& commands);
  /// An answer, that to `by` if it is alive, asked for a pause of that length, or named no time. Nothing of the group,
  /// or of the upstream if it is empty, leaves before the time that is returned, at most `most` from now; the limiter
  /// is to be told. Then one request goes as a probe (gate.h).
  /// `alone`: other processes are not told, and this one probes by itself.
  Time pause(Time now, std::string_view group, std::optional<Time> length, Time most, Ticket by, bool alone = false);
  /// All pauses end at `latest` at the latest; the limiter was told just before. What waits goes as after any pause.
  /// True: some gate was to open later.
  bool shorten_pauses(Time now, Time latest, Commands& commands);
  /// The pauses that are not over, or not probed yet.
  Gates& gates() { return gates_; }
  const Gates& gates() const { return gates_; }
  /// The requests that wait in lanes whose group has no gate, of each lane in their order: those that a pause which has
  /// just begun may concern.
  std::vector<RequestId> waiting_at_no_gate() const;
  /// A waiting request goes to the lane of that group and its route, to its place by arrival.
  void move(Time now, Ticket ticket, std::string_view group, Commands& commands);
  /// Other processes tell of a pause.
  void hear(Time now, const PauseNews& news, Commands& commands);
  /// A tunnel in flight is idle: it stays open, and gives up its slot and its permits. It counts in the mean latency as
  /// if it had landed. For a tunnel that rests already, the rest begins again at `now`.
  void park(Time now, Ticket ticket, Commands& commands);
  /// The tunnel will not be needed any more: while it rests it is closed first to make room for others, however short
  /// its rest.
  void mark_spare(Time now, Ticket ticket, Commands& commands);
  /// A resting tunnel has something to do again: it will be in `resume` when it has a slot and a permit of each
  /// semaphore. No other limit and no pause holds it, for it departed long ago; it goes before all requests of its lane
  /// that have not taken off, and is never refused.
  void resume(Time now, Ticket ticket, Commands& commands);
  /// An asynchronous limiter's answer to that lane's ask.
  void answer(Time now, LaneKey key, const Booking& booking, Commands& commands);
  /// What an asynchronous limiter told lanes to wait for has come: that lane may ask again, or all lanes in turn, of
  /// the upstream or of the route. See LimiterEvents::retry().
  void retry(Time now, Booking::Scope scope, LaneKey key, Commands& commands);
  /// These settings hold from now on. If the limits changed, the limiter was told just before: `moved` gives for each
  /// old limit its new index, kNoLimit if it is gone. No waiting request is refused and none in flight is cut for the
  /// change; what is booked stays. With more slots some requests start at once; with fewer, none gets a slot until
  /// enough have landed. A changed max_wait holds for later arrivals. Lanes told to wait by the old limits ask again.
  void change(Time now, const Settings& settings, std::span<const LimitIndex> moved, Commands& commands);
  /// `limiter` replaces the old limiter, which may be destroyed before. Asks under way are void; what the old one has
  /// booked stays. `knows_departures`: it has the old one's memory, so that they count in its limits. Call change()
  /// next.
  void replace(Limiter& limiter, bool knows_departures = false) { asker_.replace(limiter, knows_departures); }
  /// Time passed: departures come due, deadlines pass. Call at wake_at().
  void advance(Time now, Commands& commands);

  /// When advance() is next needed; nullopt: not before another call.
  std::optional<Time> wake_at() const;

  /// Requests that wait and have not taken off yet.
  std::size_t pending() const { return queue_.pending(); }
  /// Requests started, not landed and not resting. Each holds a slot, also while it waits to be sent once more.
  std::size_t in_flight() const { return slots_.in_flight(); }
  /// Slots in use: in flight, booked, or held while the limiter is asked.
  std::size_t slots_held() const { return slots_.held(); }
  /// Tunnels that hold a slot, and those open without one, including those that wait for one again.
  struct TunnelCount {
    std::size_t busy, resting;
  };
  TunnelCount tunnels() const { return {slots_.busy_tunnels(), tunnels_.resting()}; }
  /// When each waiting request is likely to leave.
  const Forecast& forecast() const { return forecast_; }
  /// After how long an arrival of that lane and load is likely to be served. The later of two times: when the limits
  /// have let pass all that waits ahead (exact), and requests ahead (at least one if no slot is free) ÷ (max_concurrent
  /// ÷ mean latency of the last minute), rounded up to seconds. Between a millisecond and kLongestRetry; not before
  /// `not_before`.
  Time retry_after(Time now, LaneKey key = {}, const Load& load = {}, Time not_before = 0) const {
    return estimates_.retry_after(now, asker_.limiter(), key, load, not_before);
  }
  /// What makes this pending request wait: kSlots, if for half of the time or more only a slot was missing; else the
  /// limit that held it last; without one, kSlots if it waited for a slot at all.
  LimitIndex limited_by(Time now, Ticket ticket) const;

 private:
  void set(const Settings& settings);
  void time_passed(Time now) { slots_.time_passed(now, stop_.until()); }
  /// Almost every call ends with this: all that is due or has become possible by `now` is done.
  void run_until_stable(Time now, Commands& commands);
  void end(Time now, std::uint32_t index, Commands& commands, const Departure* unused = nullptr);
  void wait_in(Time now, std::uint32_t index, Lane& from, Lane& to, Commands& commands);

  // Each of these knows those above it alone.
  Requests requests_;
  Slots slots_;
  Queue queue_{requests_};
  Lanes lanes_;
  UpstreamStop stop_;
  Gates gates_{lanes_};
  WaitReasons reasons_{requests_, slots_, lanes_, stop_};
  Estimates estimates_{slots_, queue_, lanes_};
  Asker asker_;
  LaneServer server_{requests_, slots_, queue_, lanes_, stop_, asker_, reasons_, estimates_};
  Tunnels tunnels_{requests_, slots_, queue_, lanes_, stop_, asker_, server_};
  Arrivals arrivals_{requests_, slots_, queue_, lanes_, asker_, server_, tunnels_, reasons_, estimates_};
  Forecast forecast_{requests_, slots_, queue_, lanes_, stop_, gates_, asker_, reasons_, estimates_, tunnels_};
};

/// Nothing is pending, in flight, resting or booked: the scheduler may be destroyed.
inline bool idle(const Scheduler& scheduler) {
  return scheduler.pending() == 0 && scheduler.slots_held() == 0 && scheduler.tunnels().resting == 0;
}

/// Limits of that lane have units back: lanes which were told to wait for them may ask again.
void units_came(Scheduler& scheduler, Time now, LaneKey lane, Commands& commands);

}  // namespace penstock::flow
