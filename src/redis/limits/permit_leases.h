// SPDX-License-Identifier: Apache-2.0
// The permits that this process holds of the shared semaphores of one upstream, and the leases on them: renews these in
// time, tells Redis news once an iteration, and cuts flights whose permits are lost. For semaphores.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/limiter.h"
#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "penstock/limits.h"
#include "redis/limits/held_semaphore.h"
#include "redis/limits/missed_pauses.h"
#include "redis/limits/redis_absence.h"
#include "redis/limits/semaphore_table.h"

namespace penstock::redis {

class PermitLeases {
 public:
  /// `renew` calls the permits script for one semaphore with this text, and sees to it that renewed() is called if the
  /// script answers.
  using Renew = std::function<void(const SemaphoreName& which, const std::string& told)>;
  using KeyOf = std::function<std::string(std::string_view group)>;
  PermitLeases(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::LimiterEvents& events, KeyOf key_of,
               Renew renew);

  const SemaphoreTable& table() const { return table_; }
  /// Replaces the limits. All permits of semaphores that are gone are returned.
  void change(const std::vector<LimitConfig>& limits);
  /// Another limiter of this process may come and count the same semaphores, and Redis may still know what this one was
  /// granted. So the totals of each semaphore begin at what `first` gives: more than this process was ever granted.
  void set_first(std::function<std::int64_t()> first) { first_ = std::move(first); }
  /// Returns everything and ends all renewals.
  void hand_back();

  using Entry = std::pair<const SemaphoreName, HeldSemaphore>;
  /// Calls `use(entry, row)` for each semaphore that applies to this lane, in the order of the configuration.
  template <typename Use>
  void each_of(flow::LaneKey lane, Use use) {
    table_.each_of(lane, [&](const SemaphoreTable::Row& row) { use(entry(row, lane.group), row); });
  }
  bool is_gone(const Entry& entry) const { return table_.row(entry.first.limit).gone(); }
  bool has_lease(const Entry& entry) const { return loop_.now() < entry.second.permits.fence(); }
  /// While Redis has a foreign value, it grants no permits. Half a lease later, permits that were granted before have
  /// no lease any more: from then on each process has its part, whatever it held.
  bool has_part(const Entry& entry) const;
  /// How many flights may go on without a lease.
  std::int64_t allowance(const Entry& entry) const { return allowance_(entry.first.limit); }

  // Towards Redis.
  /// What a script is told, see Permits::told(). `spare`: permits that an ask claims.
  std::string tell(Entry& entry, std::int64_t spare, std::int64_t waiting_besides);
  /// Redis is told at the end of the iteration.
  void tell_later(Entry& entry);
  /// At the end of the iteration, permits that nothing has used are returned, and lanes called that wait.
  void see_to(Entry& entry);
  /// Runs before any lane starts by permits at hand: a lost message may have told that the upstream asked for a pause.
  void ask_for_pauses(Entry& entry);
  const MissedPauses& pauses() const { return pauses_; }

  // From Redis.
  /// An ask of a lane that told of this semaphore.
  struct Ask {
    flow::LaneKey lane;
    std::int64_t claim = 0;      ///< spare permits that it claimed
    std::size_t departures = 0;  ///< that it was granted
    std::size_t awaited = 0;     ///< permits of this semaphore for which the lane waits now
  };
  void answered(Entry& entry, const Ask& ask, flow::Time sent, const PermitReply& reply);
  void failed(Entry& entry, const Ask& ask, bool foreign);
  /// Applies what every other reply tells.
  void learn(Entry& entry, flow::Time sent, const PermitReply& reply);
  /// A renewal was answered. `opens_in`: for how long a young generation still grants nothing; 0: it grants.
  void renewed(const SemaphoreName& which, flow::Time sent, const PermitReply& reply, flow::Time opens_in = 0);
  /// A renewal met a foreign value: Redis grants no permits.
  void met_foreign(const SemaphoreName& which);
  /// A message from another process's script: "take": permits are kept for this process; "share": the capacity is
  /// shared among so many; "look": look again after so many µs, 0: not.
  void message(const SemaphoreName& which, std::string_view word, std::int64_t number);
  /// Whether messages arrive from now on.
  void set_subscribed(bool subscribed);
  /// What Redis' clock shows when the loop's shows 0, and the round trip to Redis.
  void set_clock(std::int64_t at_zero, flow::Time round_trip) { clock_at_zero_ = at_zero, round_trip_ = round_trip; }

  // Without Redis.
  /// What `whenDown` leaves to this process of the semaphore with that number.
  using Allowance = std::function<std::int64_t(flow::LimitIndex)>;
  void set_allowance(Allowance allowance) { allowance_ = std::move(allowance); }
  /// Redis does not answer, or is not to be asked: the permits held are all there are.
  void redis_gone() { absence_.begin(loop_.now()); }
  bool without_redis() const { return absence_.lasts(); }
  /// To be called when Redis is back: tells it of all permits that are held.
  void redis_back();

 private:
  Entry& entry(const SemaphoreTable::Row& row, std::string_view group);
  void flush();
  void flush(Entry& entry);
  void offer_spare(Entry& entry);
  void call_waiting(Entry& entry);
  void cut(const Entry& entry, std::int64_t excess);
  void look_at_clock();
  void forget_idle(flow::Time now);
  void wake_by(flow::Time at);

  loop::Loop& loop_;
  flow::LimiterEvents& events_;
  const KeyOf key_of_;
  const Renew renew_;
  Allowance allowance_ = [](flow::LimitIndex) { return 0; };
  std::function<std::int64_t()> first_ = [] { return 0; };
  SemaphoreTable table_;
  flow::Time pace_;  // interval of looks at the clock (µs)
  std::map<SemaphoreName, HeldSemaphore> all_;
  std::vector<Entry*> news_;  // those that are `listed`
  RedisAbsence absence_;
  MissedPauses pauses_;
  std::int64_t clock_at_zero_ = 0;  // 0: not known
  flow::Time round_trip_ = 0;
  flow::Time wakes_ = 0;
  loop::IterationEnd iteration_end_;
  loop::Timer timer_;
};

}  // namespace penstock::redis
