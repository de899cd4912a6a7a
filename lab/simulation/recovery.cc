// SPDX-License-Identifier: Apache-2.0
// Judges how a fleet comes back after a fault.
#include <algorithm>
#include <vector>

#include "flow/limiter.h"
#include "simulation/reading.h"
#include "simulation/use.h"

namespace penstock::simulation {

namespace {

/// A dial takes 0.4 s at most and a greeting half a second; a few trips besides.
Time up_after(const Reading& reading, int member) { return kBackWithin + 4 * reading.round_trip(member); }

bool runs(const Reading& reading, int member, Time from, Time until) {
  const Member& one = reading.plan().members[static_cast<std::size_t>(member)];
  if (one.joins > from || (one.ends > 0 && one.ends <= until)) return false;
  return std::ranges::none_of(reading.journal().faults, [&](const Fault& fault) {
    return fault.kind == Fault::Kind::killed && fault.member == member && fault.at <= until;
  });
}

/// No other fault keeps that process from Redis, or from running, in that time.
bool undisturbed(const Reading& reading, const Fault& which, int member, Time from, Time until) {
  return std::ranges::none_of(reading.journal().faults, [&](const Fault& fault) {
    const bool concerns = fault.member < 0 || fault.member == member;
    const bool hinders = is_outage(reading.plan(), fault) || loses_memory(fault.kind) ||
                         fault.kind == Fault::Kind::frozen || fault.kind == Fault::Kind::clock_steps;
    const bool meanwhile = fault.at <= until && end_of(fault, reading.journal().ended) >= from;
    return &fault != &which && concerns && hinders && meanwhile;
  });
}

/// The last known state of that process at that time.
const Standing* standing_at(const Reading& reading, int member, Time at) {
  const Standing* last = nullptr;
  for (const Standing& standing : reading.journal().standings) {
    if (standing.member == member && standing.at <= at) last = &standing;
  }
  return last;
}

void judge_up(const Reading& reading, const Fault& fault, Time end, Judgement& judgement) {
  for (std::size_t i = 0; i < reading.plan().members.size(); ++i) {
    const int member = static_cast<int>(i);
    const Time by = end + up_after(reading, member);
    const bool too_far = reading.round_trip(member) >= reading.plan().redis_timeout.count();
    if (too_far || by > reading.journal().ended || !runs(reading, member, end, by)) continue;
    if (!undisturbed(reading, fault, member, end, by)) continue;
    const Standing* standing = standing_at(reading, member, by);
    if (standing && standing->up) continue;
    breaks(judgement, "recovery",
           said("process %d is not up at %s, though it could reach Redis since %s", member, moment(by).c_str(),
                moment(end).c_str()),
           1);
  }
}

/// After a fault that lost no memory, the whole limit is used again when all processes are up: no process is away any
/// more for which a part would be kept.
void judge_use_at_once(const Reading& reading, const Fault& fault, Time end, Judgement& judgement) {
  const auto wide = reading.rate_limits(LimitConfig::Per::upstream);
  if (wide.empty() || !reading.all_shared() || reading.has_refusing_limits() || reading.has_routes()) return;
  if (loses_memory(fault.kind)) return;
  const Time begin = end + kBackWithin + 4 * reading.longest_trip();
  const Span stretch{begin, begin + telling_length(wide)};
  if (stretch.until > reading.journal().ended) return;
  for (std::size_t i = 0; i < reading.plan().members.size(); ++i) {
    const int member = static_cast<int>(i);
    if (!runs(reading, member, fault.at, stretch.until)) return;
    if (!undisturbed(reading, fault, member, fault.at, stretch.until)) return;
  }
  const auto wants = [&](auto& spans) { return around(spans, stretch.from, stretch.until) != nullptr; };
  if (std::ranges::none_of(reading.wanting(), wants)) return;
  const Use use = use_of(reading, wide, reading.left(), stretch);
  if (use.missing <= 0) return;
  breaks(judgement, "recovery",
         said("%.0f of %.0f possible units in %.3f s from %s on, when all were back; %.1f too few", use.sent,
              use.possible, static_cast<double>(stretch.length()) / 1e6, moment(stretch.from).c_str(), use.missing),
         use.sent / use.possible);
}

}  // namespace

void judge_recovery(const Reading& reading, Judgement& judgement) {
  for (const Fault& fault : reading.journal().faults) {
    if (!is_outage(reading.plan(), fault)) continue;
    const Time end = end_of(fault, reading.journal().ended);
    if (end >= reading.journal().ended) continue;
    judge_up(reading, fault, end, judgement);
    judge_use_at_once(reading, fault, end, judgement);
  }
}

}  // namespace penstock::simulation
