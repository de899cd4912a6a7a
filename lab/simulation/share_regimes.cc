// SPDX-License-Identifier: Apache-2.0
// Regimes about equal shares of processes that want to send, whatever their groups, weights and round trips.
#include <chrono>

#include "simulation/drawing.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

namespace {

using namespace std::chrono_literals;

int few_or_many(Random& random) { return random.happens(0.5) ? 3 : 8; }

Plan grouped(Random& random, std::vector<LimitConfig> limits, int groups, int size, int clients) {
  Plan plan = busy_fleet(random, std::move(limits), size);
  for (Member& member : plan.members) {
    member.demand.clients = clients;
    member.demand.groups = groups;
  }
  return plan;
}

/// 90 groups in one process, 10 in the other.
Plan unequal_groups(Random& random) {
  Plan plan = grouped(random, {pacer(200), for_each_group(pacer(50, 5))}, 90, 2, 300);
  plan.members[1].demand.groups = 10;
  plan.members[1].demand.clients = 100;
  return plan;
}

Plan weighted(Random& random, LimitConfig limit, int size) {
  Plan plan = busy_fleet(random, {limit}, size);
  for (Member& member : plan.members) member.demand.weights = {1, 5, 20};
  return plan;
}

std::vector<Regime> plain() {
  return {
      {"window-near", "window of 200 in 500 ms",
       [](Random& r) { return busy_fleet(r, {window(200, 500ms)}, few_or_many(r)); }},
      {"window-one-near", "one is near Redis, seven are 1 to 20 ms away",
       [](Random& r) {
         Plan plan = busy_fleet(r, {window(200, 500ms)}, 8);
         plan.members = fleet(r, 8, busy(200), kMillisecond, 20 * kMillisecond);
         plan.members[r.below(8)].round_trip = 200;
         return plan;
       }},
      {"window-10s", "window of 100 in 10 s",
       [](Random& r) { return busy_fleet(r, {window(100, 10s)}, few_or_many(r), 200 * kSecond); }},
      {"sliding-10s", "slidingWindow of 30 in 10 s",
       [](Random& r) { return busy_fleet(r, {sliding_window(30, 10s)}, few_or_many(r), 200 * kSecond); }},
      {"sliding-500ms", "slidingWindow of 200 in 500 ms",
       [](Random& r) { return busy_fleet(r, {sliding_window(200, 500ms)}, few_or_many(r)); }},
      {"little-beside-much", "one process wants all, two want a little: few calls all the same",
       [](Random& r) {
         const LimitConfig limits[] = {pacer(400), pacer(400, 100), window(400, 1s)};
         Plan plan = busy_fleet(r, {r.any(limits)});
         for (const std::size_t other : {1u, 2u}) plan.members[other].demand = steady(20).demand;
         return plan;
       }},
      {"ten-times", "one process has ten times the clients of the others",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(400, 50)});
         for (Member& member : plan.members) member.demand.clients = 100;
         plan.members[r.below(3)].demand.clients = 1'000;
         return plan;
       }},
      {"impatient-one", "clients of one process give up after 0.9 s, those of the others wait: 1/s for all",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(1)}, few_or_many(r));
         for (Member& member : plan.members) member.demand.clients = 20;
         plan.members[0].settings.max_wait = 900 * kMillisecond;
         plan.members[0].demand = {.rate = r.scaled(10, 200), .flight = kMillisecond};
         plan.length = 60 * kSecond;
         return plan;
       }},
      {"weights-apart", "one process has requests of weight 100, the others of 1",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(100)}, few_or_many(r));
         plan.members[0].demand.weights = {100};
         plan.length = 60 * kSecond;
         return plan;
       }},
      {"weights-pacer", "weights of 1, 5 and 20 under a pacer of 500/s",
       [](Random& r) { return weighted(r, pacer(500, 100), few_or_many(r)); }},
      {"weights-bucket", "weights of 1, 5 and 20 under a tokenBucket",
       [](Random& r) { return weighted(r, token_bucket(100, 125, 250ms), few_or_many(r)); }},
      {"weights-window", "weights of 1, 5 and 20 under a window of 250 in 500 ms",
       [](Random& r) { return weighted(r, window(250, 500ms), 3); }},
  };
}

std::vector<Regime> of_groups() {
  return {
      {"bucket-40-groups", "tokenBucket of 40 with 2/s for each group",
       [](Random& r) {
         Plan plan = grouped(r, {for_each_group(token_bucket(40, 2, 1s))}, 10, few_or_many(r), 200);
         plan.length = 60 * kSecond;
         return plan;
       }},
      {"groups-100", "100 groups with limits of their own beside 200/s for all",
       [](Random& r) {
         return grouped(r, {pacer(200), for_each_group(pacer(50, 5))}, 100, 3, 300);
       }},
      {"groups-1000", "1000 groups with 2/s each beside 500/s for all",
       [](Random& r) {
         return grouped(r, {pacer(500), for_each_group(pacer(2, 2))}, 1'000, few_or_many(r), 1'000);
       }},
      {"groups-20", "20 groups with a tokenBucket of 50/s each beside 200/s for all",
       [](Random& r) {
         return grouped(r, {pacer(200), for_each_group(token_bucket(50, 50, 1s))}, 20, 3, 200);
       }},
      {"groups-90-10", "90 groups in one process, 10 in the other", unequal_groups},
      {"groups-zipf", "groups by Zipf, each with a window of its own",
       [](Random& r) {
         Plan plan = grouped(r, {pacer(300, 30), for_each_group(window(20, 2s))}, 200, few_or_many(r), 300);
         for (Member& member : plan.members) member.demand.zipf = 1.1;
         return plan;
       }},
  };
}

}  // namespace

std::vector<Regime> share_regimes() {
  auto all = plain();
  for (const Regime& regime : of_groups()) all.push_back(regime);
  return all;
}

}  // namespace penstock::simulation
