// SPDX-License-Identifier: Apache-2.0
// Judges the order in lanes, outcomes, and deadlines.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

using End = Request::End;

/// How a request contradicts itself; empty: it does not.
const char* contradiction(const Request& request, Time run_end) {
  const bool left = request.departed != kNotYet, ended = request.ended != kNotYet;
  if (ended != (request.end != End::none)) return "an end without an outcome, or an outcome without an end";
  if (left && request.departed < request.arrived) return "left before it arrived";
  if (ended && request.ended < (left ? request.departed : request.arrived)) return "ended before it began";
  if (std::max({request.arrived, request.departed, request.ended}) > run_end) return "lies behind the end of the run";
  if (request.end == End::refused && left) return "refused, and left all the same";
  if ((request.end == End::served || request.end == End::cut) && !left) return "served or cut, and never left";
  return "";
}

/// How long the request may wait, by its process' own clock, which may drift, and stands still while the process is
/// frozen. A request that may not wait is given the time that Redis needs to answer.
Time patience(const Reading& reading, const Request& request) {
  const Plan& plan = reading.plan();
  const Member& member = plan.members[static_cast<std::size_t>(request.member)];
  Time patience = member.settings.max_wait;
  if (member.demand.max_wait > 0) patience = std::min(patience, member.demand.max_wait);
  patience = std::max<Time>(patience, plan.redis_timeout.count());
  for (const Fault& fault : reading.journal().faults) {
    const bool frozen = fault.kind == Fault::Kind::frozen && fault.member == request.member;
    if (frozen && fault.at + fault.lasts >= request.arrived) patience += fault.lasts;
  }
  return patience + kMillisecond + static_cast<Time>(std::ceil(static_cast<double>(patience) * 2 * reading.drift()));
}

void judge_outcome(const Reading& reading, std::size_t id, Judgement& judgement) {
  const Request& request = reading.journal().requests[id];
  const std::string wrong = contradiction(request, reading.journal().ended);
  if (!wrong.empty()) breaks(judgement, "order", said("request %zu: %s", id, wrong.c_str()), 1);
  const Time ended = request.ended == kNotYet ? reading.journal().ended : request.ended;
  const Time gone = request.departed == kNotYet ? ended : request.departed;
  if (request.end == End::killed && request.departed == kNotYet) return;
  const Time over = gone - request.arrived - patience(reading, request);
  if (over <= 0) return;
  breaks(judgement, "order",
         said("request %zu of process %d waited from %s on, %lld us beyond its deadline", id, request.member,
              moment(request.arrived).c_str(), static_cast<long long>(over)),
         static_cast<double>(over) / 1e6);
}

/// Each request that left is named once, when it left.
void judge_departures(const Reading& reading, Judgement& judgement) {
  const Journal& journal = reading.journal();
  std::vector<int> named(journal.requests.size());
  Time before = 0;
  for (const std::uint64_t id : journal.departures) {
    if (id >= named.size() || journal.requests[id].departed < before)
      return breaks(judgement, "order",
                    said("departure of %llu is unknown, or out of order", static_cast<unsigned long long>(id)), 1);
    before = journal.requests[id].departed;
    ++named[id];
  }
  for (std::size_t id = 0; id < named.size(); ++id) {
    const int times = journal.requests[id].departed == kNotYet ? 0 : 1;
    if (named[id] != times) breaks(judgement, "order", said("request %zu left %d times", id, named[id]), named[id]);
  }
}

}  // namespace

void judge_order(const Reading& reading, Judgement& judgement) {
  const Journal& journal = reading.journal();
  for (std::size_t id = 0; id < journal.requests.size(); ++id) judge_outcome(reading, id, judgement);
  judge_departures(reading, judgement);
  using Lane = std::tuple<int, int, bool>;
  std::map<Lane, std::pair<Time, std::uint64_t>> newest;  // the newest request that left
  for (const std::uint64_t id : journal.departures) {
    if (id >= journal.requests.size()) continue;
    const Request& request = journal.requests[id];
    const std::pair<Time, std::uint64_t> place{request.arrived, id};
    const auto [lane, first] = newest.try_emplace(Lane{request.member, request.group, request.routed}, place);
    if (first || place > lane->second) {
      lane->second = place;
      continue;
    }
    breaks(
        judgement, "order",
        said("request %llu of process %d, group %d%s, left at %s after %llu, which had come later",
             static_cast<unsigned long long>(id), request.member, request.group, request.routed ? ", of the route" : "",
             moment(request.departed).c_str(), static_cast<unsigned long long>(lane->second.second)),
        1);
  }
}

}  // namespace penstock::simulation
