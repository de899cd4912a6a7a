// SPDX-License-Identifier: Apache-2.0
// What several judges need to know of a run, derived once from its plan and journal: which requests left when, when
// nothing was wrong, and when each process wanted to send and could have.
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

/// A departure, as limits count it.
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

  /// All departures, ascending.
  const std::vector<Left>& left() const { return left_; }
  /// Units that left after `from`, and at `until` at the latest.
  double units(Time from, Time until) const;

  int heaviest() const { return heaviest_; }
  bool mixed_weights() const { return mixed_weights_; }
  Time longest_flight() const { return longest_flight_; }
  /// A round trip to Redis of that process, and the longest of all, with jitter.
  Time round_trip(int member) const;
  Time longest_trip() const;
  /// The earliest time at which a request can have been granted anything: a round trip after it arrived, or after its
  /// process first reached Redis. Until then the process waits, for as long as connecting takes.
  Time first_answer(const Request& request) const {
    return std::max(request.arrived, reached_[static_cast<std::size_t>(request.member)]) + round_trip(request.member);
  }
  /// By how much the departures of two processes can be off against each other: each process knows Redis' clock only to
  /// half of how its two directions differ, and a tenth of a millisecond.
  Time clock_error() const { return clock_error_; }
  /// The longest time that an answer of Redis takes to the farthest process: a departure that is granted for the moment
  /// of its ask leaves that much later.
  Time way_back() const { return way_back_; }
  /// How much the fastest clock is too fast, as a fraction.
  double drift() const { return drift_; }

  bool has(LimitKind kind) const;
  bool has_group_limits() const;
  bool has_routes() const;  ///< some limits are of a route
  bool has_refusing_limits() const;
  /// All limits are shared by all processes.
  bool all_shared() const;
  /// The limits on the rate, without semaphores, that are of the whole upstream, or of groups.
  std::vector<LimitConfig> rate_limits(LimitConfig::Per per) const;

  /// Nothing was wrong, and the set of processes that share did not change.
  bool calm(Time from, Time until) const;
  const std::vector<Span>& disturbed() const { return disturbed_; }

  /// When each process wanted to send: at least one of its requests had waited for a round trip or longer, a slot was
  /// free, the limits of the request's group would have let it go, and a permit was free. Spans of half a second or
  /// more.
  const std::vector<std::vector<Span>>& wanting() const { return wanting_; }
  /// When each process had all its slots in use.
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
  std::vector<double> units_before_;  // for each entry of left_
  int heaviest_ = 1;
  bool mixed_weights_ = false;
  Time longest_flight_ = 0;
  Time clock_error_ = 0, way_back_ = 0;
  double drift_ = 0;
  std::vector<Time> reached_;  // when each process first reached Redis; 0: never
  std::vector<Span> disturbed_;
  std::vector<std::vector<Span>> wanting_, full_;
};

/// Whether any span overlaps that time; the spans are ascending and disjoint.
bool overlaps(const std::vector<Span>& spans, Time from, Time until);
/// The span that contains all of that time; nullptr: none does.
const Span* around(const std::vector<Span>& spans, Time from, Time until);

/// A moment in readable form: `12.345678 s`.
std::string moment(Time at);
std::string said(const char* format, ...) __attribute__((format(printf, 1, 2)));
/// `pacer`, or `pacer 'name'`.
std::string called(const LimitConfig& limit);
/// Adds a verdict, unless that rule has enough already.
void breaks(Judgement& judgement, const char* rule, std::string detail, double figure);

}  // namespace penstock::simulation
