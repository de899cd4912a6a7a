// SPDX-License-Identifier: Apache-2.0
// Regimes about how much of a rate is used while several processes queue, without any fault.
#include <chrono>

#include "simulation/drawing.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

namespace {

using namespace std::chrono_literals;

int several(Random& random) {
  constexpr int kSizes[] = {3, 3, 8, 16};
  return random.any(kSizes);
}

int three_or_eight(Random& random) { return random.happens(0.5) ? 3 : 8; }

LimitConfig slow(double qps) { return pacer(qps); }

/// 300 requests at once, and then 60 % of what the limit allows: the queue must drain.
Plan spike_then_less(Random& random) {
  Plan plan = busy_fleet(random, {pacer(100, 100)}, 3, 60 * kSecond);
  for (Member& member : plan.members) {
    member.demand.clients = 0;
    member.demand.rate = 20;
    member.demand.spike = 100;
    member.demand.spike_at = 2 * kSecond;
  }
  return plan;
}

/// A request that waits 2 s is not refused for a wait of 10 s.
Plan told_waits(Random& random) {
  Plan plan = busy_fleet(random, {pacer(100, 100)});
  for (Member& member : plan.members) {
    member.demand.clients = 70;
    member.settings.max_wait = 10 * kSecond;
  }
  return plan;
}

Plan with_timeout(Plan plan, Duration timeout) {
  plan.redis_timeout = timeout;
  return plan;
}

Plan leaving(Random& random, LimitConfig limit, int size, Time length) {
  Plan plan = busy_fleet(random, {limit}, size, length);
  for (Member& member : plan.members) {
    member.demand.clients = 10;
    member.demand.leaves = 0.5;
    member.demand.leaves_after = 20 * kSecond;
  }
  return plan;
}

std::vector<Regime> bursts() {
  return {
      {"burst-100", "pacer of 100/s with maxBurst 100: a spent burst does not lessen the rate",
       [](Random& r) { return busy_fleet(r, {pacer(100, 100)}, several(r)); }},
      {"burst-300", "pacer of 100/s with maxBurst 300",
       [](Random& r) { return busy_fleet(r, {pacer(100, 300)}, three_or_eight(r)); }},
      {"burst-25", "pacer of 25/s with maxBurst 20",
       [](Random& r) { return busy_fleet(r, {pacer(25, 20)}, 3, 40 * kSecond); }},
      {"burst-14.8", "pacer of 14.8/s with maxBurst 10",
       [](Random& r) { return busy_fleet(r, {pacer(14.8, 10)}, 3, 60 * kSecond); }},
      {"bucket-40", "tokenBucket of 40 with 2/s",
       [](Random& r) { return busy_fleet(r, {token_bucket(40, 2, 1s)}, three_or_eight(r), 120 * kSecond); }},
      {"bucket-100", "tokenBucket of 100 with one each 10 ms",
       [](Random& r) { return busy_fleet(r, {token_bucket(100, 1, 10ms)}, three_or_eight(r)); }},
      {"bucket-50", "tokenBucket of 50 with 50 each 250 ms",
       [](Random& r) { return busy_fleet(r, {token_bucket(50, 50, 250ms)}, 8); }},
      {"spike", "a spike of 300, then 60 % of the limit", spike_then_less},
      {"told-waits", "waits that are told truly: no request is refused that would leave in time", told_waits},
  };
}

std::vector<Regime> queues() {
  return {
      {"pacer-400", "pacer of 400/s, all processes with work",
       [](Random& r) {
         constexpr int kSizes[] = {3, 5, 8, 16};
         return busy_fleet(r, {pacer(400)}, r.any(kSizes));
       }},
      {"slow-8", "1/s for 3, 8 and 16 processes: few calls a request",
       [](Random& r) { return busy_fleet(r, {slow(1)}, several(r), 120 * kSecond); }},
      {"slow-minute", "one a minute", [](Random& r) { return busy_fleet(r, {slow(1.0 / 60)}, 3, kHour); }},
      {"leaving-20s", "one in 20 s, and clients that give up",
       [](Random& r) { return leaving(r, slow(0.05), 8, 20 * kMinute); }},
      {"leaving-minute", "one a minute, and clients that give up",
       [](Random& r) { return leaving(r, slow(1.0 / 60), 3, kHour); }},
      {"pacer-and-window", "pacer of 100/s beside a window of 300 in 2 s",
       [](Random& r) {
         return busy_fleet(r, {pacer(100, 50), window(300, 2s)});
       }},
      {"spread", "window of 200 in 500 ms that is spread",
       [](Random& r) { return busy_fleet(r, {spread_window(200, 500ms)}); }},
      {"far-45ms", "all are 45 ms from Redis",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(400)});
         plan.members = fleet(r, 3, busy(200), 45 * kMillisecond, 45 * kMillisecond);
         return with_timeout(std::move(plan), 500ms);
       }},
      {"far-one", "one of three is 60 to 80 ms from Redis",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(400)});
         plan.members[2].round_trip = r.between(60, 80) * kMillisecond;
         return with_timeout(std::move(plan), 500ms);
       }},
      {"jitter", "ways that differ by nearly all of their mean",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(400)});
         plan.members = fleet(r, 3, busy(200), 20 * kMillisecond, 24 * kMillisecond);
         for (Member& member : plan.members) member.jitter = 0.9;
         return with_timeout(std::move(plan), 500ms);
       }},
  };
}

}  // namespace

std::vector<Regime> rate_regimes() {
  auto all = bursts();
  for (const Regime& regime : queues()) all.push_back(regime);
  return all;
}

}  // namespace penstock::simulation
