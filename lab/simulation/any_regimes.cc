// SPDX-License-Identifier: Apache-2.0
// Regimes that draw everything at random.
#include "simulation/any_plan.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

namespace {

template <DrawnKind kind, bool faults>
Plan of_kind(Random& random) {
  return any_plan(random, {.kind = kind, .one_limit = random.happens(0.7), .faults = faults});
}

template <WhenDown mode>
Plan by_mode(Random& random) {
  return any_plan(random, {.faults = true, .when_down = mode});
}

std::vector<Regime> kinds() {
  using enum DrawnKind;
  return {
      {"any-pacer", "any pacer, without faults", of_kind<pacer, false>},
      {"any-window", "any window, without faults", of_kind<window, false>},
      {"any-sliding-window", "any slidingWindow, without faults", of_kind<sliding_window, false>},
      {"any-token-bucket", "any tokenBucket, without faults", of_kind<token_bucket, false>},
      {"any-semaphore", "any semaphore, without faults", of_kind<semaphore, false>},
      {"any-counter", "any counter, without faults", of_kind<counter, false>},
      {"any-pacer-faults", "any pacer, with faults", of_kind<pacer, true>},
      {"any-window-faults", "any window, with faults", of_kind<window, true>},
      {"any-sliding-window-faults", "any slidingWindow, with faults", of_kind<sliding_window, true>},
      {"any-token-bucket-faults", "any tokenBucket, with faults", of_kind<token_bucket, true>},
      {"any-semaphore-faults", "any semaphore, with faults", of_kind<semaphore, true>},
      {"any-counter-faults", "any counter, with faults", of_kind<counter, true>},
  };
}

std::vector<Regime> everything() {
  return {
      {"any-groups", "groups with limits of their own", [](Random& r) { return any_plan(r, {.groups = true}); }},
      {"any-groups-faults", "groups with limits of their own, with faults",
       [](Random& r) { return any_plan(r, {.faults = true, .groups = true}); }},
      {"any-routes", "a route with limits of its own", [](Random& r) { return any_plan(r, {.routes = true}); }},
      {"any-routes-faults", "a route with limits of its own, with faults",
       [](Random& r) { return any_plan(r, {.faults = true, .routes = true}); }},
      {"any-routes-groups", "a route beside limits of groups",
       [](Random& r) { return any_plan(r, {.groups = true, .routes = true}); }},
      {"any-routes-groups-faults", "a route beside limits of groups, with faults",
       [](Random& r) { return any_plan(r, {.faults = true, .groups = true, .routes = true}); }},
      {"any-comings", "processes that come and go",
       [](Random& r) { return any_plan(r, {.comings_and_goings = true}); }},
      {"any-comings-faults", "processes that come and go, with faults",
       [](Random& r) { return any_plan(r, {.faults = true, .comings_and_goings = true}); }},
      {"any-alone", "one process", [](Random& r) { return any_plan(r, {.members = 1}); }},
      {"any-share", "whenDown: share, with faults", by_mode<WhenDown::share>},
      {"any-hold", "whenDown: wait, with faults", by_mode<WhenDown::wait>},
      {"any-open", "whenDown: open, with faults", by_mode<WhenDown::open>},
      {"any-refuse", "whenDown: refuse, with faults", by_mode<WhenDown::refuse>},
      {"any-rare-faults", "anything, with faults of messages, replies, scripts and ids",
       [](Random& r) { return any_plan(r, {.faults = true, .rare_faults = true}); }},
      {"any", "anything, without faults", [](Random& r) { return any_plan(r, {}); }},
      {"any-faults", "anything, with faults", [](Random& r) { return any_plan(r, {.faults = true}); }},
  };
}

}  // namespace

std::vector<Regime> any_regimes() {
  auto all = kinds();
  for (const Regime& regime : everything()) all.push_back(regime);
  return all;
}

}  // namespace penstock::simulation
