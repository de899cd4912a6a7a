// SPDX-License-Identifier: Apache-2.0
// The scheduler of one upstream: its pending requests and its slots. Requests arrive, wait in their lane in order of
// arrival, take off when a slot is free and a departure is booked, and land. Pure: no I/O, no clock, no bytes. Every
// call takes `now` and appends what the caller must do to `Commands`; there are no callbacks. One thread.
//
// States of a request (`Stage` in requests.h):
//   from      to         by
//   (new)     flying     arrive(): a slot is free and the limiter grants a departure for now
//   (new)     waiting    arrive(): it cannot start now. It waits in its lane; or `outside`, while too many tunnels are
//                        open; or `apart`, during a pause of requests without credentials (then also from the lane)
//   (new)     released   arrive(): refused
//   waiting   flying     it is at the head of its lane when the lane's next departure is due (Commands::start)
//   waiting   released   deadline, full queue, limit in refuse mode, or limits unavailable (Commands::refuse)
//   flying    returned   requeue(): it is sent once more, and keeps its slot
//   returned  flying     as from waiting
//   flying    resting    park(): a tunnel gives up its slot and its permits
//   resting   resuming   resume(): the tunnel wants a slot again
//   resuming  flying     a slot and the permits are granted (Commands::resume)
//   resting   released   it makes room for another tunnel (Commands::close)
//   any       released   land(), cancel()
//
// States of a lane (the LaneList it is in, see place(); "ready" is `returning_` if it wants a departure for a slot that
// a request holds already, else `wanting_`; `held()` stops all ready lanes at once):
//   from      to         by
//   idle      ready      a request joins for which no departure is expected
//   ready     asking     its turn: the lane asks the limiter, which answers at once or by answer()
//   asking    idle       a departure is booked for each of its requests
//   asking    ready      some are booked, or the limits of the whole upstream stop every lane (`stopped_until_`)
//   asking    told_      a limit or permit of its group stops it; or its last departure is further off than lead()
//   asking    awaiting_  no permit of the upstream is free
//   told_     ready      its time to ask comes, its group's permit or a departure becomes free, retry(), change()
//   awaiting_ ready      a permit of the upstream becomes free and is the lane's to ask for; retry(), change()
//   any       idle       the last request that wants a departure is refused or leaves
//   idle      (deleted)  no request of the group is left and nothing is booked; the lane without a group stays
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flow/deadlines.h"
#include "flow/lane.h"
#include "flow/limit.h"
#include "flow/limiter.h"
#include "flow/mean_latency.h"
#include "flow/requests.h"

namespace penstock::flow {

enum class Refused : std::uint8_t {
  queue_full,   ///< max_pending reached; refused is the arrival, or the newest request of a lane longer than its own
  wait_over,    ///< the deadline has passed, or is certain to pass
  limited,      ///< by a limit in refuse mode
  too_heavy,    ///< a limit can never admit its weight
  unavailable,  ///< the limits cannot be asked, and `whenDown` is refuse
};

/// The longest retry_after of a refusal: a week.
inline constexpr Time kLongestRetry = 7 * 86'400'000'000;

struct Commands {
  struct Start {
    RequestId id;
    Time waited;            ///< arrival to take-off
    LimitIndex limited_by;  ///< the limit that made it wait, or kSlots
    Departure departure;    ///< the departure it takes; if that was missed, `at` is the time of the start
    Time booked;            ///< the time it was booked for
  };
  struct Refuse {
    RequestId id;
    Refused why;
    Time waited;
    Time retry_after;       ///< a span from now, see retry_after()
    LimitIndex limited_by;  ///< the limit that made it wait, or refused it, or kSlots

