// SPDX-License-Identifier: Apache-2.0
// The judges of a run: pure functions of what was planned and what happened, as the upstream saw it. Each judge has a
// rule with a bound; a breach becomes a Verdict. What the judges measured is kept beside it, also where nothing was
// broken.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

#include "simulation/journal.h"
#include "simulation/plan.h"

namespace penstock::simulation {

class Reading;

/// What was measured over the run, for its line in the report. `least_use` and `least_permit_use` are fractions of what
/// was possible, `widest_shares` is the largest share ÷ the smallest.
struct Figures {
  double worst_excess = -std::numeric_limits<double>::infinity();  ///< units over what the limits allow; at most 0
  double least_use = std::numeric_limits<double>::infinity();
  double least_permit_use = std::numeric_limits<double>::infinity();
  double widest_shares = 0;
  double calls_a_request = 0;
  std::size_t stretches = 0;  ///< stretches whose use was judged: with 0 `least_use` says nothing
  std::size_t shares = 0;     ///< likewise, stretches whose shares were judged
  std::size_t told = 0;       ///< requests whose told wait was judged
};

struct Judgement {
  std::vector<Verdict> broken;  ///< in the order of the rules; at most kMostVerdicts for each rule
  Figures figures;
};

inline constexpr std::size_t kMostVerdicts = 10;

/// All judges, one after the other.
Judgement judge(const Plan& plan, const Journal& journal);

// Where some limits are of a route, use, room, shares, draining, parts and told waits are not judged: these do not know
// when a request of the route could have left. All others are.

/// No limit is exceeded, over any stretch of time: the lines "Keeps" of docs/limits.md, for the whole upstream, a route
/// or each group, and for each process where a limit is not shared. Times may be off by what two processes can differ
/// about Redis' clock. A fault allows more only as far as the table in allowances.cc says. Without faults, a
/// tokenBucket and a counter are also held to their steps from the first departure on.
void judge_keeps(const Reading& reading, Judgement& judgement);

/// What the limits allow is used. In a stretch without faults in which some process had a request waiting at every
/// moment, with a free slot and its group's consent, at least 99 % leaves of what one process alone would send under
/// the same limits from the same state, less one grant and one weight. Of permits at most 1 % of the time is lost, plus
/// two round trips for each permit that moves to another process.
void judge_use(const Reading& reading, Judgement& judgement);

/// At a run's end no request has been held for longer than two seconds by a window that has room.
void judge_room(const Reading& reading, Judgement& judgement);

/// Processes that want to send all the time get the same: each within 10 % of the mean, or within two weights or one
/// grant. Where all limits are semaphores, permits times time are compared.
void judge_shares(const Reading& reading, Judgement& judgement);

/// First come, first served in each lane of each process, be it of a group, of the route, or of both. Each request has
/// one outcome, and none waits beyond its deadline.
void judge_order(const Reading& reading, Judgement& judgement);

/// A queue drains. A server of 99 % of the limit's rate is given the same requests; each request is gone once that
/// server would be idle again, one interval, 50 ms and a second later at the latest.
void judge_draining(const Reading& reading, Judgement& judgement);

/// Redis is called no more often than published: less than once a request under load, and without a storm when it
/// returns.
void judge_calls(const Reading& reading, Judgement& judgement);

/// After a fault each process that can reach Redis is up within a second, and from then on the limit is used as before.
void judge_recovery(const Reading& reading, Judgement& judgement);

/// While a process is without Redis, `share` lets it use its part if it wants to send all the time, from the next
/// interval on.
void judge_parts(const Reading& reading, Judgement& judgement);

/// The wait that a request is told on arrival comes true for 99 of 100, within 2 % or one grant and 50 ms. No request
/// is refused on arrival for a wait that would have been short enough.
void judge_told(const Reading& reading, Judgement& judgement);

/// One process with Redis, and no other process beside it, does as it would without Redis: 99 of 100 requests leave
/// when they would then, give or take two round trips and a millisecond.
void judge_alone(const Reading& reading, Judgement& judgement);

/// No request waits longer than three times its fair wait, two rounds of grants, three of the longest steps, a horizon
/// and two trips.
void judge_waits(const Reading& reading, Judgement& judgement);

/// A process from which requests leave by `whenDown` says so: `degraded` is 1 then, and only then. By `wait` and
/// `refuse` nothing leaves then that a shared limit on the rate holds.
void judge_degraded(const Reading& reading, Judgement& judgement);

/// During a pause no request leaves from any process, from one horizon after the pause became known on.
void judge_pauses(const Reading& reading, Judgement& judgement);

/// No request in flight is cut for want of a permit, except by a fault that may do so.
void judge_cuts(const Reading& reading, Judgement& judgement);

/// While one process after the other switches to other pacers, processes with the new limits are not held up by those
/// with the former ones: 95 % of the new rate is used. Processes with the former limits go on at their own rate, if it
/// is the lower one: 80 % of it.
void judge_reloads(const Reading& reading, Judgement& judgement);

/// In a cluster, what happens to nodes that have not the upstream's slot does not keep it from Redis for a moment.
void judge_elsewhere(const Reading& reading, Judgement& judgement);

/// When all TTLs have passed nothing is left in Redis but the mark that this server once knew heads (`born`), and the
/// key under which labels are made (`labels`).
void judge_keys(const Reading& reading, Judgement& judgement);

}  // namespace penstock::simulation
