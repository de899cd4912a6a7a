// SPDX-License-Identifier: Apache-2.0
// See drawing.h.
#include "simulation/drawing.h"

#include <algorithm>

namespace penstock::simulation {

LimitConfig for_each_group(LimitConfig limit) {
  limit.per = LimitConfig::Per::group;
  limit.name = "each_" + std::string(limit_key(limit.kind));
  return limit;
}

LimitConfig by_itself(LimitConfig limit) {
  limit.shared = false;
  limit.name = "own_" + std::string(limit_key(limit.kind));
  return limit;
}

LimitConfig refusing(LimitConfig limit) {
  limit.mode = LimitConfig::Mode::refuse;
  return limit;
}

namespace {

Member patient(Time flight) {
  Member member;
  member.settings.max_concurrent = 256;
  member.settings.max_pending = 10'000;
  member.settings.max_wait = 24 * kHour;
  member.demand.flight = flight;
  return member;
}

}  // namespace

Member busy(int clients, Time flight) {
  Member member = patient(flight);
  member.demand.clients = clients;
  return member;
}

Member steady(double rate, Time flight) {
  Member member = patient(flight);
  member.demand.rate = rate;
  return member;
}

std::vector<Member> fleet(Random& random, int size, const Member& like, Time nearest, Time farthest) {
  std::vector<Member> members(static_cast<std::size_t>(size), like);
  for (Member& member : members) {
    member.round_trip = static_cast<Time>(random.scaled(static_cast<double>(nearest), static_cast<double>(farthest)));
  }
  return members;
}

Plan busy_fleet(Random& random, std::vector<LimitConfig> limits, int size, Time length) {
  Plan plan;
  plan.limits = std::move(limits);
  plan.members = fleet(random, size, busy(200));
  plan.length = length;
  return plan;
}

Fault fault_of_redis(Fault::Kind kind, Time at, Time lasts) { return {.kind = kind, .at = at, .lasts = lasts}; }

Fault fault_of_one(Fault::Kind kind, int member, Time at, Time lasts) {
  return {.kind = kind, .at = at, .lasts = lasts, .member = member};
}

void repeat(Plan& plan, Fault fault, Time apart) {
  for (; fault.at + fault.lasts + apart <= plan.length; fault.at += apart) plan.faults.push_back(fault);
}

Time any_moment(Random& random, const Plan& plan) { return random.between(plan.length / 5, plan.length * 3 / 5); }

}  // namespace penstock::simulation
