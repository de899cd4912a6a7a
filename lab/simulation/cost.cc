// SPDX-License-Identifier: Apache-2.0
// What a run costs, and how it is made cheaper.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <variant>

#include "simulation/drawing.h"

namespace penstock::simulation {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kRefusedAgain = 10;  // a second: a refused client comes back after 100 ms on average

double seconds(Time time) { return static_cast<double>(time) / kSecond; }
double seconds(Duration time) { return seconds(static_cast<Time>(time.count())); }

/// The units that a limit lets pass in `time` seconds, including all that may leave at once.
struct Passes {
  double time;
  double operator()(const PacerConfig& pacer) const { return pacer.max_burst + 1 + pacer.qps * time; }
  double operator()(const AdaptiveConfig& adaptive) const { return 1 + adaptive.max * time; }
  double operator()(const WindowConfig& window) const { return intervals(window.reservoir, window.interval); }
  double operator()(const SlidingWindowConfig& window) const { return intervals(window.max, window.interval); }
  double operator()(const CounterConfig& counter) const { return intervals(counter.max, counter.period); }
  double operator()(const TokenBucketConfig& bucket) const {
    return bucket.capacity + intervals(bucket.refill_amount, bucket.refill_frequency);
  }
  double operator()(const SemaphoreConfig&) const { return kInfinite; }
  double intervals(double units, Duration interval) const { return units * (std::floor(time / seconds(interval)) + 1); }
};

double mean_weight(const Demand& demand) {
  if (demand.weights.empty()) return 1;
  const double sum = std::accumulate(demand.weights.begin(), demand.weights.end(), 0.0);
  return sum / static_cast<double>(demand.weights.size());
}

Time end_of_demand(const Plan& plan, const Member& member) {
  Time end = plan.length;
  if (member.demand.until > 0) end = std::min(end, member.demand.until);
  if (member.ends > 0) end = std::min(end, member.ends);
  return end;
}

double asking(const Plan& plan, const Member& member) {
  return std::max(0.0, seconds(end_of_demand(plan, member) - std::max(member.joins, member.demand.from)));
}

/// What one process would send if only its slots limited it.
double wanted(const Plan& plan, const Member& member) {
  const Demand& demand = member.demand;
  const double time = asking(plan, member), flight = std::max(seconds(demand.flight), 1e-6);
  double most = demand.rate * time + demand.spike;
  if (demand.clients > 0) most += demand.clients * (1 + time / (flight + seconds(demand.think)));
  return std::min(most, member.settings.max_concurrent * (1 + seconds(plan.length) / flight));
}

int groups_of(const Plan& plan) {
  int most = 1;
  for (const Member& member : plan.members) most = std::max(most, member.demand.groups);
  return most;
}

double times_kept(const Plan& plan, const LimitConfig& limit) {
  const double groups = limit.per == LimitConfig::Per::group ? groups_of(plan) : 1;
  return groups * (limit.shared ? 1 : static_cast<double>(plan.members.size()));
}

/// Arrivals that do not leave for the upstream: they are refused, or give up.
double in_vain(const Plan& plan, const Member& member) {
  const Demand& demand = member.demand;
  const double time = asking(plan, member);
  const bool refused = plan.when_down == WhenDown::refuse || member.settings.max_wait <= kMinute ||
                       demand.max_wait > 0 || demand.clients > static_cast<int>(member.settings.max_pending) ||
                       std::ranges::any_of(plan.limits, [](const LimitConfig& limit) {
                         return limit.mode == LimitConfig::Mode::refuse;
                       });
  const double away = plan.when_down == WhenDown::refuse ? 0.5 : 1;  // of the time, at most
  double sum = refused ? demand.clients * kRefusedAgain * time * away : 0;
  if (demand.leaves > 0) sum += demand.clients * demand.leaves * time / std::max(seconds(demand.leaves_after), 1e-3);
  return sum;
}

}  // namespace

Cost cost_of(const Plan& plan) {
  Cost cost;
  double units = kInfinite, flying = kInfinite, unlimited = 0, weight = kInfinite, flight = kInfinite;
  for (const LimitConfig& limit : plan.limits) {
    if (!limit.route.empty()) continue;  // it bounds only some of the requests
    const double passes = std::visit(Passes{seconds(plan.length)}, limit.kind) * times_kept(plan, limit);
    units = std::min(units, passes);
    if (const auto* semaphore = std::get_if<SemaphoreConfig>(&limit.kind)) {
      flying = std::min(flying, semaphore->capacity * times_kept(plan, limit));
    }
  }
  if (plan.when_down == WhenDown::open) units = flying = kInfinite;
  for (const Member& member : plan.members) {
    unlimited += wanted(plan, member);
    flight = std::min(flight, std::max(seconds(member.demand.flight), 1e-6));
    weight = std::min(weight, mean_weight(member.demand));
    cost.arrivals +=
        in_vain(plan, member) + member.demand.rate * asking(plan, member) + member.demand.spike + member.demand.clients;
    const Time ends = member.ends > 0 ? std::min(member.ends, plan.length) : plan.length;
    cost.process_seconds += std::max(0.0, seconds(ends - member.joins));
  }
  cost.departures = std::min({unlimited, units / weight, flying * (1 + seconds(plan.length) / flight)});
  cost.arrivals += cost.departures;
  return cost;
}

bool affordable(const Plan& plan) {
  const Cost cost = cost_of(plan);
  const double most = plan.members.size() <= 2 ? kMostProcessSecondsOfFew : kMostProcessSeconds;
  return cost.departures <= kMostDepartures && cost.arrivals <= kMostArrivals && cost.process_seconds <= most;
}

void afford(Plan& plan) {
  constexpr Time kShortest = kSecond;
  while (!affordable(plan) && plan.length > kShortest) plan.length = std::max(kShortest, plan.length * 3 / 4);
  lessen(plan);
}

void lessen(Plan& plan) {
  for (int tries = 0; tries < 100 && !affordable(plan); ++tries) {
    for (Member& member : plan.members) {
      Demand& demand = member.demand;
      demand.spike = demand.spike * 3 / 4;
      demand.rate *= 0.75;
      if (demand.clients == 1) demand.think = std::max(2 * demand.think, kMillisecond);
      if (demand.clients > 1) demand.clients = demand.clients * 3 / 4;
    }
  }
}

}  // namespace penstock::simulation
