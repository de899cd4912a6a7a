// SPDX-License-Identifier: Apache-2.0
// Judges what a request is told on arrival: the wait to expect, and that the wait would be too long.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "flow/limiter.h"
#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

/// 2 %, or one grant and a horizon; with mixed weights also a step, because how heavy requests fit into it is not
/// known.
Time tolerance(const Reading& reading, Time wait) {
  const double rate = slowest_rate(reading.plan().limits);
  const double one_grant = grant(reading.plan().limits, reading.heaviest(), reading.plan().members.size());
  const Time units = std::isfinite(rate) ? static_cast<Time>(one_grant * 1e6 / rate) : 0;
  const Time packing = reading.mixed_weights() ? longest_step(reading.plan().limits) : 0;
  return std::max(wait / 50, units + flow::kHorizon + packing);
}

/// When the process last heard from Redis which processes wait for the same limits, and how the limits stand: when it
/// last called.
Time last_asked(const Reading& reading, const Request& request) {
  const Time answered = request.arrived - reading.round_trip(request.member);
  Time last = -kDay;
  for (const Call& call : reading.journal().calls) {
    if (call.at > answered) break;
    if (call.member == request.member) last = call.at;
  }
  return last;
}

/// What each process sent between the request's arrival and its departure.
std::vector<double> sent_meanwhile(const Reading& reading, const Request& request) {
  std::vector<double> units(reading.plan().members.size());
  auto one = std::ranges::upper_bound(reading.left(), request.arrived, {}, &Left::at);
  for (; one != reading.left().end() && one->at <= request.departed; ++one)
    units[static_cast<std::size_t>(reading.journal().requests[one->id].member)] += one->units;
  return units;
}

/// No estimate can know that a request will leave the queue, when flights end, or what will yet come to other
/// processes. So each other process must have as much waiting as this one: it waited all the time, for so long before
/// that this process had heard of it, and got as much; or it sent nothing. Of a process that has no place in the line,
/// because a limit of its own holds it, others hear within half a second; and its place in the line may be a step old,
/// because processes tell of it only when they ask. A fault must be over for as long, too.
bool foreseeable(const Reading& reading, const Request& request, double one_grant) {
  const Time until = request.departed;
  const auto own = static_cast<std::size_t>(request.member);
  const Time since = last_asked(reading, request) - reading.longest_trip() - flow::kHorizon -
                     std::max(kSecond / 2, longest_step(reading.plan().limits));
  if (!reading.calm(since, until) || reading.was_full(request.member, request.arrived, until)) return false;
  if (around(reading.wanting()[own], request.arrived, until) == nullptr) return false;
  const std::vector<double> sent = sent_meanwhile(reading, request);
  const double as_much = sent[own] - std::max(2 * one_grant, sent[own] / 10);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (i == own || (sent[i] == 0 && !overlaps(reading.wanting()[i], request.arrived, until))) continue;
    if (sent[i] < as_much || !around(reading.wanting()[i], since, until)) return false;
  }
  return true;
}

bool somebody_gives_up(const Reading& reading) {
  return std::ranges::any_of(reading.journal().requests, [](const Request& request) {
    return request.departed == kNotYet && (request.end == Request::End::left || request.end == Request::End::killed);
  });
}

using Lane = std::vector<std::size_t>;

/// The departures of each lane, in order.
std::map<std::pair<int, int>, Lane> lanes_of(const Reading& reading) {
  std::map<std::pair<int, int>, Lane> lanes;
  for (const Left& one : reading.left()) {
    const Request& request = reading.journal().requests[one.id];
    lanes[{request.member, request.group}].push_back(one.id);
  }
  return lanes;
}

/// How far the told wait is outside of what the requests one grant before and one grant after it waited: in a window
/// that decides between this one and the next.
Time told_off(const Reading& reading, const Lane& lane, std::size_t place, std::size_t one_grant) {
  const auto& requests = reading.journal().requests;
  const Request& request = requests[lane[place]];
  const Time wait = request.departed - request.arrived, expected = request.arrived + request.told;
  const Time earliest = requests[lane[place - std::min(place, one_grant)]].departed;
  const Time latest = requests[lane[std::min(place + one_grant, lane.size() - 1)]].departed;
  // Waits told by flights alone are rounded up to seconds.
  if (request.told % kSecond == 0 && request.told >= wait && request.told - wait < kSecond) return 0;
  const Time off = std::max({Time{0}, earliest - expected, expected - latest});
  return off <= tolerance(reading, wait) ? 0 : off;
}

void judge_waits_told(const Reading& reading, Judgement& judgement) {
  const auto& requests = reading.journal().requests;
  const double one_grant = grant(reading.plan().limits, reading.heaviest(), reading.plan().members.size());
  std::size_t judged = 0, wrong = 0;
  Time worst = 0;
  std::string example;
  for (const auto& [whose, lane] : lanes_of(reading)) {
    for (std::size_t place = 0; place < lane.size(); ++place) {
      const Request& request = requests[lane[place]];
      if (request.told == kNotYet || !foreseeable(reading, request, one_grant)) continue;
      ++judged;
      const Time off = told_off(reading, lane, place, static_cast<std::size_t>(one_grant));
      wrong += off > 0 ? 1 : 0;
      if (off <= worst) continue;
      worst = off;
      example =
          said("at %s process %d said %.3f s, and it was %.3f s", moment(request.arrived).c_str(), request.member,
               static_cast<double>(request.told) / 1e6, static_cast<double>(request.departed - request.arrived) / 1e6);
    }
  }
  judgement.figures.told += judged;
  if (wrong * 100 <= judged) return;
  breaks(judgement, "told", said("%zu of %zu waits were told wrong: %s", wrong, judged, example.c_str()),
         static_cast<double>(wrong) / static_cast<double>(judged));
}

/// A request was refused for its wait, though a later one of the same lane, at least as heavy, left in time for it: the
/// refused request could have left then itself.
void judge_refusals(const Reading& reading, Judgement& judgement) {
  const auto& requests = reading.journal().requests;
  auto lanes = lanes_of(reading);
  for (std::size_t id = 0; id < requests.size(); ++id) {
    const Request& request = requests[id];
    const bool at_once = request.ended - request.arrived <= reading.plan().redis_timeout.count();
    if (request.end != Request::End::refused || request.refused != flow::Refused::wait_over || !at_once) continue;
    const Member& member = reading.plan().members[static_cast<std::size_t>(request.member)];
    Time patience = member.settings.max_wait;
    if (member.demand.max_wait > 0) patience = std::min(patience, member.demand.max_wait);
    const Time deadline = request.arrived + patience - tolerance(reading, patience);
    if (deadline <= request.ended || !reading.calm(request.arrived, deadline)) continue;
    // A lane's requests leave in the order in which they came.
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
  if (reading.has_routes()) return;
  if (somebody_gives_up(reading)) return;
  // When permits come back is not known.
  if (!reading.has(LimitKind::semaphore) && !reading.has_group_limits()) judge_waits_told(reading, judgement);
  judge_refusals(reading, judgement);
}

}  // namespace penstock::simulation
