// SPDX-License-Identifier: Apache-2.0
// The interface through which the lanes of one upstream book departures, with limits in this process (local_limiter) or
// in Redis. A departure belongs to the lane, not to a request: the request at the head takes it when it is due.
// Changed limits stay with their limiter. Only if another limiter is needed (the first limit becomes shared, the last
// ceases to be, or another Redis is to be asked), Scheduler::replace() installs it; it may have what the old one knew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/lane_key.h"
#include "flow/limit.h"
#include "flow/load.h"
#include "penstock/limits.h"

namespace penstock::flow {

/// Only departures at most this far ahead (µs) are committed; a lane that must wait longer asks again.
inline constexpr Time kHorizon = 50'000;

/// A request that leaves at most this long (µs) after its booked time is on time: limits allow for two guards, less the
/// error with which the clocks of two processes are mapped to each other.
inline constexpr Time kOnTime = static_cast<Time>(2 * kGuard) - 250;

/// A process that has the right to probe an upstream after a pause, and is not heard of for so long, has lost it.
inline constexpr Time kProbeRight = 1'500'000;

/// The most groups of an upstream that each process remembers; further ones share one group. Redis can hold this many
/// for each process that has seen other groups.
inline constexpr std::size_t kMostGroups = 100'000;

/// The limit that made a request wait: an index into UpstreamSettings::limits, or one of these values.
using LimitIndex = std::int32_t;
inline constexpr LimitIndex kNoLimit = -1;
inline constexpr LimitIndex kPause = -2;    ///< the upstream asked for a pause
inline constexpr LimitIndex kRedis = -3;    ///< Redis does not answer, and `whenDown` makes requests wait or refuses
inline constexpr LimitIndex kSlots = -4;    ///< max_concurrent requests were in flight; no limiter returns this
inline constexpr LimitIndex kTunnels = -5;  ///< max_tunnels tunnels are open; no limiter returns this

/// What a lane asks for: departures for the requests at its head that have the same weight and cost. Weight 0 is no
/// departure: a tunnel that rested resumes, and takes a permit of each semaphore. It is not held by other limits or
/// pauses, which govern departures; it is granted for `now` or not at all, and landed() ends it.
struct Ask {
  std::string_view group;
  std::string_view route = {};
  std::size_t count = 1;
  int weight = 1;
  // Told to the processes that share the limits: further units that would leave now if only the limits of the whole
  // upstream let them, because slots are free for them and they wait for nothing else:
  std::int64_t more = 0;    ///< of this lane
  std::int64_t others = 0;  ///< of the other lanes
  /// Units of the other lanes of its route, as far as slots are free for them, that the limits of the route hold back.
  std::int64_t of_route = 0;
  int cost = 1;

  Load load() const { return Load(weight, cost); }
  LaneKey lane() const { return LaneKey(group, route); }
};

/// Units that wait in other lanes than that of a request, for estimates.
struct OtherUnits {
  OtherUnits(std::int64_t its_all = 0, std::int64_t its_of_route = 0, std::int64_t its_of_group = 0)
      : all(its_all), of_route(its_of_route), of_group(its_of_group) {}
  std::int64_t all;
  std::int64_t of_route, of_group;  ///< those of the same route, and of the same group
};

/// Which limits a departure counts in: those that existed when it was granted. A limiter increments its epoch whenever
/// its set of limits changes.
using ConfigEpoch = std::int32_t;
inline constexpr ConfigEpoch kNoEpoch = -1;  ///< granted by another limiter: it counts in no limit of this one

/// A time in a Redis that is no longer asked.
inline constexpr std::int64_t kElsewhere = -1;

struct Departure {
  Time at = 0;
  int weight = 1;
  LimitIndex limited_by = kNoLimit;  ///< the limit that made it later than the ask, or that held its lane before
  ConfigEpoch epoch = 0;             ///< set and read by the limiter
  std::int64_t in_memory = 0;        ///< its time in the limiter's memory, on a clock of its own; 0: at `at`
  std::int64_t in_redis = 0;         ///< its time in Redis, on Redis' clock; 0: Redis does not have it; kElsewhere
  std::uint32_t gates = 0;           ///< set and read by the gates of pauses (gates.h)
  int cost = 1;                      ///< as reserved: settle() tells what it was
  bool unlimited = false;            ///< no limit was asked: what it has cost is not settled
  Time late = 0;                     ///< it left so much later than it was booked for
  std::int64_t late_in_redis = 0;    ///< likewise, as Redis was told
  Load load() const { return Load(weight, cost); }
  bool operator==(const Departure&) const = default;
};

/// Another limiter takes the place of that which granted this. `knows_it`: it has the old one's memory.
inline void hand_over(Departure& departure, bool knows_it) {
  if (!knows_it) departure.epoch = kNoEpoch;
  if (departure.in_redis != 0) departure.in_redis = kElsewhere;
}

/// What an answer says that the upstream has counted in its window which is open; see Counted.
struct Report {
  LimitIndex limit = kNoLimit;  ///< whose window that is
  std::int64_t count = 0;
  Time resets = 0;  ///< when it ends
};

/// The answer to an ask.
struct Booking {
  /// Why fewer departures were granted than asked for.
  enum class Stop : std::uint8_t {
    turn,         ///< none within kHorizon, or other processes have had less: ask again at `ask_again`
    permit,       ///< no permit is free: landed() or retry() will tell when one is
    refused,      ///< a limit in refuse mode does not allow the next request now
    unavailable,  ///< the limits cannot be asked, and `whenDown` is refuse
  };
  /// What it stops: every lane, the lane that asked, or all lanes of its route.
  enum class Scope : std::uint8_t { upstream, group, route };

