// SPDX-License-Identifier: Apache-2.0
// One FIFO pending queue: of an upstream, or of one group of it. Keeps who waits and what is booked for them; when to
// ask and whom to start is the upstream's to decide. Below it, the two orders in which an upstream keeps its lanes.
// Only for this room.
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

/// Requests that want a departure, and their units.
struct Wants {
  std::size_t requests = 0;
  std::int64_t units = 0;
};

/// The limit that last made somebody wait, and when that was said.
struct LastLimit {
  LimitIndex by = kNoLimit;
  Time at = std::numeric_limits<Time>::min();
};

/// Until when a limit in refuse mode does not allow such a weight.
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

  // Who is in it. Those that returned from a flight go before all that have not flown. Who is apart does not count.
  std::size_t size() const { return returned_.size() + waiting_.size(); }
  bool empty() const { return size() == 0; }
  const RequestList& waiting() const { return waiting_; }
  std::uint32_t head() const { return returned_.empty() ? waiting_.front() : returned_.front(); }
  void join(Requests& requests, std::uint32_t index);  ///< by its stage: waiting or returned
  void remove(Requests& requests, std::uint32_t index);

  // Who waits apart until `apart_until`, for the end of a pause that is not everybody's; see apart.cc.
  const RequestList& apart() const { return apart_; }
  bool has_anonymous() const { return anonymous_ > 0; }  ///< among those that wait, and are not apart
  void set_apart(Requests& requests);                    ///< those
  void rejoin(Requests& requests, Time slots_so_far);    ///< all in the order of their arrival
  /// How many hold a place in the queue.
  std::size_t length() const { return waiting_.size() + apart_.size() + outside; }
  std::uint32_t newest(const Requests& requests) const;  ///< of these, but for who is outside; there is one
  // Who waits only to hear whether it starts by an answer under way.
  std::size_t beyond_queue() const { return beyond_queue_; }
  std::uint32_t newest_beyond_queue(const Requests& requests) const;  ///< there is one
  void admit_all(Requests& requests);                                 ///< they need not go any more
  bool rejoins_by(Time now) const { return !apart_.empty() && apart_until <= now; }
  Time apart_until = 0;

  /// The first request for which no departure is expected; wants() > 0.
  std::uint32_t first_wanting(const Requests& requests) const;
  /// How many from it on weigh the same, and what.
  struct Run {
    std::size_t count;
    int weight;
  };
  Run next_run(const Requests& requests) const;

  // What is booked, in numbers of departures.
  bool asking() const { return asked_ > 0 || asks_to_resume; }
  int asked_weight() const { return asked_weight_; }
  std::size_t expected() const { return asked_ + departures_.size(); }
  /// Requests for which no departure is expected.
  std::size_t wants() const { return size() - std::min(size(), expected()); }
  /// Their units.
  std::int64_t wanted_units() const {
    return std::max<std::int64_t>(0, unbooked_units() - static_cast<std::int64_t>(asked_) * asked_weight_);
  }
  /// As many of these hold a slot already: they have returned.
  std::size_t wants_no_slot() const { return returned_.size() - std::min(returned_.size(), expected()); }
  /// Slots held for expected departures, beyond those that the returned bring along.
  std::size_t reserves() const {
    return expected() - std::min(returned_.size(), expected()) + (asks_to_resume ? 1 : 0);
  }
  /// More departures than requests.
  bool has_surplus() const { return departures_.size() > size(); }
  /// Nobody in it, and an ask for a newcomer may be made.
  bool at_rest() const { return empty() && expected() == 0 && !asks_to_resume; }

  /// Departures that are booked and not taken, and the units of the requests that have none.
  const Departures& departures() const { return departures_; }
  std::int64_t unbooked_units() const { return std::max<std::int64_t>(0, units_ - booked_units_); }

  void asked(std::size_t count, int weight) { asked_ = count, asked_weight_ = weight; }
  std::size_t answered() { return std::exchange(asked_, 0); }
  void book(const Departure& departure);
  bool departs_by(Time now) const { return !departures_.empty() && departures_.front().at <= now; }
  Departure pop_departure();
  Departure drop_latest_departure();
  /// Limits have other numbers now, and refused nothing yet; of a new booker, which knows of no departure.
  void renumber(std::span<const LimitIndex> moved);
  void disown_departures();

  // What it was told instead.
  void ask_later(Time ask_again, Time not_before) { ask_again_ = ask_again, not_before_ = not_before; }
  void await_permit(Booking::Scope scope) { awaits_ = scope; }
  void await_none() { awaits_.reset(); }
  /// Where it still stands, as far as the booker knows: whoever asks again stands anew, whoever never does must say so.
  std::optional<Booking::Scope> line;
  /// It may ask again at once.
  void forget_told() { ask_again_.reset(), awaits_.reset(); }
  bool was_told_to_wait() const { return ask_again_.has_value(); }
  std::optional<Booking::Scope> awaits() const { return awaits_; }
  /// What waits in it for no permit and for no limit of its group's.
  Wants wants_for_limits() const {
    const bool by_group = ask_again_ && line == Booking::Scope::group;
    return awaits_ || by_group ? Wants{} : Wants{wants(), wanted_units()};
  }
  /// `limited` stands in its way, and in that of whoever joins it.
  bool stopped() const { return awaits_ || (ask_again_ && departures_.empty()); }

  /// Before this moment nobody leaves; nothing: unknown.
  std::optional<Time> nobody_leaves_before() const;
  /// When something is to be done with it; nothing: not by time alone.
  std::optional<Time> next_moment() const;

  // What the upstream notes on it. Of its clock that goes only while all slots are taken see Upstream::full_time().
  Time for_slots = 0;              ///< by that clock, how long nothing but slots was missing, up to `noted`
  Time noted = 0;                  ///< what that clock showed when the lane was last placed
  bool lacks_slot = false;         ///< since then nothing but a slot is missing
  LastLimit limited;               ///< that made it wait
  LastRefusal forbidden;           ///< by a limit in refuse mode
  std::size_t flying = 0;          ///< started from here and not landed, without the returned and those that rest
  std::size_t outside = 0;         ///< tunnels that wait for others to end; among those elsewhere, too
  std::size_t elsewhere = 0;       ///< its requests that rest, resume, or wait outside
  std::size_t resuming = 0;        ///< of these
  bool asks_to_resume = false;     ///< for one of these, instead of a departure
  bool no_permit = false;          ///< for any of these, as it was told
  std::size_t counted = 0;         ///< reserves() as the upstream has counted it
  Wants counted_wants;             ///< wants_for_limits() likewise
  std::int64_t counted_units = 0;  ///< unbooked_units() likewise
  std::size_t called = 0;          ///< so many permits of the upstream's came free, and it is the one to ask for them
  bool keeps_reservation = false;  ///< it asked in vain: it comes first again
  std::uint64_t last_served = 0;   ///< who was served longest ago goes first

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
  std::int64_t units_ = 0;   // of all that are in it
  std::size_t heavier_ = 0;  // how many of these weigh more than 1
  Departures departures_;
  std::int64_t booked_units_ = 0;
  std::size_t asked_ = 0;  // under way
  int asked_weight_ = 1;
  std::optional<Time> ask_again_;
  Time not_before_ = 0;                   // with ask_again_
  std::optional<Booking::Scope> awaits_;  // a permit

  LaneList* list_ = nullptr;
  Lane* previous_ = nullptr;
  Lane* next_ = nullptr;
  std::size_t length_ = 0;  // its key in LaneLengths
  Lane* before_ = nullptr;  // of the same length
  Lane* behind_ = nullptr;
  Time due_ = 0;  // its key in DueLanes
  std::uint64_t due_turn_ = 0;
  std::size_t place_ = kNowhere;
};

