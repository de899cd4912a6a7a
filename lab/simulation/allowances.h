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
bool loses_memory(Fault::Kind kind);
/// When it is over; `run_end` if it lasts to the end.
Time end_of(const Fault& fault, Time run_end);

/// A time in which a limit may be exceeded, and by how much.
struct Excuse {
  Time from = 0, until = 0;
  bool anything = false;
  double units = 0;     ///< once
  double a_second = 0;  ///< besides, as long as it lasts
};

/// All that a run's faults excuse of one limit. `heaviest` and `flight` are the run's heaviest request and its longest
/// flight: permits that are too many are held until flights end.
std::vector<Excuse> excuses_for(const Plan& plan, const std::vector<Fault>& faults, const LimitConfig& limit,
                                int heaviest, Time flight, Time run_end);

/// Whether requests in flight may be ended for want of a permit: their process could not renew for half a lease, or
/// `open` let go more than there are permits for.
bool may_cut(const Plan& plan, const Fault& fault, const LimitConfig& semaphore);

}  // namespace penstock::simulation
