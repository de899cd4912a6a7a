// SPDX-License-Identifier: Apache-2.0
// What this process has of one semaphore in Redis. Both sides count what was ever granted and ever returned, and tell
// each other the totals: a message lost, late or heard twice changes nothing. Pure: no I/O, no clock. For redis_booker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "flow/limit.h"

namespace penstock::redis {

class Permits {
 public:
  /// What begins without Redis, from `now` on, may go on for as long as if it had been granted then.
  explicit Permits(flow::Time lease, flow::Time now = 0) : lease_(lease), next_lease_(lease), renewed_(now) {}

  /// Permits that nobody uses, and no ask under way has claimed.
  std::int64_t spare() const { return std::max<std::int64_t>(0, granted_ - returned_ - in_use_ - claimed_); }
  std::int64_t in_use() const { return in_use_; }
  std::int64_t held() const { return granted_ - returned_; }

  struct Telling {
    std::int64_t spare = 0;     ///< what an ask has claimed of the spare ones
    std::int64_t besides = 0;   ///< what other lanes wait for
    flow::Time round_trip = 0;  ///< to Redis
    std::int64_t alone = 0;     ///< so many were left to this process when it had to do without its lease
    flow::Time away = 0;        ///< it was cut off, and had no answer for so long
    std::int64_t sent = 0;      ///< on Redis' clock, now; 0: that is not known
  };
  /// What a script is told: "returned:claimed:spare:others:trip:alone:away", and ":sent" where that is known.
  std::string told(const Telling& telling) const {
    std::string words = std::to_string(returned_);
    for (const std::int64_t number :
         {held(), telling.spare, telling.besides, telling.round_trip, telling.alone, telling.away}) {
      words += ':' + std::to_string(number);
    }
    if (telling.sent > 0) words += ':' + std::to_string(telling.sent);
    return words;
  }

  /// An ask takes all spare ones with it; they are free again when it is answered, or fails.
  std::int64_t claim() {
    const std::int64_t mine = spare();
    claimed_ += mine;
    return mine;
  }
  void unclaim(std::int64_t count) { claimed_ -= count; }

  /// Redis told how many it ever granted.
  void granted(std::int64_t total) { granted_ = std::max(granted_, total); }
  /// A call that was sent at `sent` has renewed the lease, as is known at `now`. Of the permits told then, `lost` are
  /// another's; two calls under way together tell of the same ones.
  void renewed(flow::Time sent, flow::Time now, std::int64_t lost) {
    renewed_ = std::max(renewed_, sent);
    if (sent > changed_) lease_ = next_lease_;
    if (lost == 0 || sent <= lost_at_) return;
    lost_at_ = now;
    granted_ = std::max(returned_, granted_ - lost);
  }

  void use(std::int64_t count) { in_use_ += count; }
  /// Flights that began without Redis: it shall hear of them as if it had granted them.
  void use_ungranted(std::int64_t count) {
    in_use_ += count;
    granted_ = std::max(granted_, returned_ + in_use_);
  }
  /// A flight ended, or will not take place. One in excess had no permit: what is held is another's. The permit is
  /// returned, or spare.
  void ended(bool keep = false) {
    --in_use_;
    if (!keep && held() > in_use_ + claimed_) ++returned_;
  }
  /// All but so many that are held, in use ones among them. How many.
  std::int64_t return_spare(std::int64_t but = 0) {
    const std::int64_t count = std::min(spare(), std::max<std::int64_t>(0, held() - but));
    returned_ += count;
    return count;
  }
  /// There is no such semaphore any more: whatever flies needs none of its permits.
  void retire() { in_use_ = 0; }
  /// Nothing more will come: asks under way are void. False: there was nothing to return.
  bool return_all() {
    in_use_ = claimed_ = 0;
    return std::exchange(returned_, granted_) != granted_;
  }
  /// Calls from `now` on tell of another lease. Until one is answered, whichever ends sooner counts.
  void change_lease(flow::Time lease, flow::Time now) { next_lease_ = lease, changed_ = now; }

  /// More are in use than were granted: so many flights must be cut.
  std::int64_t excess() const { return std::max<std::int64_t>(0, in_use_ - held()); }
  /// From this moment on others may be granted what this process thinks it holds.
  flow::Time fence() const { return part_of_lease(2); }
  flow::Time renew_at() const { return part_of_lease(6); }
  flow::Time renewed_at() const { return renewed_; }
  /// Nothing is held or claimed, and has not been for long: if Redis was told so, it may count from 0 again.
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
  std::int64_t granted_ = 0, returned_ = 0;
  std::int64_t in_use_ = 0;
  std::int64_t claimed_ = 0;  // of the spare ones, by asks under way
  flow::Time renewed_;
  flow::Time lost_at_ = 0;
};

}  // namespace penstock::redis
