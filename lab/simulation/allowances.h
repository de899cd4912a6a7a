// SPDX-License-Identifier: Apache-2.0
// By how much a limit may be exceeded through a fault: one table, by mode of `whenDown`, kind of fault and kind of
// limit. What the table does not name allows nothing. docs/limits.md says the same in words.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "simulation/kinds.h"
#include "simulation/plan.h"

namespace penstock::simulation {

struct Allowance {
  bool anything = false;  ///< no limit holds during the fault
  double whole = 0;       ///< multiples of what may leave at once
  double part = 0;        ///< multiples of the limit ÷ processes, in each interval or continuously
  double each = 0;        ///< multiples of the heaviest request, for each process but one
  double refills = 0;     ///< refills of a tokenBucket
  double units = 0;
  bool horizon = false;  ///< plus what passes in 50 ms
  bool unheard = false;  ///< plus, for each process, its part of what others took since it last heard from Redis
};

/// How long a fault must last before a row applies.
enum class Beyond {
  none,            ///< any length
  timeout,         ///< redis.timeout: a shorter outage is only slowness
  lease,           ///< a lease of the semaphore
  third_of_lease,  ///< a third of a lease, for a step forward of a clock
};

struct AllowanceRow {
  std::vector<WhenDown> modes;  ///< empty: all
  std::vector<Fault::Kind> faults;
  std::vector<LimitKind> kinds;
  Beyond beyond;
  Allowance allowance;
  std::string_view why;
};

/// The first row that fits counts.
std::span<const AllowanceRow> allowance_table();

/// The row for this case; nullptr: the fault excuses nothing.
const AllowanceRow* allowance_for(const Plan& plan, const Fault& fault, const LimitConfig& limit);

/// Whether this fault takes Redis away from one process or all, so that `whenDown` applies.
bool is_outage(const Plan& plan, const Fault& fault);
/// Whether a fault of that kind is an outage if it lasts longer than redis.timeout.
bool may_be_outage(Fault::Kind kind);
bool loses_memory(Fault::Kind kind);
/// When the fault is over; `run_end` if it lasts to the end.
Time end_of(const Fault& fault, Time run_end);

/// Parts of absent processes are kept for 3 s, and noticing their absence takes 1 s.
inline constexpr Time kSettles = 4 * kSecond;

/// When, after a fault's end, the whole limit is used again: after `rates`; for permits, after `leases` leases plus
/// `besides`; whichever is later.
struct Settling {
  Time rates = 0;
  double leases = 0;
  Time besides = 0;
};
Settling settling_after(Fault::Kind kind);
/// Until then the use of limits is not judged by the rules for quiet times.
Time settles_after(const Plan& plan, const Fault& fault);
/// After a fault that only cut the way to Redis, the whole limit is used again within this time.
inline constexpr Time kBackWithin = kSecond;

/// The least that a process uses while it is without Redis, as a fraction of its part of a rate limit. nullopt: no
/// bound, it sends whatever it wants.
std::optional<double> least_use_without_redis(WhenDown mode);

/// A time in which a limit may be exceeded, and by how much.
struct Excuse {
  Time from = 0, until = 0;
  bool anything = false;
  double units = 0;     ///< once
  double a_second = 0;  ///< additionally, as long as it lasts
  double unheard = 0;   ///< for each process, this fraction of what others took from its last word until the begin
};

/// All excuses of a run's faults for one limit. `heaviest` and `flight` are the run's heaviest request and longest
/// flight: surplus permits are held until flights end.
std::vector<Excuse> excuses_for(const Plan& plan, const std::vector<Fault>& faults, const LimitConfig& limit,
                                int heaviest, Time flight, Time run_end);

/// Whether requests in flight may be cut for want of a permit: their process could not renew for half a lease, or
/// `open` let more leave than there are permits.
bool may_cut(const Plan& plan, const Fault& fault, const LimitConfig& semaphore);

}  // namespace penstock::simulation
