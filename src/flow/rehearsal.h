// SPDX-License-Identifier: Apache-2.0
// When a request would depart that arrived now: a second scheduler plays what waits and flies on, over a copy of the
// limits, until that request leaves. So it is right for routes, groups, weights and slots, as far as what is to come is
// known: no other request arrives, flights last as long as the mean of the last minute, and other processes go on as
// Redis told last. Nothing is booked and nothing changes. Pure.
#pragma once

#include <cstddef>
#include <optional>

#include "flow/commands.h"
#include "flow/limit.h"
#include "flow/limiter.h"
#include "flow/scheduler.h"

namespace penstock::flow {

/// What is rehearsed at most; beyond it the answer is an estimate, as `Retry-After` is.
inline constexpr std::size_t kMostRehearsed = 2'000;       // requests, pending or in flight
inline constexpr std::size_t kMostRehearsedAsks = 10'000;  // of the limits

struct Outlook {
  std::optional<Time> leaves = {};      ///< its departure; nullopt: it is not known
  LimitIndex limited_by = kNoLimit;     ///< what it would wait for last; kNoLimit: nothing, or it is not known
  std::optional<Refused> refused = {};  ///< it would be refused at once, or when its wait is over
};

/// `arrival.weight` must be one that the limits admit. Its `max_wait` decides only whether it is refused.
Outlook rehearse(Time now, const Scheduler& scheduler, const Arrival& arrival);

}  // namespace penstock::flow