/// Lanes in turn. A lane is in one list at most.
class LaneList {
 public:
  LaneList() = default;
  LaneList(const LaneList&) = delete;
  LaneList& operator=(const LaneList&) = delete;

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  Lane& front() const { return *first_; }
  /// Moves `lane` to the end of `list`, unless it is in it; nullptr: out of any.
  static void move(Lane& lane, LaneList* list);
  /// Moves `lane`, which is in it, to its front.
  void put_first(Lane& lane);

 private:
  void push_back(Lane& lane);
  void remove(Lane& lane);

  Lane* first_ = nullptr;
  Lane* last_ = nullptr;
  std::size_t size_ = 0;
};

/// Lanes by how many hold places in them. Each call costs the same, however many there are, for a length changes by
/// one.
class LaneLengths {
 public:
  /// Puts the lane where its length belongs.
  void place(Lane& lane);
  /// Of several the one that became so long last; nullptr: nobody waits.
  Lane* longest() const { return of_length_.empty() ? nullptr : of_length_.back(); }

 private:
  void link(Lane& lane, std::size_t length);
  void unlink(Lane& lane);

  std::vector<Lane*> of_length_;  // the first of each; that of the greatest length is none's but the longest's
};

/// Lanes by their next moments; of equal ones, who was served longest ago comes first.
class DueLanes {
 public:
  /// Puts the lane where its next moment belongs.
  void place(Lane& lane);
  /// The lane to be looked at first, if its moment is no later than `now`.
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