  std::vector<Departure> departures;  ///< ascending; at most as many as were asked for
  Stop stop = Stop::turn;
  Scope scope = Scope::upstream;
  LimitIndex limited_by = kNoLimit;  ///< the limit that stopped it
  Time ask_again = 0;                ///< with `turn` and `refused`: asking earlier is in vain; 0: at any time
  Time not_before = 0;               ///< an estimate: the next departure is not expected earlier
  /// Semaphores of the upstream or of a route of which a permit was kept for this ask in vain: of the lanes that were
  /// told to wait for such a permit one may ask.
  std::vector<LimitIndex> freed = {};

  void clear() {
    departures.clear();
    *this = {.departures = std::move(departures)};
  }
};

/// What a limit stops.
inline Booking::Scope scope_of(const LimitConfig& limit) {
  if (limit.per == LimitConfig::Per::group) return Booking::Scope::group;
  return limit.route.empty() ? Booking::Scope::upstream : Booking::Scope::route;
}

/// What other processes tell of the pause of a group, of the upstream (empty), or of a scope of credentials.
struct PauseNews {
  enum class What : std::uint8_t {
    may_probe,      ///< the answer to ask_to_probe(): this process may, until `until`
    may_not_probe,  ///< another does: ask again at `until`
    opened,         ///< another's probe was answered
    begun,          ///< that of a scope, which lasts until `until`
    shortened,      ///< all pauses of the upstream, whatever their group, end at `until` at the latest
  };
  What what;
  std::string_view group;
  Time until = 0;
};

/// Tells other processes of pauses, and finds the one process that may probe.
class PauseSharing {
 public:
  virtual ~PauseSharing() = default;
  /// When a pause is over, one request of all processes goes as a probe. True: this process may send it, for
  /// kProbeRight. False: LimiterEvents::heard() tells later.
  virtual bool ask_to_probe(std::string_view group) = 0;
  /// The right to probe is not needed any more. `opened`: the probe was answered, so others need none.
  virtual void end_probe(std::string_view group, bool opened) = 0;
  /// A pause of which the limits know nothing, since it is only of requests with the same credentials.
  virtual void tell(std::string_view scope, Time length) = 0;
  /// All pauses of the upstream end so soon at the latest.
  virtual void tell_shortened(Time length) = 0;
};

/// Tells people how limits stand. Nothing is booked.
class LimitReader {
 public:
  virtual ~LimitReader() = default;
  /// Tells of each limit of the upstream, in the order of the configuration; or, with a group, of those of that group.
  using TellReading = std::function<void(LimitIndex limit, const LimitReading& reading)>;
  virtual void read(Time now, std::string_view group, const TellReading& tell) const = 0;
  /// The remembered groups of whose limits most is used, at most so many. Of many groups not all are looked at.
  virtual std::vector<std::string> fullest_groups(Time now, std::size_t most) const = 0;
};

class RehearsedLimiter;

class Limiter {
 public:
  virtual ~Limiter() = default;
  /// Asks for up to `ask.count` departures from `now` on. Fills the empty `booking` and returns true; or returns false,
  /// and the answer always comes later, by Scheduler::answer(). A lane has at most one ask under way.
  virtual bool ask(Time now, const Ask& ask, Booking& booking) = 0;
  /// How long an answer may take; 0: the limiter answers at once.
  virtual Time patience() const { return 0; }
  /// A lane with departures ahead asks for more when the last of them is no further off than this.
  virtual Time lead() const { return kHorizon; }
  /// The limit, of the upstream or of that route, that can never admit this load, or kNoLimit.
  virtual LimitIndex forbids(const Load& load, std::string_view route) const = 0;
  /// The earliest departure of a request that has `units` units before it in its lane, and `others` units in the other
  /// lanes. Never before `now`.
  virtual Time ahead(Time now, LaneKey lane, std::int64_t units, const OtherUnits& others) const = 0;
  /// An estimate: when a request of this load would leave behind these units, and behind as many of each other
  /// process that waits for the same limits. Never before `now`.
  virtual Time expected(Time now, LaneKey lane, const Load& load, std::int64_t units, const OtherUnits& others) const {
    return ahead(now, lane, units + load.weight - 1, others);
  }
  /// One that answers as this would from `now` on, and changes nothing here: what leaves is tried out with it. It knows
  /// the limits of these groups alone, and must not outlive this. Null: nothing leaves until Redis answers again.
  virtual std::unique_ptr<RehearsedLimiter> rehearsal(Time now, std::span<const std::string_view> groups) const;
  /// A departure that this lane will not take. Its time may still be ahead.
  virtual void give_back(Time now, LaneKey lane, const Departure& departure) = 0;
  /// A request of this lane took that departure and left late, at `at`; or it has not left yet, and counts as if it
  /// left at `at`. Returns the departure that counts from now on. Gives no answers and calls no LimiterEvents.
  virtual Departure report_late(LaneKey /*lane*/, Departure departure, Time at) {
    departure.at = at;
    return departure;
  }
  /// What a request of this lane that had taken that departure has cost is known. True: lanes that wait may ask again,
  /// since it was less than `departure.cost`.
  virtual bool settle(Time /*now*/, LaneKey /*lane*/, const Departure& /*departure*/, int /*cost*/) { return false; }
  /// The upstream refused a request of this lane that had taken that departure: limits that learn lower their rates.
  virtual void refused(Time /*now*/, LaneKey /*lane*/, const Departure& /*departure*/) {}
  /// The answer to a request of this lane that had taken that departure reports what the upstream has counted.
  virtual void learned(Time /*now*/, LaneKey /*lane*/, const Departure& /*departure*/, const Report& /*report*/) {}
  /// A request of this lane landed. True: this freed a permit, and lanes that wait for one may ask again.
  virtual bool landed(Time now, LaneKey lane) = 0;
  /// This lane (`group`), every lane of its route, or every lane of the upstream needs no departure any more, and was
  /// told to wait for one, or for a permit, by any limit.
  virtual void cancel_wait(Time now, Booking::Scope scope, LaneKey lane) = 0;
  /// The upstream asked for a pause: no request of the group leaves before `until`; empty group: of any lane.
  virtual void pause(Time now, std::string_view group, Time until) = 0;
  /// All pauses of the upstream and its groups end at `latest` at the latest, also those that other processes told of.
  /// True: some were to end later. What is booked behind one stays booked.
  virtual bool shorten_pauses(Time /*now*/, Time /*latest*/) { return false; }
  /// What other processes are to know of pauses; null: there are none.
  virtual PauseSharing* pauses_shared() { return nullptr; }

