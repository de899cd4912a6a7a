// SPDX-License-Identifier: Apache-2.0
// A lane: one FIFO queue of pending requests, of an upstream or of one of its groups. It keeps the waiting requests and
// the departures booked for them; the scheduler decides when to ask and which to start. Below it, the orders in which
// the scheduler keeps its lanes. Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/departures.h"
#include "flow/limit_remap.h"
#include "flow/limiter.h"
#include "flow/requests.h"

namespace penstock::flow {

class LaneList;

/// How many requests want a departure, and their units.
struct Wants {
  std::size_t requests = 0;
  std::int64_t units = 0;
};

/// The limit that last made a request wait, and when the limiter said so.
struct LastLimit {
  LimitIndex by = kNoLimit;
  Time at = std::numeric_limits<Time>::min();
};

/// Until when a limit in refuse mode refuses this weight and any above it.
struct LastRefusal {
  LimitIndex by = kNoLimit;
  int weight = 0;
  Time until = 0;
  bool covers(Time now, int other_weight) const { return now < until && other_weight >= weight; }
};

class Lane {
 public:
  explicit Lane(std::string_view group) : group_(group) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  const std::string& group() const { return group_; }

  // The requests in the lane: returned ones go before all that have not taken off. Requests set apart do not count.
  std::size_t size() const { return returned_.size() + waiting_.size(); }
  bool empty() const { return size() == 0; }
  const RequestList& waiting() const { return waiting_; }
  std::uint32_t head() const { return returned_.empty() ? waiting_.front() : returned_.front(); }
  void join(Requests& requests, std::uint32_t index);  ///< as its stage says: waiting or returned
  void remove(Requests& requests, std::uint32_t index);

  // Requests that wait apart until `apart_until`, for the end of a pause of requests without credentials; see apart.cc.
  const RequestList& apart() const { return apart_; }
  bool has_anonymous() const { return anonymous_ > 0; }  ///< among the waiting requests that are not apart
  void set_apart(Requests& requests);                    ///< moves these requests
  void rejoin(Requests& requests, Time slots_so_far);    ///< all return to their places in order of arrival
  /// How many requests hold a place in the queue.
  std::size_t length() const { return waiting_.size() + apart_.size() + outside; }
  std::uint32_t newest(const Requests& requests) const;  ///< of these, without those outside; needs at least one
  // Requests beyond a full queue, which wait only for an answer under way: it may start them.
  std::size_t beyond_queue() const { return beyond_queue_; }
  std::uint32_t newest_beyond_queue(const Requests& requests) const;  ///< needs at least one
  void admit_all(Requests& requests);                                 ///< gives each of them a place in the queue
  bool rejoins_by(Time now) const { return !apart_.empty() && apart_until <= now; }
  Time apart_until = 0;

  /// The first request for which no departure is expected; needs wants() > 0.
  std::uint32_t first_wanting(const Requests& requests) const;
  /// How many requests from that one on have the same weight, and the weight.
  struct Run {
    std::size_t count;
    int weight;
  };
  Run next_run(const Requests& requests) const;

  // What is booked and asked for, in numbers of departures.
  bool asking() const { return asked_ > 0 || asks_to_resume; }
  int asked_weight() const { return asked_weight_; }
  std::size_t expected() const { return asked_ + departures_.size(); }
  /// Requests for which no departure is expected.
  std::size_t wants() const { return size() - std::min(size(), expected()); }
  /// The units of these requests.
  std::int64_t wanted_units() const {
    return std::max<std::int64_t>(0, unbooked_units() - static_cast<std::int64_t>(asked_) * asked_weight_);
  }
  /// How many of these hold a slot already: they have returned.
  std::size_t wants_no_slot() const { return returned_.size() - std::min(returned_.size(), expected()); }
  /// Slots held for expected departures, besides those that returned requests hold themselves.
  std::size_t reserves() const {
    return expected() - std::min(returned_.size(), expected()) + (asks_to_resume ? 1 : 0);
  }
  /// True if more departures are booked than there are requests.
  bool has_surplus() const { return departures_.size() > size(); }
  /// True if the lane is empty and may ask for an arrival at once.
  bool at_rest() const { return empty() && expected() == 0 && !asks_to_resume; }

  /// Departures booked and not yet taken, and the units of the requests for which none is booked.
  const Departures& departures() const { return departures_; }
  std::int64_t unbooked_units() const { return std::max<std::int64_t>(0, units_ - booked_units_); }

  void asked(std::size_t count, int weight) { asked_ = count, asked_weight_ = weight; }
  std::size_t answered() { return std::exchange(asked_, 0); }
  void book(const Departure& departure);
  bool departs_by(Time now) const { return !departures_.empty() && departures_.front().at <= now; }
  Departure pop_departure();
  Departure drop_latest_departure();
  /// The limits have new indices, and have refused nothing yet.
  void renumber(std::span<const LimitIndex> moved);
  /// A new limiter, which does not know the booked departures.
  void disown_departures();

