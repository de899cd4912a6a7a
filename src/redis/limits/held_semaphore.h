// SPDX-License-Identifier: Apache-2.0
// What this process knows of one shared semaphore: the permits that it holds, the lanes that wait for some, and what
// Redis was told and has told. Pure. For permit_leases.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "flow/lane_key.h"
#include "flow/limiter.h"
#include "redis/limits/permits.h"

namespace penstock::redis {

/// Identifies a semaphore, as its script call does.
struct SemaphoreName {
  flow::LimitIndex limit = flow::kNoLimit;  ///< its number, see SemaphoreTable
  std::string group;                        ///< its hash; empty: not of a group
  bool operator==(const SemaphoreName&) const = default;
  auto operator<=>(const SemaphoreName&) const = default;
};

/// What a reply tells of one semaphore.
struct PermitReply {
  std::int64_t granted = 0;  ///< permits ever granted to this process
  std::int64_t lost = 0;     ///< of the permits that were told
  std::int64_t sharers = 0;  ///< processes that share the capacity; 0: no other waits
  std::int64_t look = 0;     ///< look again after so long (µs); 0: never, -1: some are kept for us now

  static constexpr std::size_t kNumbers = 4;
  /// Of the semaphore that stands at that place in the reply.
  static PermitReply of(const std::vector<std::int64_t>& permits, std::size_t which) {
    const std::int64_t* first = permits.data() + kNumbers * which;
    return {.granted = first[0], .lost = first[1], .sharers = first[2], .look = first[3]};
  }
  bool plausible() const;
};

/// Flights that may be in excess of the permits held, since they were in flight when the semaphore came to be.
class AdoptedFlights {
 public:
  void add(std::int64_t flights, flow::Time now) { tolerated_ += flights, at_ = now, registering_ = true; }
  /// Redis has answered to something told at `sent`, after the last loss that was known before. If it was told after
  /// the adoption, too, the answer says how many adopted flights have a permit; only the others stay tolerated.
  void answered(flow::Time sent, const Permits& permits) {
    if (!registering_ || sent <= at_) return;
    tolerated_ = std::min(tolerated_, permits.excess());
    registering_ = false;
  }
  void flight_ended(const Permits& permits) {
    tolerated_ = std::min(tolerated_, registering_ ? permits.in_use() : permits.excess());
  }
  void forget() { tolerated_ = 0; }
  /// Some were adopted after something was told at `sent`.
  bool since(flow::Time sent) const { return sent <= at_; }
  std::int64_t tolerated() const { return tolerated_; }
  /// Redis has not told yet how many have no permit.
  bool registering() const { return registering_; }

 private:
  std::int64_t tolerated_ = 0;
  flow::Time at_ = 0;
  bool registering_ = false;
};

/// Asks under way that told of a semaphore.
class AsksTold {
 public:
  void begin() { ++count_; }
  void end() {
    if (--count_ == 0) superseded_ = false;
  }
  bool any() const { return count_ > 0; }
  /// Something newer is sent to Redis while they are under way.
  void supersede() { superseded_ |= count_ > 0; }
  bool superseded() const { return superseded_; }

 private:
  std::size_t count_ = 0;
  bool superseded_ = false;
};

struct HeldSemaphore {
  /// Both totals of its permits begin at `first`.
  HeldSemaphore(flow::Time lease, flow::Time now, std::string_view its_group, std::int64_t first)
      : group(its_group), permits(lease, now, first) {}

  const std::string group;  ///< its name
  Permits permits;
  AdoptedFlights adopted;
  AsksTold asks;

  // Lanes that wait.
  std::map<flow::LaneName, std::size_t, flow::LaneOrder> awaited;  ///< permits waited for, by lane
  std::int64_t in_line = 0;                                        ///< permits waited for, as far as Redis knows
  bool called = false;                                             ///< permits are kept for this process

  // As Redis told.
  std::int64_t sharers = 0;           ///< 0: no other process waits
  flow::Time sharers_updated_at = 0;  ///< when a message last told `sharers`
  flow::Time raised = 0;              ///< when permits were last granted
  flow::Time look_at = 0;             ///< when to look for others' sake; 0: never
  flow::Time opens_at = 0;            ///< when a young generation grants; 0: it grants already
  flow::Time foreign_since = 0;       ///< since when its value is foreign; 0: it is not

  // What Redis is to be told.
  bool listed = false;     ///< it is seen to at the end of the iteration
  bool news = false;       ///< Redis is to be told then
  flow::Time seen_to = 0;  ///< when it last had news, or permits nothing used

  std::int64_t waiting() const;
  bool awaits(flow::LaneKey lane) const { return awaited.contains(lane); }
  std::int64_t to_cut(std::int64_t excess) const { return excess - adopted.tolerated(); }
  /// The remainder above the level goes round: no process has it for longer than a horizon.
  bool within_level(std::int64_t capacity, flow::Time now) const;
  void learn(const PermitReply& reply, flow::Time sent, flow::Time now);
  void met_foreign(flow::Time now) {
    if (foreign_since == 0) foreign_since = now;
  }
  void flight_ended(bool keep);
  void count_existing(std::size_t departures, flow::Time now);
  /// An ask that told of this semaphore at `sent` was granted departures.
  void took(std::size_t departures, flow::Time sent, flow::Time now);
  void ask_ended(std::int64_t claim);
  /// The semaphore is gone.
  void retire();
};

}  // namespace penstock::redis