    /// Lengthens retry_after: a retry before `moment` would be refused again.
    void not_before(Time now, Time moment) { retry_after = std::clamp(moment - now, retry_after, kLongestRetry); }
  };
  std::vector<Start> start;       ///< in order of take-off
  std::vector<Refuse> refuse;     ///< in order of deadlines; of equal ones in order of arrival
  std::vector<RequestId> resume;  ///< tunnels that have a slot again
  std::vector<RequestId> close;   ///< resting tunnels that make room for others; their tickets are dead
  bool empty() const { return start.empty() && refuse.empty() && resume.empty() && close.empty(); }
  void clear() { start.clear(), refuse.clear(), resume.clear(), close.clear(); }
};

struct Settings {
  int max_concurrent = 64;
  std::size_t max_pending = 1000;
  Time max_wait = 30'000'000;
  std::size_t max_tunnels = 1024;
};

struct Arrival {
  RequestId id = 0;
  int weight = 1;
  std::string_view group = {};        ///< names its lane
  std::optional<Time> max_wait = {};  ///< may shorten the upstream's, never lengthen it
  bool tunnel = false;                ///< may rest
  bool anonymous = false;             ///< has no credentials: pauses of such requests hold it, too
  Ticket in_place_of = {};            ///< the request that leaves a full queue for it; dead: the lanes' lengths decide
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
  Scheduler(Settings settings, Limiter& limiter);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// A request arrived. It starts at once, waits, or is refused (then its ticket is dead already). A request that may
  /// not wait is refused unless it can start now; if the limiter is asynchronous, it waits for the limiter's answer.
  Ticket arrive(Time now, const Arrival& arrival, Commands& commands);
  /// The client left while the request was pending, or waited to be sent once more, or before its `start` was carried
  /// out. O(1) amortised; costs the upstream nothing.
  void cancel(Time now, Ticket ticket, Commands& commands);
  /// A started request ended, in whatever way: its slot is free. It counts in the mean latency, unlike by cancel().
  /// Also for a tunnel that rests, or wants a slot again.
  void land(Time now, Ticket ticket, Commands& commands);
  /// A started request must be sent once more: it goes back to the head of its lane (behind those that came back before
  /// it), keeps its slot, and needs a new departure. It will be in `start` again; it can no longer be refused for
  /// waiting. No effect unless it is in flight.
  void requeue(Time now, Ticket ticket, Commands& commands);
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
  void answer(Time now, std::string_view group, const Booking& booking, Commands& commands);
  /// What an asynchronous limiter told lanes to wait for has come: that lane may ask again, or all lanes in turn.
  void retry(Time now, Booking::Scope scope, std::string_view group, Commands& commands);
  /// These settings hold from now on. If the limits changed, the limiter was told just before: `moved` gives for each
  /// old limit its new index, kNoLimit if it is gone. No waiting request is refused and none in flight is cut for the
  /// change; what is booked stays. With more slots some requests start at once; with fewer, none gets a slot until
  /// enough have landed. A changed max_wait holds for later arrivals. Lanes told to wait by the old limits ask again.
  void change(Time now, const Settings& settings, std::span<const LimitIndex> moved, Commands& commands);
  /// `limiter` replaces the old limiter, which may be destroyed afterwards. Asks under way are void; what the old one
  /// has booked stays. Call change() next.
  void replace(Limiter& limiter);
  /// Time passed: departures come due, deadlines pass. Call at wake_at().
  void advance(Time now, Commands& commands);

  /// When advance() is next needed; nullopt: not before another call.
  std::optional<Time> wake_at() const;

  /// Requests that wait and have not taken off yet.
  std::size_t pending() const { return pending_; }
  bool queue_full() const { return pending_ >= settings_.max_pending; }
  /// Requests started, not landed and not resting. Each holds a slot, also while it waits to be sent once more.
  std::size_t in_flight() const { return in_flight_; }
  /// Slots in use: in flight, booked, or held while the limiter is asked.
  std::size_t slots_held() const { return in_flight_ + reserved_; }
  /// Tunnels open without a slot, including those that wait for one again.
  std::size_t resting() const { return resting_.size() + spare_.size() + resuming_.size(); }
  /// Tunnels that hold a slot.
  std::size_t busy_tunnels() const { return busy_tunnels_; }
  /// Those of resting() that wait for a slot again.
  std::size_t resuming() const { return resuming_.size(); }
  /// Nothing is pending, in flight, resting or booked: the scheduler may be destroyed.
  bool idle() const { return pending_ == 0 && slots_held() == 0 && resting() == 0; }
  /// The longest wait among the requests at the head of each lane, and those apart or outside.
  Time oldest_wait(Time now) const;
  /// After how long an arrival of that group and weight is likely to be served. The later of two times: when the limits
  /// have let pass all that waits ahead (exact), and requests ahead (at least one if no slot is free) ÷ (max_concurrent
  /// ÷ mean latency of the last minute), rounded up to seconds. Between a millisecond and kLongestRetry; not before
  /// `not_before`.
  Time retry_after(Time now, std::string_view group = {}, int weight = 1, Time not_before = 0) const;
  /// What makes this pending request wait: kSlots, if for half of the time or more only a slot was missing; else the
  /// limit that held it last; without one, kSlots if it waited for a slot at all.
  LimitIndex limited_by(Time now, Ticket ticket) const;

