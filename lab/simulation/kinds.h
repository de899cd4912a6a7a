// SPDX-License-Identifier: Apache-2.0
// What judges need to know of a limit of any kind: its long-term rate, its size, its step.
#pragma once

#include <cstddef>
#include <vector>

#include "penstock/limits.h"
#include "simulation/plan.h"

namespace penstock::simulation {

/// In the order of LimitConfig::Kind.
enum class LimitKind : std::size_t { pacer, window, sliding_window, token_bucket, semaphore, counter };

inline LimitKind kind_of(const LimitConfig& limit) { return static_cast<LimitKind>(limit.kind.index()); }
inline bool counts_flights(const LimitConfig& limit) { return kind_of(limit) == LimitKind::semaphore; }
inline bool of_group(const LimitConfig& limit) { return limit.per == LimitConfig::Per::group; }
inline bool of_route(const LimitConfig& limit) { return !limit.route.empty(); }

/// Units a second in the long run; infinite for a semaphore.
double rate_of(const LimitConfig& limit);
/// Units that may leave at once: the burst, the reservoir, the capacity.
double size_of(const LimitConfig& limit);
/// The distance of the moments at which something becomes free: an interval, a refill, a period. 0 for a pacer, which
/// has no steps.
Time step_of(const LimitConfig& limit);

/// The slowest of the limits' rates; infinite if there is none.
double slowest_rate(const std::vector<LimitConfig>& limits);
/// The longest step.
Time longest_step(const std::vector<LimitConfig>& limits);
/// How long a stretch must be for a difference of 1 % to mean anything: 2 s, and 20 steps or units.
Time telling_length(const std::vector<LimitConfig>& limits);

/// Units of one grant while `processes` want to send: what passes in a horizon ÷ their number, at least six, but no
/// more than passes in half a horizon and one, and never less than the heaviest request.
double grant(const std::vector<LimitConfig>& limits, int heaviest, std::size_t processes);

}  // namespace penstock::simulation
