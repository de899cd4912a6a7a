// SPDX-License-Identifier: Apache-2.0
// Judges that no request starves: compares each wait with the wait that would have been fair.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "flow/limiter.h"
#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

/// Units that waited when each request arrived, itself included: in its process, in its lane, in its group across all
/// processes, and likewise of the route, if it is of that.
struct Ahead {
  double process = 0, lane = 0, group = 0, route = 0;
};

std::vector<Ahead> ahead_of_each(const Reading& reading) {
  const auto& requests = reading.journal().requests;
  struct Step {
    Time at;
    int units;
    std::size_t id;
  };
  std::vector<Step> steps;
  for (std::size_t id = 0; id < requests.size(); ++id) {
    const Request& request = requests[id];
    const Time ended = request.ended == kNotYet ? reading.journal().ended : request.ended;
    steps.push_back({request.arrived, request.weight, id});
    steps.push_back({request.departed == kNotYet ? ended : request.departed, -request.weight, id});
  }
  std::ranges::stable_sort(steps, {}, &Step::at);
  std::vector<Ahead> ahead(requests.size());
  std::map<int, double> processes, groups;
  std::map<std::tuple<int, int, bool>, double> lanes;
  double of_route = 0;
  for (const Step& step : steps) {
    const Request& request = requests[step.id];
    double& process = processes[request.member] += step.units;
    double& group = groups[request.group] += step.units;
    double& lane = lanes[{request.member, request.group, request.routed}] += step.units;
    if (request.routed) of_route += step.units;
    if (step.units > 0) ahead[step.id] = {process, lane, group, request.routed ? of_route : 0};
  }
  return ahead;
}

/// The most lanes of any process; the lanes of a process take turns.
double most_lanes(const Reading& reading) {
  std::map<int, std::set<std::pair<int, bool>>> lanes;
  std::size_t most = 1;
  for (const Request& request : reading.journal().requests) {
    auto& own = lanes[request.member];
    own.insert({request.group, request.routed});
    most = std::max(most, own.size());
  }
  return static_cast<double>(most);
}

std::vector<LimitConfig> limits_of_route(const Plan& plan, LimitConfig::Per per) {
  std::vector<LimitConfig> limits;
  for (const LimitConfig& limit : plan.limits) {
    if (of_route(limit) && limit.per == per) limits.push_back(limit);
  }
  return limits;
}

}  // namespace

void judge_waits(const Reading& reading, Judgement& judgement) {
  // Where permits hold requests, flights decide.
  if (reading.has(LimitKind::semaphore) || !reading.all_shared() || reading.plan().limits.empty()) return;
  const auto processes = static_cast<double>(reading.plan().members.size());
  const double wide = slowest_rate(reading.rate_limits(LimitConfig::Per::upstream));
  const double own = slowest_rate(reading.rate_limits(LimitConfig::Per::group));
  const double of_route = slowest_rate(limits_of_route(reading.plan(), LimitConfig::Per::upstream));
  const double of_both = slowest_rate(limits_of_route(reading.plan(), LimitConfig::Per::group));
  const double one_grant = grant(reading.plan().limits, reading.heaviest(), reading.plan().members.size());
  const double rounds = 2 * processes * one_grant / std::min({wide, own, of_route, of_both});
  const double lanes = most_lanes(reading);
  // Where groups have limits of their own, too, no line shares out the route's: lanes of all processes take turns.
  const double shared_route = reading.has_group_limits() ? lanes * processes : 1;
  const auto ahead = ahead_of_each(reading);
  const auto& requests = reading.journal().requests;
  for (std::size_t id = 0; id < requests.size(); ++id) {
    const Request& request = requests[id];
    const bool waits_still = request.departed == kNotYet && request.ended == kNotYet;
    if (request.departed == kNotYet && !waits_still) continue;
    const Time gone = waits_still ? reading.journal().ended : request.departed;
    const double before = std::max(ahead[id].process, ahead[id].lane * lanes);
    const double of_its_route =
        request.routed ? ahead[id].group / of_both + shared_route * ahead[id].route / of_route : 0;
    const double fair = before * processes / wide + ahead[id].group / own + of_its_route;
    const Time allowed = static_cast<Time>((3 * fair + rounds) * 1e6) + 3 * longest_step(reading.plan().limits) +
                         flow::kHorizon + 2 * reading.longest_trip();
    const Time over = gone - request.arrived - allowed;
    if (over <= 0 || !reading.calm(request.arrived, gone)) continue;
    if (reading.was_full(request.member, request.arrived, gone)) continue;
    breaks(judgement, "waits",
           said("request %zu of process %d, group %d, waited %.3f s from %s on; %.3f s would be fair, %.3f s allowed",
                id, request.member, request.group, static_cast<double>(gone - request.arrived) / 1e6,
                moment(request.arrived).c_str(), fair, static_cast<double>(allowed) / 1e6),
           static_cast<double>(over) / 1e6);
  }
}

}  // namespace penstock::simulation
