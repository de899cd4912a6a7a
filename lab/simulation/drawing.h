// SPDX-License-Identifier: Apache-2.0
// What regimes are put together from: limits, processes, demand, faults, and how long a run may be.
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

/// A process with more clients than a limit lets go, which wait as long as it takes.
Member busy(int clients, Time flight = kMillisecond);
/// One with arrivals at random, however many wait.
Member steady(double rate, Time flight = kMillisecond);
/// So many like that one, each at its own distance from Redis.
std::vector<Member> fleet(Random& random, int size, const Member& like, Time nearest = 200,
                          Time farthest = 2 * kMillisecond);
/// A busy fleet of 3, held to these limits for so long: what most regimes begin with.
Plan busy_fleet(Random& random, std::vector<LimitConfig> limits, int size = 3, Time length = 20 * kSecond);

// ---- faults ---------------------------------------------------------------------------------------------------------

Fault fault_of_redis(Fault::Kind kind, Time at, Time lasts = 0);
Fault fault_of_one(Fault::Kind kind, int member, Time at, Time lasts = 0);
/// The same fault again and again, so far apart, until shortly before the run's end.
void repeat(Plan& plan, Fault fault, Time apart);
/// A moment in the middle of the run.
/// Draws in the arguments of one call come in an order that each compiler chooses: they are to be made before it.
Time any_moment(Random& random, const Plan& plan);

// ---- what a run costs -----------------------------------------------------------------------------------------------

/// Estimates, rather too high than too low.
struct Cost {
  double departures = 0;
  double arrivals = 0;         ///< those that are refused or leave, too
  double process_seconds = 0;  ///< a process calls Redis once a second, whatever it has to do
};
Cost cost_of(const Plan& plan);

inline constexpr double kMostDepartures = 20'000, kMostArrivals = 60'000;
inline constexpr double kMostProcessSeconds = 20'000;
/// Two processes may be looked at for days.
inline constexpr double kMostProcessSecondsOfFew = 200'000;
bool affordable(const Plan& plan);
/// Shortens the run, and where that is not enough lessens what is asked, until it is affordable. To be called before
/// faults are drawn.
void afford(Plan& plan);
/// Lessens what is asked, and leaves the run as long as it is.
void lessen(Plan& plan);

}  // namespace penstock::simulation
