// SPDX-License-Identifier: Apache-2.0
// See shrink.h.
#include "simulation/shrink.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "simulation/drawing.h"

namespace penstock::simulation {

namespace {

constexpr Time kShortestRun = 100 * kMillisecond;

/// Removes the members from `first` to before `last`; the faults of other members stay theirs.
void remove_members(Plan& plan, std::size_t first, std::size_t last) {
  const auto from = static_cast<int>(first), until = static_cast<int>(last);
  std::erase_if(plan.faults, [&](const Fault& fault) { return fault.member >= from && fault.member < until; });
  for (Fault& fault : plan.faults) {
    if (fault.member >= until) fault.member -= until - from;
  }
  plan.members.erase(plan.members.begin() + from, plan.members.begin() + until);
}

/// Plans that differ from the original, without references to processes or moments that no longer exist.
class Steps {
 public:
  explicit Steps(const Plan& plan) : plan_(plan), text_(plan.text()) {}

  /// Applies `change` to a copy.
  template <typename Change>
  void add(Change change) {
    Plan next = plan_;
    change(next);
    tidy(next);
    if (!next.members.empty() && !next.limits.empty() && next.text() != text_) steps_.push_back(std::move(next));
  }
  /// Applies `change` to the demand of each process.
  template <typename Change>
  void each_demand(Change change) {
    add([&](Plan& next) {
      for (Member& member : next.members) change(member.demand);
    });
  }
  template <typename Change>
  void each_member(Change change) {
    add([&](Plan& next) { std::ranges::for_each(next.members, change); });
  }
  std::vector<Plan> take() { return std::move(steps_); }

 private:
  static void tidy(Plan& plan) {
    for (std::size_t i = plan.members.size(); i-- > 0;) {
      if (plan.members[i].joins >= plan.length) remove_members(plan, i, i + 1);
    }
    std::erase_if(plan.faults, [&](const Fault& fault) { return fault.at >= plan.length; });
    if (!plan.grouped()) {
      for (LimitConfig& limit : plan.limits) limit.per = LimitConfig::Per::upstream;
    }
  }

  const Plan& plan_;
  const std::string text_;
  std::vector<Plan> steps_;
};

template <typename Things>
void remove(Things& things, std::size_t first, std::size_t last) {
  things.erase(things.begin() + static_cast<std::ptrdiff_t>(first), things.begin() + static_cast<std::ptrdiff_t>(last));
}

/// Halves first, then one after the other.
template <typename Remove>
void each_part(std::size_t size, Remove remove) {
  if (size >= 4) {
    remove(size / 2, size);
    remove(std::size_t{0}, size / 2);
  }
  for (std::size_t i = size; i-- > 0;) remove(i, i + 1);
}

void fewer_things(Steps& steps, const Plan& plan) {
  each_part(plan.members.size(), [&](std::size_t first, std::size_t last) {
    steps.add([=](Plan& next) { remove_members(next, first, last); });
  });
  if (!plan.faults.empty()) steps.add([](Plan& next) { next.faults.clear(); });
  each_part(plan.faults.size(), [&](std::size_t first, std::size_t last) {
    steps.add([=](Plan& next) { remove(next.faults, first, last); });
  });
  steps.add([](Plan& next) {
    for (LimitConfig& limit : next.limits) limit.route.clear();
  });
  if (plan.limits.size() < 2) return;
  each_part(plan.limits.size(), [&](std::size_t first, std::size_t last) {
    steps.add([=](Plan& next) { remove(next.limits, first, last); });
  });
}

void shorter(Steps& steps, const Plan& plan) {
  for (const Time length : {plan.length / 2, plan.length * 4 / 5}) {
    if (length >= kShortestRun) steps.add([=](Plan& next) { next.length = length; });
  }
}

/// Steps that change nothing are not added.
void less_demand(Steps& steps) {
  steps.each_demand([](Demand& demand) { demand.groups = 0; });
  steps.each_demand([](Demand& demand) { demand.groups = (demand.groups + 1) / 2; });
  steps.each_demand([](Demand& demand) { demand.routed = 0; });
  steps.each_demand([](Demand& demand) { demand.weights.clear(); });
  steps.each_demand([](Demand& demand) { demand.clients = (demand.clients + 1) / 2; });
  steps.each_demand([](Demand& demand) { demand.spike /= 2; });
  steps.each_demand([](Demand& demand) {
    if (demand.rate > 0.01) demand.rate /= 2;
  });
}

void nothing_that_varies(Steps& steps) {
  steps.each_demand([](Demand& demand) { demand.leaves = 0; });
  steps.each_demand([](Demand& demand) { demand.max_wait = 0; });
  steps.each_demand([](Demand& demand) { demand.flight_varies = false; });
  steps.each_demand([](Demand& demand) { demand.zipf = 0; });
  steps.each_demand([](Demand& demand) { demand.think = 0; });
  steps.each_demand([](Demand& demand) { demand.even = demand.rate > 0; });
  steps.each_demand([](Demand& demand) { demand.from = demand.until = 0; });
  steps.each_member([](Member& member) { member.jitter = 0; });
  steps.each_member([](Member& member) { member.drift_ppm = 0; });
  steps.each_member([](Member& member) { member.round_trip = Member{}.round_trip; });
  steps.each_member([](Member& member) { member.joins = member.ends = 0; });
  steps.add([](Plan& next) {
    for (LimitConfig& limit : next.limits) limit.mode = LimitConfig::Mode::delay;
  });
}

bool asks(const Plan& plan) {
  return std::ranges::any_of(plan.members, [](const Member& member) {
    return member.demand.clients > 0 || member.demand.rate > 0 || member.demand.spike > 0;
  });
}

}  // namespace

std::vector<Plan> smaller(const Plan& plan) {
  Steps steps(plan);
  fewer_things(steps, plan);
  shorter(steps, plan);
  less_demand(steps);
  nothing_that_varies(steps);
  auto all = steps.take();
  // Without a limit, or with clients that never think, a run may take longer than it is worth.
  std::erase_if(all, [](const Plan& next) { return !asks(next) || !affordable(next); });
  return all;
}

Shrunk shrink(const Plan& failing, const Fails& fails, int most_tries) {
  Shrunk shrunk{.plan = failing};
  for (bool found = true; found;) {
    found = false;
    for (Plan& next : smaller(shrunk.plan)) {
      if (shrunk.tries == most_tries) return shrunk;
      ++shrunk.tries;
      if (!fails(next)) continue;
      shrunk.plan = std::move(next);
      found = true;
      break;
    }
  }
  return shrunk;
}

}  // namespace penstock::simulation