 private:
  // Almost every call ends with this: all that is due or has become possible by `now` is done.
  void run_until_stable(Time now, Commands& commands);
  bool refuse_until(Time deadline, Time now, Commands& commands);
  void take_off_due(Time now, Commands& commands);
  void serve_lanes(Time now, Commands& commands);
  void end(Time now, std::uint32_t index, Commands& commands);

  // Tunnels that rest, or have rested and want a slot again.
  void take_slot(Time now, Request& request);
  void leave_slot(Request& request);
  void release(std::uint32_t index);
  RequestList* list_elsewhere(const Request& request);
  void resume_rested(Time now, Commands& commands);
  std::optional<std::uint32_t> next_to_resume(Time now) const;
  bool others_first(Time now, const Lane& lane) const;
  void ask_to_resume(Time now, Lane& lane, Commands& commands);
  void resume_answered(Time now, Lane& lane, const Booking& booking, Commands& commands);
  void permit_may_be_free(Lane& lane) { lane.no_permit = no_permit_ = false; }
  // Tunnels that wait until another tunnel ends.
  Ticket wait_outside(Time now, const Arrival& arrival, Lane& lane, Commands& commands);
  void let_in(Time now, Commands& commands);
  bool may_let_in(Time now) const { return !outside_.empty() && may_have_room(now); }
  bool may_have_room(Time now) const;
  bool room_for_tunnel(Time now, Commands& commands);
  std::optional<Time> makes_room_at() const;
  void close_longest_rested(Time now, Commands& commands);

  // An arrival.
  enum class Asked : std::uint8_t { no, granted, to_wait, refused, under_way };
  Asked ask_for(Time now, const Arrival& arrival, Lane& lane);
  std::optional<Refused> refusal(Time now, const Arrival& arrival, const Lane& lane, Time deadline) const;
  LimitIndex limiting(Time now, const Lane* lane, Asked asked) const;
  Ticket refuse_arrival(Time now, const Arrival& arrival, Refused why, LimitIndex by, Commands& commands);
  Ticket start_arrival(Time now, const Arrival& arrival, Lane& lane, Commands& commands);
  struct Wait {
    Time deadline;
    Apart apart = Apart::never;
    bool beyond_queue = false;
  };
  Ticket keep_waiting(Time now, const Arrival& arrival, Lane& lane, const Wait& wait);
  Time patience_of(const Arrival& arrival) const;

  // A pause of requests without credentials alone.
  bool must_wait_apart(Time now, const Arrival& arrival, const Lane& lane) const;
  Ticket wait_apart(Time now, const Arrival& arrival, Lane& lane, Commands& commands);
  bool set_apart(Time now, Lane& lane, Commands& commands);
  void rejoin(Time now, Lane& lane, Commands& commands);
  void refuse_overdue_apart(Time now, Lane& lane, Commands& commands);

  // A lane asks, is answered, and starts or loses the request at its head.
  void ask(Time now, Lane& lane, std::size_t share, Commands& commands);
  Ask ask_of(const Lane& lane, std::size_t count, int weight) const;
  void refuse_excess(Time now, std::string_view group, Commands& commands);
  void use(Time now, Lane& lane, std::size_t asked_for, const Booking& booking, Commands& commands);
  bool book(Time now, Lane& lane, std::size_t asked_for, const Booking& booking);
  void tell(Time now, Lane& lane, const Booking& booking);
  void refuse_next(Time now, Lane& lane, const Booking& booking, Commands& commands);
  void start_head(Time now, Lane& lane, Commands& commands);
  void give_all_back(Time now, Lane& lane);
  void take_out(Lane& lane, std::uint32_t index);
  void refuse(Time now, std::uint32_t index, Refused why, LimitIndex by, Commands& commands);

  // After any change to a lane, which may be deleted by it.
  void refresh(Time now, Lane& lane, Commands& commands);
  void refuse_overdue(Time now, Lane& lane, Commands& commands);
  void rest(Time now, Lane& lane);
  void place(Time now, Lane& lane);
  void wake_told_lanes(Time now, std::size_t count);
  void permit_came(Time now, Lane& lane);
  void offer_permit_in_order(Time now);
  void pass_permits_on(Time now, Lane& lane);
  void forget_what_heavier_was_told(Time now, Lane& lane);

  // Changed limits.
  template <typename Use>
  void each_lane(Use use);
  void forget_what_was_told(Time now);

