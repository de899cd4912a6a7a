// SPDX-License-Identifier: Apache-2.0
// The shared semaphores of one upstream, its own and those of its groups and routes, as lanes see them: what an ask
// tells and is granted, what starts without a call, and what a flight that ended leaves. A permit of a flight that
// landed goes to a waiting lane of this process while the process holds no more than the level, so most departures cost
// no call. For shared_limiter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flow/limiter.h"
#include "loop/loop.h"
#include "penstock/limits.h"
#include "redis/limits/permit_leases.h"

namespace penstock::redis {

class Semaphores {
 public:
  Semaphores(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::LimiterEvents& events,
             PermitLeases::KeyOf key_of, PermitLeases::Renew renew);

  PermitLeases& leases() { return leases_; }
  const SemaphoreTable& table() const { return leases_.table(); }
  bool any() const { return table().any(); }
  /// All limits are shared semaphores: a lane with a permit may leave.
  bool permits_only() const { return table().permits_only(); }

  // Asks.
  /// Whether the numbers of a reply are possible for an ask that told of so many semaphores.
  static bool plausible(const std::vector<std::int64_t>& permits, std::size_t semaphores);
  /// Spare permits that one ask has claimed, for each of its semaphores in order.
  struct Claim {
    PermitLeases::Entry* of;
    std::int64_t count;
    bool operator==(std::int64_t other) const { return count == other; }
  };
  using Claims = std::vector<Claim>;
  /// To be called when an ask is sent. Appends to `told` what the ask tells of each semaphore, in the order of the
  /// configuration.
  Claims claim(flow::LaneKey lane, std::vector<std::string>& told);
  /// The same for the upstream's own semaphores, without claiming any permits.
  void tell(std::vector<std::string>& told);
  /// The reply to what tell() told.
  void heard(const std::vector<std::int64_t>& permits, flow::Time sent);
  /// The reply to an ask: the numbers of each semaphore; how many departures it granted; and whether the lane now waits
  /// for `awaited` permits of semaphore `awaits`.
  void answered(flow::LaneKey lane, const Claims& claims, const std::vector<std::int64_t>& permits, flow::Time sent,
                std::size_t departures, flow::LimitIndex awaits, std::size_t awaited);
  /// An ask sent before the last change was granted so many departures: semaphores that it did not tell of adopt them.
  void adopt_unclaimed(flow::LaneKey lane, const Claims& claims, std::size_t departures);
  /// The ask failed or its reply came too late; `foreign`: it met a foreign value.
  void failed(flow::LaneKey lane, const Claims& claims, bool foreign = false);

  // Permits at hand.
  /// What they allow: how many departures, and which semaphore allows no more.
  struct AtHand {
    std::size_t count = 0;
    flow::LimitIndex by = flow::kNoLimit;  ///< its number, if there are fewer than were wanted
  };
  /// For a lane that wants so many departures and is held by no other limit. If the permits at hand are enough, or if
  /// the lane stands in line for the rest, they are used, and Redis need not be asked; otherwise nothing is done.
  std::optional<AtHand> take_at_hand(flow::LaneKey lane, std::size_t wanted);
  /// What the permits at hand allow while Redis is gone. The answer is final, since nothing else grants any;
  /// use_alone() takes them.
  AtHand at_hand_alone(flow::LaneKey lane, std::size_t wanted);
  /// Uses so many of these; `awaited` is how many permits of `awaits` the lane still waits for.
  void use_alone(flow::LaneKey lane, std::size_t departures, flow::LimitIndex awaits, std::size_t awaited);
  /// A lane waits for a permit of the semaphore with that number, or is refused for lack of one.
  void stop(flow::LimitIndex number, flow::Booking& booking) const;

  // Flights.
  /// So many departures were granted without Redis, whatever is held.
  void began_alone(flow::LaneKey lane, std::size_t departures);
  /// A flight ended, or a departure is not taken. True: its permits are at hand.
  bool ended(flow::LaneKey lane);
  /// The lane no longer waits for a permit.
  void gave_up(flow::LaneKey lane);
  /// So many departures of this lane were granted before. New semaphores register them in Redis as far as there is
  /// room; none is cut for lack of room.
  void count_existing(flow::LaneKey lane, std::size_t departures);

 private:
  using Entry = PermitLeases::Entry;
  using Row = SemaphoreTable::Row;

  void adopt(Entry& entry, std::size_t departures);
  std::int64_t spare_alone(const Entry& entry) const;
  bool keeps(const Entry& entry, const Row& row) const;

  const loop::Loop& loop_;
  PermitLeases leases_;
};

}  // namespace penstock::redis
