// SPDX-License-Identifier: Apache-2.0
// Judges that each process uses its part while it is without Redis (`share`).
#include <algorithm>
#include <cmath>
#include <limits>

#include "flow/limiter.h"
#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

/// The units that one of `among` processes may count on in a stretch of that length, by its part of the limit. Parts
/// are rounded down; which steps fall into the stretch is not known.
double part_of(const LimitConfig& limit, double among, Time length) {
  const auto flows = [&] { return rate_of(limit) / among * static_cast<double>(length) / 1e6; };
  const Time step = step_of(limit);
  if (step == 0) return flows();
  const double each =
      kind_of(limit) == LimitKind::token_bucket ? rate_of(limit) * static_cast<double>(step) / 1e6 : size_of(limit);
  const auto steps = static_cast<double>(length / (step + 4 * static_cast<Time>(flow::kGuard)) - 1);
  return std::floor(each / among) * std::max(0.0, steps);
}

bool disturbed_by_another(const Reading& reading, const Fault& which, Span stretch) {
  return std::ranges::any_of(reading.journal().faults, [&](const Fault& fault) {
    return &fault != &which && fault.at <= stretch.until &&
           end_of(fault, reading.journal().ended) + settles_after(reading.plan(), fault) >= stretch.from;
  });
}

/// When the process was with Redis again, at most `until`. A fault can last longer: of a node that stalls, a replica
/// takes the place before it goes on; a connection that is lost is made again.
Time with_redis_again(const Reading& reading, int member, Span without) {
  for (const Standing& standing : reading.journal().standings) {
    const bool back = standing.up && standing.member == member;
    if (back && standing.at > without.from) return std::min(without.until, standing.at);
  }
  return without.until;
}

void judge_part(const Reading& reading, int member, double least, Span stretch, Judgement& judgement) {
  const Member& one = reading.plan().members[static_cast<std::size_t>(member)];
  if (one.joins > stretch.from || (one.ends > 0 && one.ends <= stretch.until)) return;
  if (!around(reading.wanting()[static_cast<std::size_t>(member)], stretch.from, stretch.until)) return;
  double sent = 0;
  for (const Left& left : reading.left()) {
    const bool own = reading.journal().requests[left.id].member == member;
    if (own && left.at > stretch.from && left.at <= stretch.until) sent += left.units;
  }
  if (sent >= least) return;
  breaks(judgement, "parts",
         said("process %d sent %.0f units in %.3f s from %s on, without Redis; %.1f are its part", member, sent,
              static_cast<double>(stretch.length()) / 1e6, moment(stretch.from).c_str(), least),
         sent / least);
}

/// Processes wait for a slot that moves before they go by their parts: recovery.cc, kSlotMovesWithin.
constexpr Time kWaitsForSlot = 1'000'000;

/// Judged from the next step on: in the step that was open, the process may have had its part already.
void judge_outage(const Reading& reading, const Fault& fault, double use, Judgement& judgement) {
  const LimitConfig& limit = reading.plan().limits.front();
  const Time timeout = reading.plan().redis_timeout.count();
  const Time waits = fault.kind == Fault::Kind::slot_moves ? kWaitsForSlot : 0;
  const Span without{fault.at, end_of(fault, reading.journal().ended)};
  const auto members = static_cast<double>(reading.plan().members.size());
  for (int i = 0; i < static_cast<int>(members); ++i) {
    if (fault.member >= 0 && fault.member != i) continue;
    const Span stretch{fault.at + waits + timeout + flow::kHorizon + step_of(limit),
                       with_redis_again(reading, i, without) - flow::kHorizon};
    if (stretch.length() <= 0 || stretch.until > reading.journal().ended) continue;
    if (disturbed_by_another(reading, fault, stretch)) continue;
    const double part = part_of(limit, std::max<double>(members, reading.plan().processes), stretch.length());
    const double least = use * part - reading.heaviest() - 1;
    if (least > 0) judge_part(reading, i, least, stretch, judgement);
  }
}

}  // namespace

void judge_parts(const Reading& reading, Judgement& judgement) {
  if (reading.has_routes()) return;
  const Plan& plan = reading.plan();
  const auto use = least_use_without_redis(plan.when_down);
  if (!use || *use == 0 || plan.limits.size() != 1) return;
  const LimitConfig& limit = plan.limits[0];
  const bool divided = limit.shared && !counts_flights(limit) && !of_group(limit);
  if (!divided || limit.mode == LimitConfig::Mode::refuse) return;
  for (const Fault& fault : reading.journal().faults) {
    if (is_outage(plan, fault)) judge_outage(reading, fault, *use, judgement);
  }
}

}  // namespace penstock::simulation