  // The upstream's own limits make every lane wait.
  bool held(Time now) const { return stopped_until_ > now; }
  bool asks_are_rationed() const { return under_way_ >= most_asks_; }
  bool nobody_wants() const {
    return returning_.empty() && wanting_.empty() && told_.empty() && awaiting_.empty() && under_way_ == 0;
  }
  const LastRefusal& forbidding(Time now, const Lane& lane, int weight) const {
    return lane.forbidden.covers(now, weight) ? lane.forbidden : forbidden_;
  }
  std::optional<Time> nobody_leaves_before(Time now, const Lane& lane) const;
  bool full() const { return in_flight_ >= slots_; }
  Time full_time(Time now) const;
  Time for_slots(Time now, const Lane& lane) const;
  void time_passed(Time now);
  LimitIndex limited_by(Time now, const Request& request) const {
    return request.outside ? kTunnels : name_for(now, request, last_limit(request));
  }
  LimitIndex last_limit(const Request& request) const;
  LimitIndex name_for(Time now, const Request& request, LimitIndex last) const;

  Lane& lane_of(std::string_view group);
  Lane* find_lane(std::string_view group);
  const Lane* find_lane(std::string_view group) const;
  std::size_t free_slots() const { return slots_ - std::min(slots_, slots_held()); }
  bool has_place(const Arrival& arrival, const Lane* lane) const {
    return !queue_full() || may_displace(arrival) || may_make_room(lane ? lane->length() : 0);
  }
  bool may_make_room(std::size_t length) const;
  bool may_displace(const Arrival& arrival) const;
  void make_room(Time now, const Arrival& arrival, Commands& commands);
  void make_room(Time now, std::uint32_t index, Commands& commands);
  std::uint32_t newest_of(const Lane& lane) const;

  Settings settings_;
  std::size_t slots_;
  Limiter* limiter_;
  Booking booking_;  // kept for its memory

  Requests requests_;
  Deadlines deadlines_;
  MeanLatency flights_;
  std::size_t pending_ = 0;
  std::int64_t unbooked_units_ = 0;  // sum over all lanes
  Wants wants_;                      // sum over all lanes
  std::size_t in_flight_ = 0;
  Time took_off_ = 0;         // sum of the take-off times of those in flight
  std::size_t reserved_ = 0;  // sum of the lanes' reserves()
  std::uint64_t turns_ = 0;
  Time full_time_ = 0;  // full_time() at the last call
  Time last_call_ = 0;

  Lane nameless_;                                                      // the usual case: no groups
  std::unordered_map<std::string_view, std::unique_ptr<Lane>> lanes_;  // the key is the lane's own copy of its name
  LaneList returning_;  // lanes that want departures for slots they hold already
  LaneList wanting_;    // lanes that want a slot and a departure
  LaneList told_;       // lanes that want either, and were told to wait on their own
  LaneList awaiting_;   // lanes that wait for a permit of the upstream
  DueLanes due_;
  LaneLengths lengths_;
  Time stopped_until_ = 0;              // no lane asks before this, because of the upstream's own limits
  Time stopped_not_before_ = 0;         // and no request leaves before this
  const Lane* stopped_lane_ = nullptr;  // the lane that got this answer; may be deleted: only compared
  bool has_reservation_ = false;        // the limiter may still keep a reservation for the upstream
  std::size_t under_way_ = 0;           // asks without an answer yet
  // How many asks may be under way at once. One after a stop by the upstream's own limits, since all lanes would get
  // the same answer; doubled with each departure that is granted at once.
  static constexpr std::size_t kAnyNumber = std::size_t{1} << 32;
  std::size_t most_asks_ = kAnyNumber;
  LastRefusal forbidden_;  // for every lane
  LastLimit limited_;      // the limit of the upstream that last stopped every lane

  static constexpr Time kRestsLong = 30'000'000;  // after this rest a tunnel may be closed to make room
  std::size_t tunnels_ = 0;                       // open, or waiting in their lanes
  std::size_t busy_tunnels_ = 0;
  RequestList resting_;     // the longest rest first
  RequestList spare_;       // likewise; resting tunnels marked spare
  RequestList resuming_;    // first come, first served
  RequestList outside_;     // likewise
  bool no_permit_ = false;  // no permit of the upstream is free for tunnels that resume
  Time resume_at_ = 0;      // no tunnel resumes before: the limiter cannot be asked, or has no line to wait in
};

}  // namespace penstock::flow