  /// How much of each limit is used; null: nobody can say.
  virtual LimitReader* reader() { return nullptr; }

  /// Whether the group can be remembered: it is already, or there is room for one more. The owner of the upstream gives
  /// groups without room a common name.
  virtual bool has_room_for(std::string_view group) const = 0;
  /// True if a new limiter would grant the same from now on, here and in other processes: this one may be destroyed
  /// once no request waits or is in flight.
  virtual bool forgettable(Time now) const = 0;

  /// These limits, which are copied, hold from now on. A limit with the name, kind, scope and route of an old one goes
  /// on from the old one's state with the new parameters, others start empty (see limit_remap()); pauses stay. What is
  /// booked stays booked, and is given back only to the limits that it counted in. Asks under way are answered as
  /// usual, with the indices of the new limits. Call Scheduler::change() next.
  virtual void change(Time now, const std::vector<LimitConfig>& limits) = 0;
  /// After a change, or in a new limiter: this many departures of the lane are granted and not ended, whether taken or
  /// not. A new semaphore counts them as holders of its permits.
  virtual void count_existing(Time /*now*/, LaneKey /*lane*/, std::size_t /*departures*/) {}
};

/// The units of requests that wait for limits of the whole upstream and have no departure yet.
struct WaitingUnits {
  std::int64_t all = 0;
  double per_second = 0;  ///< so many more go on coming, by those of the last second
  Time asks_at = 0;       ///< when the limiter is asked next; 0: that is not known
};

/// What an asynchronous limiter calls: the owner of the upstream, which passes answer() and retry() on to the scheduler
/// and ends requests for cut(). Never called from within a call of Limiter.
class LimiterEvents {
 public:
  virtual void answer(LaneKey lane, const Booking& booking) = 0;
  /// With the scope of a group and no route: each lane of that group, whatever its route. The same for cut().
  virtual void retry(Booking::Scope scope, LaneKey lane) = 0;
  /// This many requests in flight, of all lanes that are meant, hold permits that are lost, and must be ended.
  virtual void cut(Booking::Scope scope, LaneKey lane, std::size_t count) = 0;
  /// For a forecast.
  virtual WaitingUnits units_waiting() const { return {}; }
  /// What other processes tell of pauses.
  virtual void heard(const PauseNews& /*news*/) {}

 protected:
  ~LimiterEvents() = default;
};

}  // namespace penstock::flow
