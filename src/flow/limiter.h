// SPDX-License-Identifier: Apache-2.0
// The port through which the lanes of one upstream book departures. Behind it: local_booker (this process), or Redis.
// A booking belongs to the lane, not to a request: whoever is at the head when its time comes takes it.
// Limits that change stay with their booker. Only where another kind of booker is needed (the first limit becomes
// shared, or the last ceases to be) one takes the other's place by Upstream::replace(): there all limits start anew.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

/// Only departures this near are committed; who must wait longer asks again.
inline constexpr Time kHorizon = 50'000;

/// Who leaves later than booked by no more than this is on time: the two guards by which limits allow for that, less
/// what the clocks of two processes may be mapped apart.
inline constexpr Time kOnTime = static_cast<Time>(2 * kGuard) - 250;

/// So many groups of an upstream are remembered at most, by each process; the others share one. In Redis there can be
/// as many for each process that has met others.
inline constexpr std::size_t kMostGroups = 100'000;

/// Which limit made somebody wait: the n-th of UpstreamSettings::limits, from 0, or one of these.
using LimitIndex = std::int32_t;
inline constexpr LimitIndex kNoLimit = -1;
inline constexpr LimitIndex kPause = -2;    ///< the upstream asked for a pause
inline constexpr LimitIndex kRedis = -3;    ///< Redis does not answer, and `whenDown` says so
inline constexpr LimitIndex kSlots = -4;    ///< as many were in flight as the upstream takes; no booker says so
inline constexpr LimitIndex kTunnels = -5;  ///< as many tunnels are open as may be; no booker says so

/// What a lane asks for: departures for the requests at its head, as many as have the weight of the first. Weight 0 is
/// no departure: somebody who rested goes on, and takes a permit of each semaphore. Neither other limits nor pauses are
/// asked, for these govern departures. It is granted for `now`, or not at all, and ended by landed().
struct Ask {
  std::string_view group;
  std::size_t count = 1;
  int weight = 1;
  // What processes that share limits tell each other. Units beyond these that would leave now if the limits of the
  // whole upstream let them, where slots are free for them and they wait for nothing else:
  std::int64_t more = 0;    ///< of this lane
  std::int64_t others = 0;  ///< of the other lanes
};

/// Of which limits a departure counts in: those that were there when it was granted. A booker counts on whenever it has
/// new ones.
using ConfigEpoch = std::int32_t;
inline constexpr ConfigEpoch kNoEpoch = -1;  ///< granted by another booker: it counts in no limit of this one

struct Departure {
  Time at = 0;
  int weight = 1;
  LimitIndex limited_by = kNoLimit;  ///< whose frontier it is, where it is later than the ask; or what held its lane
  ConfigEpoch epoch = 0;             ///< the booker's own note
  std::int64_t in_memory = 0;        ///< where the booker remembers it, by a clock of its own; 0: at `at`
  std::int64_t in_redis = 0;         ///< where Redis has it, by Redis' clock; 0: it has not
  bool operator==(const Departure&) const = default;
};

/// The answer to an ask.
struct Booking {
  /// Why fewer were granted than asked for.
  enum class Stop : std::uint8_t {
    turn,         ///< not within the horizon, or others have had less: ask again at `ask_again`
    permit,       ///< no permit is free: may_ask() will be called when one is
    refused,      ///< a limit in refuse mode does not allow the next request now
    unavailable,  ///< the limits cannot be asked, and `whenDown` is refuse
  };
  enum class Scope : std::uint8_t { upstream, group };  ///< whom it stops: every lane, or the one that asked

  std::vector<Departure> departures;  ///< ascending; at most as many as were asked for
  Stop stop = Stop::turn;
  Scope scope = Scope::upstream;
  LimitIndex limited_by = kNoLimit;  ///< the limit that stopped it
  Time ask_again = 0;                ///< of a turn; of a refusal: until when asking will be in vain; 0: when it likes
  Time not_before = 0;               ///< a moment before which the next departure is not to be expected: an estimate

  void clear() {
    departures.clear();
    *this = {.departures = std::move(departures)};
  }
};

