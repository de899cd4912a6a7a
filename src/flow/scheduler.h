// SPDX-License-Identifier: Apache-2.0
// The heart of Penstock: one upstream's pending requests and slots. Requests arrive, wait first come first served in
// their lane, take off when a slot is free and a departure is booked, and land. Pure: no I/O, no clock, no bytes.
// Every call takes `now` and appends what is to be done to `Commands`; nothing calls back. One thread.
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
  queue_full,   ///< max_pending reached, by a newcomer or by the newest of a longer lane than the newcomer's
  wait_over,    ///< the deadline passed, or is sure to
  limited,      ///< by a limit in refuse mode
  too_heavy,    ///< a limit can never admit its weight
  unavailable,  ///< the limits cannot be asked, and `whenDown` is refuse
};

/// Who is refused is told to come again after a week at most.
inline constexpr Time kLongestRetry = 7 * 86'400'000'000;

struct Commands {
  struct Start {
    RequestId id;
    Time waited;            ///< arrival to take-off
    LimitIndex limited_by;  ///< the limit that made it wait, or kSlots
    Departure departure;    ///< that it takes; of one that was missed, with the moment of the start
    Time booked;            ///< when it was booked for
  };
  struct Refuse {
    RequestId id;
    Refused why;
    Time waited;
    Time retry_after;       ///< from now, as retry_after() says it
    LimitIndex limited_by;  ///< the limit that made it wait, or refused it, or kSlots

    /// To come again before `moment` would be in vain.
    void not_before(Time now, Time moment) { retry_after = std::clamp(moment - now, retry_after, kLongestRetry); }
  };
  std::vector<Start> start;       ///< in order of take-off
  std::vector<Refuse> refuse;     ///< in order of their deadlines; of arrival where these are equal
  std::vector<RequestId> resume;  ///< these have a slot again
  std::vector<RequestId> close;   ///< these have rested so long that they make room for others; their tickets are dead
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
  bool anonymous = false;             ///< brings no credentials: it waits for pauses of such requests, too
  Ticket in_place_of = {};            ///< who leaves a full queue for it; dead: as the lanes' lengths say
};

/// At least one.
inline std::size_t slots_of(const Settings& settings) {
  return static_cast<std::size_t>(std::max(settings.max_concurrent, 1));
}

/// Nobody takes off after its deadline; at the very deadline a take-off wins over the refusal. A dead ticket changes
/// nothing.
class Scheduler {
 public:
  /// `booker` must outlive it.
  Scheduler(Settings settings, Limiter& limiter);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// A request came. It starts at once, waits, or is refused (then the ticket is dead already). One that may not wait
  /// is refused unless it can start now; an asynchronous booker is given the time it needs to say so.
  Ticket arrive(Time now, const Arrival& arrival, Commands& commands);
  /// The client left while the request was pending, or waited to be sent once more, or before its `start` was carried
  /// out. O(1) amortised; costs the upstream nothing.
  void cancel(Time now, Ticket ticket, Commands& commands);
  /// A started request ended, whatever the way: its slot is free. Counts in the mean flight, unlike leave(). So does
  /// one that rests, or has rested and wants a slot.
  void land(Time now, Ticket ticket, Commands& commands);
  /// A started request must be sent once more: it goes back to the head of its lane (behind those that came back before
  /// it), keeps its slot, takes a new departure. It will be in `start` again; it can no longer be refused for waiting.
  /// Nothing if it is not in flight.
  void requeue(Time now, Ticket ticket, Commands& commands);
  /// A tunnel in flight has nothing to do for now: it stays open, and its slot and its permits are others'. It counts
  /// in the mean flight as if it had landed. One that rests already does so anew, from `now` on.
  void park(Time now, Ticket ticket, Commands& commands);
  /// Nobody will ask anything of that tunnel any more: while it rests it is the first to make room for others, however
  /// short its rest.
  void mark_spare(Time now, Ticket ticket, Commands& commands);
  /// It has something to do again: it will be in `resume` when it has a slot and a permit of each semaphore. No limit
  /// or pause holds it, for it departed long ago; it goes before all of its lane that have not flown, and is never
  /// refused.
  void resume(Time now, Ticket ticket, Commands& commands);
  /// An asynchronous booker's answer for that lane.
  void answer(Time now, std::string_view group, const Booking& booking, Commands& commands);
  /// What an asynchronous booker told lanes to wait for has come: that lane may ask again, or the lanes in turn.
  void retry(Time now, Booking::Scope scope, std::string_view group, Commands& commands);
  /// From now on these settings; the booker has just been told of other limits, if there are any: `moved` says for each
  /// limit of before where it is now, kNoLimit if it is gone. Nobody who waits is refused for it, nobody in flight is
  /// cut, and what is booked stays. With more slots some start at once; with fewer nobody is given one until enough
  /// have landed. A changed max_wait holds for newcomers. Whoever was told to wait asks again, since that was by the
  /// old limits.
  void change(Time now, const Settings& settings, std::span<const LimitIndex> moved, Commands& commands);
  /// That booker takes the place of the one before, which may go afterwards: its asks under way are void, and what it
  /// has booked stays. To be followed by change().
  void replace(Limiter& limiter);
  /// Time passed: departures come due, deadlines pass. Call at wake_at().
  void advance(Time now, Commands& commands);

  /// When advance() is next needed; nothing: not before the next call.
  std::optional<Time> wake_at() const;