  // What the limiter answered instead of a departure.
  void ask_later(Time ask_again, Time not_before) { ask_again_ = ask_again, not_before_ = not_before; }
  void await_permit(Booking::Scope scope) { awaits_ = scope; }
  void await_none() { awaits_.reset(); }
  /// The line in which the limiter keeps a place for the lane. A new ask replaces it; else cancel_wait() must end it.
  std::optional<Booking::Scope> line;
  /// The lane may ask again at once.
  void forget_told() { ask_again_.reset(), awaits_.reset(); }
  bool was_told_to_wait() const { return ask_again_.has_value(); }
  std::optional<Booking::Scope> awaits() const { return awaits_; }
  /// Its requests that want a departure, unless they wait for a permit or for a limit of the group.
  Wants wants_for_limits() const {
    const bool by_group = ask_again_ && line == Booking::Scope::group;
    return awaits_ || by_group ? Wants{} : Wants{wants(), wanted_units()};
  }
  /// True if `limited` stops the lane, and any request that joins it.
  bool stopped() const { return awaits_ || (ask_again_ && departures_.empty()); }

  /// The earliest time at which a request of the lane may leave; nullopt: unknown.
  std::optional<Time> nobody_leaves_before() const;
  /// When the scheduler must look at the lane; nullopt: not by time alone.
  std::optional<Time> next_moment() const;

  // What the scheduler notes on the lane. Its clock that runs only while all slots are taken is Scheduler::full_time().
  Time for_slots = 0;              ///< by that clock, how long nothing but slots was missing, up to `noted`
  Time noted = 0;                  ///< what that clock showed when the lane was last placed
  bool lacks_slot = false;         ///< since then nothing but a slot is missing
  LastLimit limited;               ///< the limit that last made it wait
  LastRefusal forbidden;           ///< the last refusal by a limit in refuse mode
  std::size_t flying = 0;          ///< its requests in stage flying: returned and resting ones do not count
  std::size_t outside = 0;         ///< its tunnels that wait until others end; part of `elsewhere`
  std::size_t elsewhere = 0;       ///< its requests that rest, resume, or wait outside
  std::size_t resuming = 0;        ///< its tunnels that resume; part of `elsewhere`
  bool asks_to_resume = false;     ///< its ask is for a tunnel that resumes, not for a departure
  bool no_permit = false;          ///< the limiter said that its tunnels find no permit to resume
  std::size_t counted = 0;         ///< reserves() as counted in the scheduler's sum
  Wants counted_wants;             ///< wants_for_limits() likewise
  std::int64_t counted_units = 0;  ///< unbooked_units() likewise
  std::size_t called = 0;          ///< how many permits of the upstream came free for this lane to ask for
  bool keeps_reservation = false;  ///< its ask was in vain: it comes first again in its list
  std::uint64_t last_served = 0;   ///< the scheduler's turn number: the lane served longest ago goes first

 private:
  friend class LaneList;
  friend class LaneLengths;
  friend class DueLanes;
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  std::string group_;
  RequestList returned_;
  RequestList waiting_;
  RequestList apart_;
  std::size_t anonymous_ = 0;
  std::size_t beyond_queue_ = 0;
  std::int64_t units_ = 0;   // of all its returned and waiting requests
  std::size_t heavier_ = 0;  // how many of these weigh more than 1
  Departures departures_;
  std::int64_t booked_units_ = 0;
  std::size_t asked_ = 0;  // departures of the ask under way
  int asked_weight_ = 1;
  std::optional<Time> ask_again_;
  Time not_before_ = 0;                   // valid with ask_again_
  std::optional<Booking::Scope> awaits_;  // the scope of the permit that it waits for

  LaneList* list_ = nullptr;
  Lane* previous_ = nullptr;
  Lane* next_ = nullptr;
  std::size_t length_ = 0;  // its key in LaneLengths
  Lane* before_ = nullptr;  // neighbours of the same length
  Lane* behind_ = nullptr;
  Time due_ = 0;  // its key in DueLanes
  std::uint64_t due_turn_ = 0;
  std::size_t place_ = kNowhere;
};

/// A list of lanes that are served in turn. A lane is in one list at most.
class LaneList {
 public:
  LaneList() = default;
  LaneList(const LaneList&) = delete;
  LaneList& operator=(const LaneList&) = delete;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  Lane& front() const { return *first_; }
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

/// Lanes by length(). Each call takes constant time, however many lanes there are, since a length changes by one.
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
  Lane* first_by(Time now) const { return !heap_.empty() && heap_.front()->due_ <= now ? heap_.front() : nullptr; }
  std::optional<Time> first_time() const;

 private:
  static bool before(const Lane& a, const Lane& b);
  void put(std::size_t place, Lane* lane) { heap_[place] = lane, lane->place_ = place; }
  void rise(Lane* lane, std::size_t place);
  void sink(Lane* lane, std::size_t place);
  void remove(Lane& lane);

  std::vector<Lane*> heap_;
};

}  // namespace penstock::flow
