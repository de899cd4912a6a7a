// SPDX-License-Identifier: Apache-2.0
// Regimes about what processes know of each other: how many they are when Redis goes, and that their limits differ for
// a while.
#include <algorithm>
#include <chrono>

#include "simulation/drawing.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

namespace {

using namespace std::chrono_literals;
using enum Fault::Kind;

constexpr Time kGoes = 8 * kSecond, kAway = 6 * kSecond;

LimitConfig some_rate(Random& random) {
  const LimitConfig limits[] = {pacer(400), pacer(100, 50), window(200, 500ms), sliding_window(300, 1s),
                                token_bucket(100, 40, 200ms)};
  return random.any(limits);
}

/// Redis goes, and comes back or stays away.
Plan losing_redis(Random& random, LimitConfig limit, int size) {
  Plan plan = busy_fleet(random, {limit}, size, 24 * kSecond);
  plan.faults = {fault_of_redis(redis_stops, kGoes, random.happens(0.5) ? kAway : plan.length)};
  return plan;
}

/// A process starts while Redis is away; no number of processes is configured, and it takes itself for the only one.
Plan started_unsaid(Random& random) {
  Plan plan = losing_redis(random, some_rate(random), 4);
  plan.members[3].joins = kGoes + random.between(0, kSecond);
  return plan;
}

/// One process fewer or more is configured than there are, or the right number, and some start while Redis is away.
Plan wrongly_configured(Random& random) {
  const int size = static_cast<int>(random.between(2, 6));
  Plan plan = losing_redis(random, some_rate(random), size);
  plan.processes = std::max(1, size + static_cast<int>(random.between(-1, 1)));
  const auto late = random.between(1, size - 1);
  for (auto i = size - late; i < size; ++i) {
    plan.members[static_cast<std::size_t>(i)].joins = kGoes + random.between(0, 2 * kSecond);
  }
  return plan;
}

/// A process comes or is killed within the second before Redis goes, so the others do not know yet.
Plan changed_just_before(Random& random) {
  Plan plan = losing_redis(random, some_rate(random), static_cast<int>(random.between(3, 6)));
  const Time moment = kGoes - random.between(kMillisecond, kSecond);
  if (random.happens(0.5)) {
    plan.members.back().joins = moment;
  } else {
    const auto last = static_cast<int>(plan.members.size()) - 1;
    plan.faults.insert(plan.faults.begin(), fault_of_one(killed, last, moment));
  }
  return plan;
}

/// Some processes have no requests for the upstream until Redis has gone.
Plan idle_at_loss(Random& random) {
  Plan plan = losing_redis(random, some_rate(random), static_cast<int>(random.between(3, 6)));
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    if (i > 0 && random.happens(0.5)) plan.members[i].demand.from = kGoes + random.between(0, kSecond);
  }
  return plan;
}

/// No process has used the upstream for a while.
Plan all_idle_at_loss(Random& random) {
  Plan plan = losing_redis(random, some_rate(random), static_cast<int>(random.between(2, 6)));
  for (Member& member : plan.members) member.demand.from = kGoes + random.between(kMillisecond, kSecond);
  return plan;
}

/// One process after the other reads the new configuration; in the former one the rate was lower, and perhaps the burst
/// too.
Plan rolling_reload(Random& random) {
  Plan plan = busy_fleet(random, {pacer(100, 10)}, 3, 40 * kSecond);
  const double rates[] = {1, 10, 50, 90};
  const double former = random.any(rates);
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    plan.members[i].former = {pacer(former, random.happens(0.5) ? 10 : 0)};
    plan.members[i].reloads = static_cast<Time>(10 * (i + 1)) * kSecond;
  }
  return plan;
}

}  // namespace

std::vector<Regime> presence_regimes() {
  return {
      {"started-unsaid", "a process starts while Redis is away, and knows of no others", started_unsaid},
      {"processes-said-wrong", "redis.processes is one off, and some start while Redis is away", wrongly_configured},
      {"changed-just-before", "a process comes or ends in the second before Redis goes", changed_just_before},
      {"idle-at-loss", "some processes begin to use the upstream when Redis has gone", idle_at_loss},
      {"all-idle-at-loss", "all do", all_idle_at_loss},
      {"rolling-reload", "one process after the other reads another rate", rolling_reload},
  };
}

}  // namespace penstock::simulation