class Limiter {
 public:
  virtual ~Limiter() = default;
  /// Up to `ask.count` departures from `now` on. Fills the empty `booking` and returns true, or returns false: the
  /// answer will come through Upstream::answer(), later and always. A lane has one ask under way at a time.
  virtual bool ask(Time now, const Ask& ask, Booking& booking) = 0;
  /// How long an answer may take; 0: it comes at once.
  virtual Time patience() const { return 0; }
  /// A lane with departures ahead asks for more when the last of them is no further off than this.
  virtual Time lead() const { return kHorizon; }
  /// The limit that can never admit such a weight, or kNoLimit.
  virtual LimitIndex forbids(int weight) const = 0;
  /// When a request leaves at the earliest that has `units` units before it in its lane and those of the other lanes
  /// besides (`others`). Never before `now`.
  virtual Time ahead(Time now, std::string_view group, std::int64_t units, std::int64_t others) const = 0;
  /// An estimate: when a request of this weight would leave behind so many units, and as many of each other process
  /// that waits for the same limits. Never before `now`.
  virtual Time expected(Time now, std::string_view group, int weight, std::int64_t units, std::int64_t others) const {
    return ahead(now, group, units + weight - 1, others);
  }
  /// A departure that this lane will not take. Its time may still be ahead.
  virtual void give_back(Time now, std::string_view group, const Departure& departure) = 0;
  /// A request of this lane took that departure and left at `at`, not on time; or it has not left yet, and counts as if
  /// it left then. Returns its departure from now on. Answers nothing, and calls nobody.
  virtual Departure report_late(std::string_view /*group*/, Departure departure, Time at) {
    departure.at = at;
    return departure;
  }
  /// A request of this lane landed. True: a permit has become free by it, and lanes that wait for one may ask again.
  virtual bool landed(Time now, std::string_view group) = 0;
  /// Who was told to wait needs no departure any more: a lane of its group, or none of the upstream's.
  virtual void cancel_wait(Time now, Booking::Scope scope, std::string_view group) = 0;
  /// The upstream asked for a pause: nobody leaves before `until`; empty group: of any lane.
  virtual void pause(Time now, std::string_view group, Time until) = 0;
  /// The same of those of its requests alone that bring no credentials. The booker only remembers it: who leaves is for
  /// the heart to see to.
  virtual void pause_anonymous(Time now, std::string_view group, Time until) = 0;
  /// Until when those of this group are paused. May be past.
  virtual Time anonymous_paused_until(std::string_view group) const = 0;

  /// Whether what that group does can be remembered: it is already, or there is room for one more. The owner of the
  /// upstream gives groups without room another name, which they share.
  virtual bool has_room_for(std::string_view group) const = 0;
  /// Another in its place would grant the same from now on, here and in other processes: it may be forgotten when
  /// nobody waits or flies.
  virtual bool forgettable(Time now) const = 0;

  /// From now on these limits, which are copied. A limit with the name, kind and scope of one
  /// before goes on from where that is, with the new parameters; others start anew (moved_limits() tells which is
  /// which); pauses stay. What is booked stays booked, and is given back to those limits alone that it counted in.
  /// PendingAsks under way are answered as ever, by the numbers of the new limits. To be followed by
  /// Upstream::change().
  virtual void change(Time now, const std::vector<LimitConfig>& limits) = 0;
  /// After a change, or in another booker's place: so many departures of this group are granted and not ended, whether
  /// taken or not. A semaphore that is new counts them among those that hold its permits.
  virtual void count_existing(Time /*now*/, std::string_view /*group*/, std::size_t /*departures*/) {}
};

/// Whom an asynchronous booker tells: the owner of the upstream, who passes it on to the calls of these names, or ends
/// flights. Never from within a call of Limiter.
class LimiterEvents {
 public:
  virtual void answer(std::string_view group, const Booking& booking) = 0;
  virtual void retry(Booking::Scope scope, std::string_view group) = 0;
  /// So many requests in flight hold permits that are lost, and must be ended: of the upstream, or of that group.
  virtual void cut(Booking::Scope scope, std::string_view group, std::size_t count) = 0;

 protected:
  ~LimiterEvents() = default;
};

}  // namespace penstock::flow
