// SPDX-License-Identifier: Apache-2.0
// The parts of which regimes consist: limits, processes, demand, faults, and how long a run may be.
#pragma once

#include <initializer_list>
#include <vector>

#include "simulation/plan.h"
#include "simulation/random.h"

namespace penstock::simulation {

// ---- limits ---------------------------------------------------------------------------------------------------------

inline LimitConfig pacer(double qps, int max_burst = 0) { return {.kind = PacerConfig{qps, max_burst}}; }
inline LimitConfig window(int reservoir, Duration interval) { return {.kind = WindowConfig{reservoir, interval}}; }
inline LimitConfig spread_window(int reservoir, Duration interval) {
  return {.kind = WindowConfig{reservoir, interval, true}};
}
inline LimitConfig sliding_window(int max, Duration interval) { return {.kind = SlidingWindowConfig{max, interval}}; }
inline LimitConfig token_bucket(int capacity, int refill, Duration every) {
  return {.kind = TokenBucketConfig{capacity, refill, every}};
}
inline LimitConfig semaphore(int capacity, Duration lease = std::chrono::seconds(30)) {
  return {.kind = SemaphoreConfig{capacity, lease}};
}
inline LimitConfig counter(int max, Duration period) { return {.kind = CounterConfig{max, period}}; }
LimitConfig for_each_group(LimitConfig limit);
LimitConfig by_itself(LimitConfig limit);  ///< shared: false
LimitConfig refusing(LimitConfig limit);

// ---- processes and what they want -----------------------------------------------------------------------------------

/// A process with more clients than a limit lets leave; they wait as long as it takes.
Member busy(int clients, Time flight = kMillisecond);
/// A process with random arrivals, however many wait.
Member steady(double rate, Time flight = kMillisecond);
/// `size` processes like `like`, each at its own distance from Redis.
std::vector<Member> fleet(Random& random, int size, const Member& like, Time nearest = 200,
                          Time farthest = 2 * kMillisecond);
/// A busy fleet under these limits; most regimes begin with it.
Plan busy_fleet(Random& random, std::vector<LimitConfig> limits, int size = 3, Time length = 20 * kSecond);

// ---- faults ---------------------------------------------------------------------------------------------------------

Fault fault_of_redis(Fault::Kind kind, Time at, Time lasts = 0);
Fault fault_of_one(Fault::Kind kind, int member, Time at, Time lasts = 0);
/// Repeats the fault every `apart`, until shortly before the run's end.
void repeat(Plan& plan, Fault fault, Time apart);
/// A moment in the middle of the run.
/// Draw it before the call that uses it: each compiler evaluates the arguments of one call in its own order.
Time any_moment(Random& random, const Plan& plan);

// ---- what a run costs -----------------------------------------------------------------------------------------------

/// Estimates, rather too high than too low.
struct Cost {
  double departures = 0;
  double arrivals = 0;         ///< includes those that are refused or give up
  double process_seconds = 0;  ///< a process calls Redis once a second, whatever it has to do
};
Cost cost_of(const Plan& plan);

inline constexpr double kMostDepartures = 20'000, kMostArrivals = 60'000;
inline constexpr double kMostProcessSeconds = 20'000;
/// Runs of two processes may last for days.
inline constexpr double kMostProcessSecondsOfFew = 200'000;
bool affordable(const Plan& plan);
/// Shortens the run, and if that is not enough reduces demand, until the plan is affordable. Call it before faults are
/// drawn.
void afford(Plan& plan);
/// Reduces demand, and leaves the run as long as it is.
void lessen(Plan& plan);

}  // namespace penstock::simulation
