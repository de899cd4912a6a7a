// SPDX-License-Identifier: Apache-2.0
// Closed loops and open loops.
#include "simulation/load.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock::simulation {

namespace {
constexpr Time kAfterRefusal = 100 * kMillisecond;  // the mean time after which a refused client comes again

/// Until when the process' clients ask.
Time last_of(const Member& member, const Plan& plan) {
  const Time asked = member.demand.until > 0 ? member.demand.until : plan.length;
  return member.ends > 0 ? std::min(asked, member.ends) : asked;
}
}  // namespace

Load::Load(World& world, const Plan& plan, int member, Journal& journal, Wants wants)
    : world_(world),
      demand_(plan.members[static_cast<std::size_t>(member)].demand),
      until_(last_of(plan.members[static_cast<std::size_t>(member)], plan)),
      member_(member),
      journal_(journal),
      wants_(std::move(wants)),
      random_(world.random().draw()) {
  double sum = 0;
  for (int i = 0; i < demand_.groups; ++i) groups_.push_back(sum += std::pow(i + 1, -demand_.zipf));
  for (double& part : groups_) part /= sum;
}

void Load::begin() {
  const Time from = std::max(world_.now(), demand_.from);
  for (int i = 0; i < demand_.clients; ++i) world_.at(from, [this] { ask(); });
  if (demand_.rate > 0) world_.at(from, [this] { next_arrival(); });
  for (int i = 0; i < demand_.spike; ++i) world_.at(std::max(from, demand_.spike_at), [this] { ask(); });
  for (Time at = demand_.spike_at + demand_.spike_every; demand_.spike_every > 0 && at < until_;
       at += demand_.spike_every) {
    for (int i = 0; i < demand_.spike; ++i) world_.at(std::max(from, at), [this] { ask(); });
  }
}

bool Load::asking() const { return world_.now() < until_; }

int Load::any_group() {
  if (groups_.empty()) return -1;
  const auto found = std::ranges::lower_bound(groups_, random_.part());
  return static_cast<int>(std::min<std::ptrdiff_t>(found - groups_.begin(), std::ssize(groups_) - 1));
}

void Load::ask() {
  if (!asking()) return;
  const std::uint64_t id = journal_.requests.size();
  Request request{.member = member_, .group = any_group(), .arrived = world_.now()};
  if (demand_.routed > 0) request.routed = random_.happens(demand_.routed);
  if (!demand_.weights.empty()) request.weight = random_.any(demand_.weights);
  if (demand_.most_cost > 0) {
    request.cost = static_cast<int>(random_.between(demand_.least_cost, demand_.most_cost));
    request.estimate = demand_.estimate > 0 ? demand_.estimate : request.cost;
  }
  journal_.requests.push_back(request);
  wants_.arrive(id);
  if (demand_.leaves > 0 && random_.happens(demand_.leaves)) {
    const auto patience = static_cast<Time>(random_.exponential(static_cast<double>(demand_.leaves_after)));
    world_.at(world_.now() + patience, [this, id] { wants_.leave(id); });
  }
}

void Load::next_arrival() {
  if (!asking()) return;
  ask();
  const double gap = 1e6 / demand_.rate;
  world_.at(world_.now() + std::max<Time>(1, static_cast<Time>(demand_.even ? gap : random_.exponential(gap))),
            [this] { next_arrival(); });
}

void Load::over(std::uint64_t id) {
  if (demand_.clients == 0 || !asking()) return;
  const bool refused = journal_.requests[id].end == Request::End::refused;
  const double pause = refused ? static_cast<double>(kAfterRefusal) : static_cast<double>(demand_.think);
  world_.at(world_.now() + static_cast<Time>(random_.exponential(pause)), [this] { ask(); });
}

Time Load::opening() {
  if (opened_ >= demand_.cold) return 0;
  ++opened_;
  return static_cast<Time>(random_.between(kOpening[0], kOpening[1]));
}

Time Load::flight() {
  if (!demand_.flight_varies) return demand_.flight;
  return std::max<Time>(1, static_cast<Time>(random_.exponential(static_cast<double>(demand_.flight))));
}

}  // namespace penstock::simulation
