// SPDX-License-Identifier: Apache-2.0
// What this process holds of one semaphore in Redis. Both sides count all permits ever granted and ever returned, and
// tell each other the totals, so a message that is lost, late or duplicated changes nothing. Pure: no I/O, no clock.
// For shared_limiter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "flow/limit.h"

namespace penstock::redis {

class Permits {
 public:
  /// Flights that begin without Redis, from `now` on, may go on for as long as if it had granted them then. Both totals
  /// begin at `first`.
  explicit Permits(flow::Time lease, flow::Time now = 0, std::int64_t first = 0)
      : lease_(lease), next_lease_(lease), granted_(first), returned_(first), renewed_(now) {}

  /// Permits that are held but neither in use nor claimed by an ask under way.
  std::int64_t spare() const { return std::max<std::int64_t>(0, granted_ - returned_ - in_use_ - claimed_); }
  std::int64_t in_use() const { return in_use_; }
  std::int64_t held() const { return granted_ - returned_; }

  struct Telling {
    std::int64_t spare = 0;     ///< spare permits that an ask has claimed
    std::int64_t besides = 0;   ///< permits that other lanes wait for
    flow::Time round_trip = 0;  ///< to Redis
    std::int64_t alone = 0;     ///< how many were left to this process when its lease had run out
    flow::Time away = 0;        ///< for how long it had no answer, if it was cut off
    std::int64_t sent = 0;      ///< now, on Redis' clock; 0: not known
  };
  /// What a script is told: "returned:claimed:spare:others:trip:alone:away", and ":sent" if that is known; `claimed`
  /// are all permits held. See semaphore.lua.
  std::string told(const Telling& telling) const {
    std::string words = std::to_string(returned_);
    for (const std::int64_t number :
         {held(), telling.spare, telling.besides, telling.round_trip, telling.alone, telling.away}) {
      words += ':' + std::to_string(number);
    }
    if (telling.sent > 0) words += ':' + std::to_string(telling.sent);
    return words;
  }

  /// An ask claims all spare permits; unclaim() frees them when it is answered or fails.
  std::int64_t claim() {
    const std::int64_t mine = spare();
    claimed_ += mine;
    return mine;
  }
  void unclaim(std::int64_t count) { claimed_ -= count; }

  /// Redis told how many it has ever granted.
  void granted(std::int64_t total) { granted_ = std::max(granted_, total); }
  /// `sent` is when a call told what is held: the kernel has it only at the end of the iteration, and what happens
  /// until then it does not tell. A call sent at `sent` has renewed the lease; its answer came at `now`. Of the permits
  /// told in it, `lost` belong to others. A call that was sent before the last loss was known reports the same loss,
  /// which counts once.
  void renewed(flow::Time sent, flow::Time now, std::int64_t lost) {
    renewed_ = std::max(renewed_, sent);
    if (sent > changed_) lease_ = next_lease_;
    if (lost == 0 || !sent_after_loss(sent)) return;
    lost_at_ = now;
    granted_ = std::max(returned_, granted_ - lost);
  }

  /// A call sent at `sent` told what is held since the last known loss, so the loss in its answer counts.
  bool sent_after_loss(flow::Time sent) const { return sent > lost_at_; }

  void use(std::int64_t count) { in_use_ += count; }
  /// For flights that began without Redis: it will hear of them as if it had granted them.
  void use_ungranted(std::int64_t count) {
    in_use_ += count;
    granted_ = std::max(granted_, returned_ + in_use_);
  }
  /// A flight ended, or will not take place. A flight in excess had no permit, so nothing is freed; otherwise its
  /// permit is returned, or spare with `keep`.
  void ended(bool keep = false) {
    --in_use_;
    if (!keep && held() > in_use_ + claimed_) ++returned_;
  }
  /// Returns spare permits to Redis until only `but` are held, those in use included. Gives how many it returned.
  std::int64_t return_spare(std::int64_t but = 0) {
    const std::int64_t count = std::min(spare(), std::max<std::int64_t>(0, held() - but));
    returned_ += count;
    return count;
  }
  /// The semaphore no longer exists: flights need none of its permits.
  void retire() { in_use_ = 0; }
  /// Returns everything, and all that may be granted until Redis has heard it, up to this total: the answers to calls
  /// under way are void.
  void return_all(std::int64_t total) {
    in_use_ = claimed_ = 0;
    returned_ = granted_ = std::max(granted_, total);
  }
  /// Calls from `now` on tell Redis another lease. Until one is answered, the lease that ends sooner counts.
  void change_lease(flow::Time lease, flow::Time now) { next_lease_ = lease, changed_ = now; }

  /// How many flights must be cut, since more permits are in use than are held.
  std::int64_t excess() const { return std::max<std::int64_t>(0, in_use_ - held()); }
  /// From this moment on others may be granted what this process thinks it holds.
  flow::Time fence() const { return part_of_lease(2); }
  flow::Time renew_at() const { return part_of_lease(6); }
  flow::Time renewed_at() const { return renewed_; }
  /// Nothing is held or claimed, and has not been for two leases. If Redis was told, counting may start anew.
  bool forgettable(flow::Time now) const {
    return in_use_ == 0 && claimed_ == 0 && granted_ == returned_ && now > renewed_ + 2 * std::max(lease_, next_lease_);
  }

 private:
  flow::Time part_of_lease(flow::Time part) const {
    const flow::Time end = renewed_ + lease_ / part;
    return next_lease_ == lease_ ? end : std::min(end, changed_ + next_lease_ / part);
  }

  flow::Time lease_;
  flow::Time next_lease_;
  flow::Time changed_ = 0;
  std::int64_t granted_, returned_;
  std::int64_t in_use_ = 0;
  std::int64_t claimed_ = 0;  // spare ones claimed by asks under way
  flow::Time renewed_;
  flow::Time lost_at_ = 0;
};

}  // namespace penstock::redis
