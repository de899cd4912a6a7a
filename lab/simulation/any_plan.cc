// SPDX-License-Identifier: Apache-2.0
// Draws limits, processes and demand that matter to each other: demand is 0.1 to 10 times what the limits allow, and a
// run is long enough to see the limits at work.
#include "simulation/any_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "simulation/drawing.h"
#include "simulation/kinds.h"

namespace penstock::simulation {

namespace {

using std::chrono::microseconds;

constexpr Time kLongestRun = 14 * kHour;
constexpr int kHeaviest = 1'000'000;

// ---- what limits come to --------------------------------------------------------------------------------------------

struct Pace {
  double size;  ///< units that may leave at once: a bound for the heaviest request
  double rate;  ///< units a second; infinite: unlimited
  Time step;
};

struct PaceOf {
  Pace operator()(const PacerConfig& pacer) const { return {1 + pacer.max_burst + pacer.qps, pacer.qps, 0}; }
  Pace operator()(const AdaptiveConfig& adaptive) const { return {1 + adaptive.min, adaptive.min, 0}; }
  Pace operator()(const WindowConfig& window) const { return each(window.reservoir, window.interval); }
  Pace operator()(const SlidingWindowConfig& window) const { return each(window.max, window.interval); }
  Pace operator()(const CounterConfig& counter) const { return each(counter.max, counter.period); }
  Pace operator()(const TokenBucketConfig& bucket) const {
    const auto refills = each(bucket.refill_amount, bucket.refill_frequency);
    return {static_cast<double>(bucket.capacity), refills.rate, refills.step};
  }
  Pace operator()(const SemaphoreConfig&) const { return {kHeaviest, std::numeric_limits<double>::infinity(), 0}; }
  Pace each(double units, Duration interval) const {
    const auto step = static_cast<Time>(interval.count());
    return {units, units * kSecond / static_cast<double>(step), step};
  }
};

/// The pace of all limits of a plan together.
Pace pace_of(const Plan& plan, int groups, double routed) {
  Pace least{kHeaviest, std::numeric_limits<double>::infinity(), 0};
  for (const LimitConfig& limit : plan.limits) {
    const Pace one = std::visit(PaceOf{}, limit.kind);
    const bool each_group = limit.per == LimitConfig::Per::group;
    least.size = std::min(least.size, one.size);
    const double part = of_route(limit) ? routed : 1;  // of the requests, which it governs
    least.rate = std::min(least.rate, one.rate * (each_group ? std::max(groups, 1) : 1) / part);
    least.step = std::max(least.step, one.step);
  }
  return least;
}

// ---- limits ---------------------------------------------------------------------------------------------------------

int any_count(Random& random) {
  const double chance = random.part();
  return chance < 0.6 ? 1 : chance < 0.9 ? 2 : static_cast<int>(random.between(3, 4));
}

std::vector<LimitConfig> any_limits(Random& random, const Wishes& wishes, bool grouped) {
  std::vector<LimitConfig> limits;
  const int count = wishes.one_limit ? 1 : any_count(random);
  for (int i = 0; i < count; ++i) {
    const bool wished = i == 0 && wishes.kind;
    const auto kind = wished ? *wishes.kind : static_cast<DrawnKind>(random.below(kLimitKinds));
    const bool of_group = grouped && (random.happens(0.5) || (i == 0 && wishes.groups));
    LimitConfig limit = any_limit(random, kind, of_group);
    if (of_group) limit.per = LimitConfig::Per::group;
    if (random.happens(0.1)) limit.mode = LimitConfig::Mode::refuse;
    if (i > 0 && random.happens(0.15)) limit.shared = false;
    limit.name = "l" + std::to_string(i);
    limits.push_back(std::move(limit));
  }
  return limits;
}

/// Some limits, or all, become those of a route. One limit alone is of the route, or gets another beside it.
void any_route(Random& random, std::vector<LimitConfig>& limits, bool grouped) {
  if (limits.size() == 1 && random.happens(0.7)) {
    const bool of_group = grouped && random.happens(0.3);
    LimitConfig limit = any_limit(random, static_cast<DrawnKind>(random.below(kLimitKinds)), of_group);
    if (of_group) limit.per = LimitConfig::Per::group;
    if (random.happens(0.1)) limit.mode = LimitConfig::Mode::refuse;
    limit.name = "l1";
    limits.push_back(std::move(limit));
  }
  const std::size_t one = random.below(limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (i == one || random.happens(0.3)) limits[i].route = kRoute;
  }
}

// ---- demand ---------------------------------------------------------------------------------------------------------

/// All 1, several, or weights of which two never fit at once; heavy ones where a run could not exhaust the limit
/// otherwise.
std::vector<int> any_weights(Random& random, double size) {
  const int most = static_cast<int>(std::clamp<double>(size, 1, kHeaviest));
  if (most > 20'000) return {most / 1'000, most / 200, most / 20};
  if (random.happens(0.5)) return {};
  if (random.happens(0.5)) return {1, std::min(5, most), std::min(20, most)};
  return {std::max(1, most - 1), most, most / 2 + 1};
}

double mean_of(const std::vector<int>& weights) {
  if (weights.empty()) return 1;
  double sum = 0;
  for (const int weight : weights) sum += weight;
  return sum / static_cast<double>(weights.size());
}

/// Sets the demand so that the process would send `rate` requests a second without limits.
void ask(Random& random, Demand& demand, double rate) {
  if (random.happens(0.4)) {
    demand.rate = rate;
    demand.even = random.happens(0.3);
    return;
  }
  const double flight = static_cast<double>(demand.flight) / kSecond;
  const double between = random.happens(0.5) ? flight : std::max(flight, random.scaled(0.01, 100));
  demand.clients = static_cast<int>(std::clamp(std::ceil(rate * between), 1.0, 500.0));
  const double think = demand.clients / rate - flight;
  if (think > 0.001) demand.think = static_cast<Time>(std::min(think, 3'600.0) * 1e6);
}

/// Processes want equal parts, or one wants most.
std::vector<double> any_parts(Random& random, int size) {
  std::vector<double> parts(static_cast<std::size_t>(size), 1);
  if (random.happens(0.4)) parts[random.below(parts.size())] = 10;
  double sum = 0;
  for (const double part : parts) sum += part;
  for (double& part : parts) part /= sum;
  return parts;
}

struct Wanted {
  double rate;  ///< requests a second, of all processes
  double wait;  ///< seconds: how long a request waits, roughly
};

/// Slots for all requests that want to fly, or now and then for fewer.
void give_slots(Random& random, Member& member, double rate, double wait) {
  const double flying = rate * static_cast<double>(member.demand.flight) / kSecond;
  const double factor = random.happens(0.15) ? random.scaled(0.1, 1) : 2;
  member.settings.max_concurrent = static_cast<int>(std::clamp(flying * factor + 16 * (factor > 1), 1.0, 10'000.0));
  member.settings.max_pending = random.happens(0.1) ? 20 : 1'000;
  const double patience = random.happens(0.2) ? 30 : std::clamp(50 * wait, 30.0, 86'400.0);
  member.settings.max_wait = static_cast<Time>(patience * 1e6);
}

void any_extras(Random& random, Member& member, const Wanted& wanted) {
  Demand& demand = member.demand;
  demand.flight_varies = random.happens(0.5);
  if (random.happens(0.2)) {
    demand.leaves = random.part();
    demand.leaves_after = static_cast<Time>(std::clamp(wanted.wait * random.scaled(0.1, 3), 0.02, 3'600.0) * 1e6);
  }
  if (random.happens(0.1)) {
    demand.max_wait = static_cast<Time>(std::clamp(wanted.wait * random.scaled(0.1, 3), 0.01, 3'600.0) * 1e6);
  }
}

// ---- processes ------------------------------------------------------------------------------------------------------

int any_number_of_members(Random& random) {
  constexpr int kNumbers[] = {1, 2, 3, 3, 3, 4, 5, 8, 16};
  return random.any(kNumbers);
}

/// All processes near Redis, all equally far, one near and the others not, or anywhere.
void any_distances(Random& random, Plan& plan) {
  constexpr double kJitters[] = {0, 0.1, 0.3, 0.9};
  const auto way = random.below(4);
  const Time same = static_cast<Time>(random.scaled(100, 60'000));
  const double jitter = random.any(kJitters);
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    Member& member = plan.members[i];
    const Time any = static_cast<Time>(random.scaled(100, 60'000));
    const Time near = static_cast<Time>(random.scaled(100, 500));
    const Time choices[] = {near, same, i == 0 ? near : std::max<Time>(any, kMillisecond), any};
    member.round_trip = choices[way];
    member.jitter = jitter;
    if (random.happens(0.1)) member.drift_ppm = random.happens(0.5) ? 500 : -500;
  }
}

/// The time-out always exceeds a round trip, even one in which a script must be loaded first.
void any_timeout(Random& random, Plan& plan) {
  double farthest = 0;
  for (const Member& member : plan.members) {
    farthest = std::max(farthest, static_cast<double>(member.round_trip) * (1 + member.jitter));
  }
  const double least = std::clamp(2 * farthest, 1e3, 10e6);
  const double chosen = random.happens(0.7) ? std::max(least, 50e3) : random.scaled(least, 10e6);
  plan.redis_timeout = microseconds(static_cast<Time>(chosen));
}

void any_comings_and_goings(Random& random, Plan& plan) {
  const auto size = static_cast<Time>(plan.members.size());
  const bool cheap = size * plan.length <= static_cast<Time>(kMostProcessSeconds) * kSecond;
  const bool rolling = size > 1 && cheap && random.happens(0.5);
  if (!rolling) {
    for (Member& member : plan.members) {
      if (random.happens(0.5)) member.joins = random.between(0, plan.length / 2);
    }
    plan.members.front().joins = 0;
    return;
  }
  const Time apart = plan.length / (2 * size + 2);
  for (Time i = 0; i < size; ++i) {
    Member& old = plan.members[static_cast<std::size_t>(i)];
    old.ends = (i + 1) * apart;
    Member young = old;
    young.joins = old.ends + 100 * kMillisecond;
    young.ends = 0;
    plan.members.push_back(std::move(young));
  }
}

// ---- the run --------------------------------------------------------------------------------------------------------

/// Long enough for twenty intervals or units, where possible.
Time any_length(Random& random, const Pace& pace, double weight, Time flight) {
  const bool only_flights = std::isinf(pace.rate);
  const double unit = only_flights ? static_cast<double>(flight) : weight / pace.rate * 1e6;
  const double telling = std::max({only_flights ? 45e6 : 2e6, 20 * unit, 20.0 * static_cast<double>(pace.step)});
  return static_cast<Time>(std::min(telling * random.scaled(1, 5), static_cast<double>(kLongestRun)));
}

/// How many requests may fly under the plan's semaphores; more than a thousand make no difference.
double flights_of(const Plan& plan) {
  int least = 1'000;
  for (const LimitConfig& limit : plan.limits) {
    if (const auto* semaphore = std::get_if<SemaphoreConfig>(&limit.kind)) least = std::min(least, semaphore->capacity);
  }
  return least;
}

Time any_flight(Random& random, const Plan& plan, const Pace& pace) {
  constexpr double kMostLandings = 300;  // a second: what a run can afford
  const bool only_flights = std::isinf(pace.rate);
  const double least = random.happens(0.2) ? 1e3 : std::min(179e6, flights_of(plan) / kMostLandings * 1e6);
  if (only_flights) return static_cast<Time>(random.scaled(least, 180e6));
  return static_cast<Time>(random.happens(0.3) ? random.scaled(1e3, 180e6) : random.scaled(1e3, 1e6));
}

void any_members(Random& random, Plan& plan, const Wishes& wishes, bool grouped) {
  constexpr double kRouted[] = {0.1, 0.5, 0.9, 1};
  const int size = wishes.members > 0 ? wishes.members : any_number_of_members(random);
  Member like;
  if (grouped) {
    like.demand.groups = static_cast<int>(random.scaled(1, 1'001));
    like.demand.zipf = random.happens(0.3) ? 0 : random.part() * 1.5;
  }
  if (wishes.routes) like.demand.routed = random.any(kRouted);
  const Pace pace = pace_of(plan, like.demand.groups, like.demand.routed);
  like.demand.weights = any_weights(random, std::isinf(pace.rate) ? 20 : pace.size);
  like.demand.flight = any_flight(random, plan, pace);
  const double weight = mean_of(like.demand.weights), factor = random.scaled(0.1, 10);
  const double flying = flights_of(plan), flight = static_cast<double>(like.demand.flight) / kSecond;
  const double allowed = std::min(pace.rate / weight, flying / flight);
  // Where only flights are bounded, many short ones would make the run too expensive, and so too short to see anything.
  const double most = std::isinf(pace.rate) ? 1'000 : std::numeric_limits<double>::infinity();
  const Wanted wanted{.rate = std::min(most, allowed * factor), .wait = std::max(factor, 1.0) * 20 / allowed};
  for (const double part : any_parts(random, size)) {
    Member member = like;
    ask(random, member.demand, std::max(wanted.rate * part, 1e-6));
    give_slots(random, member, wanted.rate * part, wanted.wait);
    any_extras(random, member, wanted);
    plan.members.push_back(std::move(member));
  }
  plan.length = any_length(random, pace, weight, like.demand.flight);
}

/// Draws what happens at certain moments, once the length is known.
void any_moments(Random& random, Plan& plan, const Wishes& wishes) {
  if (wishes.comings_and_goings || random.happens(0.1)) any_comings_and_goings(random, plan);
  for (Member& member : plan.members) {
    Demand& demand = member.demand;
    if (demand.clients == 0 && random.happens(0.2)) {
      demand.spike = static_cast<int>(random.scaled(1, 300));
      demand.spike_at = random.between(0, plan.length / 2);
    }
    if (random.happens(0.1)) demand.from = random.between(0, plan.length / 3);
    if (random.happens(0.1)) demand.until = random.between(plan.length / 2, plan.length);
  }
}

Plan one_plan(Random& random, const Wishes& wishes) {
  constexpr WhenDown kModes[] = {WhenDown::share, WhenDown::share, WhenDown::share,
                                 WhenDown::wait,  WhenDown::open,  WhenDown::refuse};
  Plan plan;
  const bool grouped = wishes.groups || random.happens(0.25);
  plan.limits = any_limits(random, wishes, grouped);
  if (wishes.routes) any_route(random, plan.limits, grouped);
  if (wishes.faults) plan.when_down = wishes.when_down ? *wishes.when_down : random.any(kModes);
  any_members(random, plan, wishes, grouped);
  any_distances(random, plan);
  any_timeout(random, plan);
  afford(plan);
  any_moments(random, plan, wishes);
  lessen(plan);
  return plan;
}

}  // namespace

Plan any_plan(Random& random, const Wishes& wishes) {
  constexpr double kTelling = 100;  // departures
  Plan plan = one_plan(random, wishes);
  // Slow limits and little demand are worth a look, but most runs should show something.
  for (int tries = 0; tries < 5 && cost_of(plan).departures < kTelling && random.happens(0.9); ++tries) {
    plan = one_plan(random, wishes);
  }
  if (wishes.rare_faults)
    rare_faults(random, plan);
  else if (wishes.faults)
    any_faults(random, plan);
  return plan;
}

}  // namespace penstock::simulation
