// SPDX-License-Identifier: Apache-2.0
// What several judges need to know of a run, derived from its plan and journal once: who left when, when nothing was
// wrong, and when each process wanted to send and could have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "simulation/allowances.h"
#include "simulation/journal.h"
#include "simulation/judges.h"
#include "simulation/kinds.h"
#include "simulation/plan.h"

namespace penstock::simulation {

struct Span {
  Time from = 0, until = 0;
  Time length() const { return until - from; }
};

/// A request that left, as limits count it.
struct Left {
  Time at = 0;
  int units = 1;
  std::size_t id = 0;
};

class Reading {
 public:
  /// Both must outlive it.
  Reading(const Plan& plan, const Journal& journal);

  const Plan& plan() const { return plan_; }
  const Journal& journal() const { return journal_; }

  /// All that left, by time; and when they did.
  const std::vector<Left>& left() const { return left_; }
  /// Units that left after `from`, at `until` at the latest.
  double units(Time from, Time until) const;

  int heaviest() const { return heaviest_; }
  bool mixed_weights() const { return mixed_weights_; }
  Time longest_flight() const { return longest_flight_; }
  /// A trip to Redis and back of that process, and the longest of all, with jitter.
  Time round_trip(int member) const;
  Time longest_trip() const;
  /// When a request can have been granted anything: a trip after it came, or after its process first reached Redis.
  /// Until then, for as long as connecting takes, the process waits.
  Time first_answer(const Request& request) const {
    return std::max(request.arrived, reached_[static_cast<std::size_t>(request.member)]) + round_trip(request.member);
  }
  /// By how much the departures of two processes can be off, taken together: each knows Redis' clock no better than by
  /// half of how its two ways differ, and a tenth of a millisecond.
  Time clock_error() const { return clock_error_; }
  /// How long an answer of Redis takes to the farthest process, at most: a departure that is granted for the moment of
  /// its ask leaves so much later.
  Time way_back() const { return way_back_; }
  /// By how much the quickest clock is too quick: a part.
  double drift() const { return drift_; }

  bool has(LimitKind kind) const;
  bool has_group_limits() const;
  bool has_refusing_limits() const;
  /// All are kept by all processes together.
  bool all_shared() const;
  /// Those on the rate, without semaphores; of the whole upstream, or of groups.
  std::vector<LimitConfig> rate_limits(LimitConfig::Per per) const;

  /// Nothing was wrong, and who shares did not change.
  bool calm(Time from, Time until) const;
  const std::vector<Span>& disturbed() const { return disturbed_; }

  /// When each process wanted: at least one of its requests waited, for a round trip at least, while a slot was free,
  /// its group's own limits would have let it go, and a permit was free. Spans of half a second or more.
  const std::vector<std::vector<Span>>& wanting() const { return wanting_; }
  /// When each process had as many in flight as it has slots.
  const std::vector<std::vector<Span>>& full() const { return full_; }
  bool was_full(int member, Time from, Time until) const;

  /// Microseconds since 1970 on Redis' clock.
  std::int64_t wall(Time at) const;

 private:
  void read_requests();
  void read_members();
  void read_disturbances();

  const Plan& plan_;
  const Journal& journal_;
  std::vector<Left> left_;
  std::vector<double> units_before_;  // of each in left_
  int heaviest_ = 1;
  bool mixed_weights_ = false;
  Time longest_flight_ = 0;
  Time clock_error_ = 0, way_back_ = 0;
  double drift_ = 0;
  std::vector<Time> reached_;  // when each process reached Redis first; 0: never
  std::vector<Span> disturbed_;
  std::vector<std::vector<Span>> wanting_, full_;
};

/// Whether any of these overlaps that time; they are ascending and disjoint.
bool overlaps(const std::vector<Span>& spans, Time from, Time until);
/// One that contains all of that time, or none.
const Span* around(const std::vector<Span>& spans, Time from, Time until);

/// A moment as people read it: `12.345678 s`.
std::string moment(Time at);
std::string said(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// `pacer`, or `pacer 'name'`.
std::string called(const LimitConfig& limit);
/// Adds one, unless that rule has enough already.
void breaks(Judgement& judgement, const char* rule, std::string detail, double figure);

}  // namespace penstock::simulation