  /// Those that wait and have not flown.
  std::size_t pending() const { return pending_; }
  bool queue_full() const { return pending_ >= settings_.max_pending; }
  /// Those started and not landed, and not resting; they hold a slot each, also while they wait to be sent once more.
  std::size_t in_flight() const { return in_flight_; }
  /// Slots in use: in flight, booked, or held while the booker is asked.
  std::size_t slots_held() const { return in_flight_ + reserved_; }
  /// Tunnels open without a slot: those that wait for one again are among them.
  std::size_t resting() const { return resting_.size() + spare_.size() + resuming_.size(); }
  /// Tunnels that hold a slot.
  std::size_t busy_tunnels() const { return busy_tunnels_; }
  /// Of those that rest, those that wait for a slot.
  std::size_t resuming() const { return resuming_.size(); }
  /// No pending, no flight, nobody who rests, nothing booked: may be forgotten.
  bool idle() const { return pending_ == 0 && slots_held() == 0 && resting() == 0; }
  /// How long the request at the head of the longest-waiting lane has been pending.
  Time oldest_wait(Time now) const;
  /// After how long a newcomer of that group and weight is likely to be served: when the limits have let pass what
  /// waits ahead, or waiting ahead (at least one where no slot is free) ÷ (max_concurrent ÷ mean flight of the last
  /// minute), whichever is later. What the limits say is exact; what the flights say is rounded up to seconds. A
  /// millisecond to kLongestRetry. Never before `not_before`.
  Time retry_after(Time now, std::string_view group = {}, int weight = 1, Time not_before = 0) const;
  /// What makes this pending request wait: kSlots, if for half of the time or more nothing was missing but a slot; else
  /// the limit that held it last; if there is none, kSlots again, should it have waited for one at all.
  LimitIndex limited_by(Time now, Ticket ticket) const;

 private:
  // Every call ends with settle(): whatever is due or has become possible by `now` is done.
  void run_until_stable(Time now, Commands& commands);
  bool refuse_until(Time deadline, Time now, Commands& commands);
  void take_off_due(Time now, Commands& commands);
  void serve_lanes(Time now, Commands& commands);
  void end(Time now, std::uint32_t index, Commands& commands);

  // Who rests, and who has rested.
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
  // Who waits for a tunnel to end.
  Ticket wait_outside(Time now, const Arrival& arrival, Lane& lane, Commands& commands);
  void let_in(Time now, Commands& commands);
  bool may_let_in(Time now) const { return !outside_.empty() && may_have_room(now); }
  bool may_have_room(Time now) const;
  bool room_for_tunnel(Time now, Commands& commands);
  std::optional<Time> makes_room_at() const;
  void close_longest_rested(Time now, Commands& commands);

  // A newcomer.
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

  // A pause of those alone that bring no credentials.
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

  // After any change to a lane. It may be gone afterwards.
  void refresh(Time now, Lane& lane, Commands& commands);
  void refuse_overdue(Time now, Lane& lane, Commands& commands);
  void rest(Time now, Lane& lane);
  void place(Time now, Lane& lane);
  void wake_told_lanes(Time now, std::size_t count);
  void permit_came(Time now, Lane& lane);
  void offer_permit_in_order(Time now);
  void pass_permits_on(Time now, Lane& lane);
  void forget_what_heavier_was_told(Time now, Lane& lane);

  // Other limits.
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
  std::int64_t unbooked_units_ = 0;  // sum of the lanes'
  Wants wants_;                      // sum of the lanes'
  std::size_t in_flight_ = 0;
  Time took_off_ = 0;         // sum of those in flight
  std::size_t reserved_ = 0;  // sum of the lanes' reserves
  std::uint64_t turns_ = 0;
  Time full_time_ = 0;  // full_time() at the last call
  Time last_call_ = 0;

  Lane nameless_;                                                      // the usual case: no groups
  std::unordered_map<std::string_view, std::unique_ptr<Lane>> lanes_;  // by the name that the lane itself keeps
  LaneList returning_;  // lanes that want departures for slots they hold already
  LaneList wanting_;    // lanes that want a slot
  LaneList told_;       // lanes that want either, and were told to wait on their own
  LaneList awaiting_;   // lanes that wait for a permit of the upstream's
  DueLanes due_;
  LaneLengths lengths_;
  Time stopped_until_ = 0;              // nobody asks before, because of the upstream's own limits
  Time stopped_not_before_ = 0;         // and nobody leaves before
  const Lane* stopped_lane_ = nullptr;  // the lane that was told so, which may be gone
  bool has_reservation_ = false;        // the upstream's turn may still stand with the booker
  std::size_t under_way_ = 0;           // asks
  // One after a wait for the upstream's own limits, since all lanes would be told the same; twice as many with each
  // departure that is granted at once.
  static constexpr std::size_t kAnyNumber = std::size_t{1} << 32;
  std::size_t most_asks_ = kAnyNumber;  // at once
  LastRefusal forbidden_;               // of every lane
  LastLimit limited_;                   // by which it is held

  static constexpr Time kRestsLong = 30'000'000;
  std::size_t tunnels_ = 0;  // open, or in their lanes
  std::size_t busy_tunnels_ = 0;
  RequestList resting_;     // the longest first
  RequestList spare_;       // likewise; these rest, too
  RequestList resuming_;    // first come, first served
  RequestList outside_;     // likewise
  bool no_permit_ = false;  // of the upstream's, for any that resumes
  Time resume_at_ = 0;      // nobody resumes before, since the booker cannot be asked, or has no line to wait in
};

}  // namespace penstock::flow
