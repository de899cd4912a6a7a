// SPDX-License-Identifier: Apache-2.0
// Judges what newcomers are told: the wait to expect, and that it would be too long.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "flow/booker.h"
#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

/// Within 2 %, or one grant and a horizon; how heavy requests fit into a step nobody knows.
Time tolerance(const Reading& reading, Time wait) {
  const double rate = slowest_rate(reading.plan().limits);
  const double one_grant = grant(reading.plan().limits, reading.heaviest(), reading.plan().members.size());
  const Time units = std::isfinite(rate) ? static_cast<Time>(one_grant * 1e6 / rate) : 0;
  const Time packing = reading.mixed_weights() ? longest_step(reading.plan().limits) : 0;
  return std::max(wait / 50, units + flow::kHorizon + packing);
}

/// No estimate can know that somebody will leave the queue, that another process will begin or cease to want, or when
/// flights end.
bool foreseeable(const Reading& reading, const Request& request) {
  const Time until = request.departed;
  if (!reading.calm(request.arrived, until) || reading.was_full(request.member, request.arrived, until)) return false;
  if (around(reading.wanting()[static_cast<std::size_t>(request.member)], request.arrived, until) == nullptr)
    return false;
  return std::ranges::all_of(reading.wanting(), [&](auto& spans) {
    return !overlaps(spans, request.arrived, until) || around(spans, request.arrived, until);
  });
}

bool somebody_gives_up(const Reading& reading) {
  return std::ranges::any_of(reading.journal().requests, [](const Request& request) {
    return request.departed == kNotYet && (request.end == Request::End::left || request.end == Request::End::killed);
  });
}

void judge_waits_told(const Reading& reading, Judgement& judgement) {
  std::size_t judged = 0, wrong = 0;
  Time worst = 0;
  std::string example;
  for (const Request& request : reading.journal().requests) {
    if (request.told == kNotYet || request.departed == kNotYet || !foreseeable(reading, request)) continue;
    ++judged;
    const Time wait = request.departed - request.arrived, off = std::abs(request.told - wait);
    // What is told by flights alone is rounded up to seconds.
    const bool whole = request.told % kSecond == 0 && request.told >= wait && off < kSecond;
    if (whole || off <= tolerance(reading, wait)) continue;
    ++wrong;
    if (off <= worst) continue;
    worst = off;
    example = said("at %s process %d said %.3f s, and it was %.3f s", moment(request.arrived).c_str(), request.member,
                   static_cast<double>(request.told) / 1e6, static_cast<double>(wait) / 1e6);
  }
  judgement.figures.told += judged;
  if (wrong * 100 <= judged) return;
  breaks(judgement, "told", said("%zu of %zu waits were told wrong: %s", wrong, judged, example.c_str()),
         static_cast<double>(wrong) / static_cast<double>(judged));
}

/// Whoever was refused for the wait, and behind whom somebody came later in the same lane, as heavy, and left in time
/// for the one refused, could have left then itself.
void judge_refusals(const Reading& reading, Judgement& judgement) {
  const auto& requests = reading.journal().requests;
  std::map<std::pair<int, int>, std::vector<std::size_t>> lanes;
  for (const Left& one : reading.left()) {
    const Request& request = requests[one.id];
    lanes[{request.member, request.group}].push_back(one.id);
  }
  for (std::size_t id = 0; id < requests.size(); ++id) {
    const Request& request = requests[id];
    const bool at_once = request.ended - request.arrived <= reading.plan().redis_timeout.count();
    if (request.end != Request::End::refused || request.refused != flow::Refused::wait_over || !at_once) continue;
    const Member& member = reading.plan().members[static_cast<std::size_t>(request.member)];
    Time patience = member.settings.max_wait;
    if (member.demand.max_wait > 0) patience = std::min(patience, member.demand.max_wait);
    const Time deadline = request.arrived + patience - tolerance(reading, patience);
    if (deadline <= request.ended || !reading.calm(request.arrived, deadline)) continue;
    // They leave in the order in which they came.
    const auto& lane = lanes[{request.member, request.group}];
    auto later =
        std::ranges::upper_bound(lane, request.ended, {}, [&](std::size_t other) { return requests[other].departed; });
    for (; later != lane.end() && requests[*later].departed <= deadline; ++later) {
      const Request& other = requests[*later];
      if (other.arrived <= request.ended || other.weight < request.weight) continue;
      breaks(judgement, "told",
             said("request %zu was refused at %s for a wait over %.3f s; %zu came later and left %.3f s after it", id,
                  moment(request.ended).c_str(), static_cast<double>(patience) / 1e6, *later,
                  static_cast<double>(other.departed - request.arrived) / 1e6),
             1);
      break;
    }
  }
}

}  // namespace

void judge_told(const Reading& reading, Judgement& judgement) {
  if (somebody_gives_up(reading)) return;
  // Of permits nobody knows when they come back.
  if (!reading.has(LimitKind::semaphore) && !reading.has_group_limits()) judge_waits_told(reading, judgement);
  judge_refusals(reading, judgement);
}

}  // namespace penstock::simulation
