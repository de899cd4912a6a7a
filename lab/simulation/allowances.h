// SPDX-License-Identifier: Apache-2.0
// By how much a limit may be exceeded through a fault: one table, by mode of `whenDown`, kind of fault and kind of
// limit. What it does not name allows nothing. docs/limits.md says the same in words.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "simulation/kinds.h"
#include "simulation/plan.h"

namespace penstock::simulation {

struct Allowance {
  bool anything = false;  ///< no limit holds meanwhile
  double whole = 0;       ///< so many times what may leave at once
  double part = 0;        ///< so many times the limit ÷ processes, in each interval or all the time
  double each = 0;        ///< so many of the heaviest requests, of each process but one
  double refills = 0;     ///< so many refills of a tokenBucket
  double units = 0;
  bool horizon = false;  ///< and what passes in 50 ms
  bool unheard = false;  ///< and of what others took since a process heard last, its part; of each process
};

/// From how long on a fault is one.
enum class Beyond {
  none,            ///< however short
  timeout,         ///< redis.timeout: what is shorter is only slow
  lease,           ///< a lease of the semaphore
  third_of_lease,  ///< likewise, of a clock's step forward
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

/// The table's answer; nothing: the fault excuses nothing.
const AllowanceRow* allowance_for(const Plan& plan, const Fault& fault, const LimitConfig& limit);

/// Whether Redis is away for one process or all by this fault, so that `whenDown` holds.
bool is_outage(const Plan& plan, const Fault& fault);
/// Whether a fault of that kind is one, if it lasts longer than redis.timeout.
bool may_be_outage(Fault::Kind kind);
bool loses_memory(Fault::Kind kind);
/// When it is over; `run_end` if it lasts to the end.
Time end_of(const Fault& fault, Time run_end);

/// Parts of those still away are kept for 3 s, and noticing takes one.
inline constexpr Time kSettles = 4 * kSecond;

/// How soon after a fault's end all of a limit is used again: so long after it, or, of permits, so much of a lease and
/// `besides` after it, whichever is later.
struct Settling {
  Time rates = 0;
  double leases = 0;
  Time besides = 0;
};
Settling settling_after(Fault::Kind kind);
/// Until then the use of limits is not judged by the rules for quiet times.
Time settles_after(const Plan& plan, const Fault& fault);
/// Of a fault by which only the way to Redis was lost, the whole limit is used so soon again.
inline constexpr Time kBackWithin = kSecond;

/// The least that a process uses while it is without Redis: so much of its part of a limit on the rate.
/// Nothing: whatever it wants.
std::optional<double> least_use_without_redis(WhenDown mode);

/// A time in which a limit may be exceeded, and by how much.
struct Excuse {
  Time from = 0, until = 0;
  bool anything = false;
  double units = 0;     ///< once
  double a_second = 0;  ///< besides, as long as it lasts
  double unheard = 0;   ///< so much of what others took before it began since a process heard last, of each process
};

/// All that a run's faults excuse of one limit. `heaviest` and `flight` are the run's heaviest request and its longest
/// flight: permits that are too many are held until flights end.
std::vector<Excuse> excuses_for(const Plan& plan, const std::vector<Fault>& faults, const LimitConfig& limit,
                                int heaviest, Time flight, Time run_end);

/// Whether requests in flight may be ended for want of a permit: their process could not renew for half a lease, or
/// `open` let go more than there are permits for.
bool may_cut(const Plan& plan, const Fault& fault, const LimitConfig& semaphore);

}  // namespace penstock::simulation
