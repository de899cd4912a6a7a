// SPDX-License-Identifier: Apache-2.0
// For tests of judges: plans and journals written by hand, request by request.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "simulation/judges.h"
#include "simulation/reading.h"

namespace penstock::simulation {

/// A Sunday, 2025-06-01 00:00 UTC: an edge of every window of a day or less.
inline constexpr std::int64_t kSunday = 1'748'736'000'000'000;

/// A request that is served.
struct One {
  Time arrived = 0, departed = 0, flight = 0;
  int member = 0, group = -1, weight = 1;
  bool routed = false;
};

class HandMade {
 public:
  explicit HandMade(std::vector<LimitConfig> limits, int processes = 1) {
    plan.limits = std::move(limits);
    Member member{.jitter = 0};
    member.settings = {.max_concurrent = 1'000'000, .max_pending = 1'000'000, .max_wait = kHour};
    plan.members.assign(static_cast<std::size_t>(processes), member);
    journal.wall_at_begin = kSunday;
    for (int i = 0; i < processes; ++i) journal.standings.push_back({.at = 0, .member = i, .up = true});
  }

  Request& add(const One& one) {
    journal.requests.push_back({.member = one.member,
                                .group = one.group,
                                .routed = one.routed,
                                .weight = one.weight,
                                .arrived = one.arrived,
                                .departed = one.departed,
                                .booked = one.departed,
                                .ended = one.departed + one.flight,
                                .end = Request::End::served});
    return journal.requests.back();
  }
  /// `count` requests leave at once, the moment they arrive.
  void pass(Time at, int count, const One& how = {}) {
    One one = how;
    one.arrived = one.departed = at;
    for (; count > 0; --count) add(one);
  }
  Request& refuse(Time arrived, flow::Refused why, int member = 0) {
    Request& request = add({.arrived = arrived, .departed = arrived, .member = member});
    request.departed = request.booked = kNotYet;
    request.end = Request::End::refused;
    request.refused = why;
    return request;
  }
  Fault& fail(Fault::Kind kind, Time at, Time lasts = 0, int member = -1) {
    journal.faults.push_back({.kind = kind, .at = at, .lasts = lasts, .member = member});
    return journal.faults.back();
  }

  /// The judgement of all judges.
  Judgement judged() {
    finish();
    return judge(plan, journal);
  }
  /// The details of what broke that rule.
  std::vector<std::string> broken(const std::string& rule) {
    std::vector<std::string> details;
    for (const Verdict& verdict : judged().broken) {
      if (verdict.rule == rule) details.push_back(verdict.detail);
    }
    return details;
  }

  Plan plan;
  Journal journal;

 private:
  void finish() {
    journal.departures.clear();
    for (std::size_t id = 0; id < journal.requests.size(); ++id) {
      const Request& request = journal.requests[id];
      if (request.departed != kNotYet) journal.departures.push_back(id);
      journal.ended = std::max({journal.ended, request.arrived, request.departed, request.ended});
    }
    std::ranges::stable_sort(journal.departures, {}, [&](auto id) { return journal.requests[id].departed; });
  }
};

inline LimitConfig pacer(double qps, int burst = 0) { return {.kind = PacerConfig{.qps = qps, .max_burst = burst}}; }
inline LimitConfig window(int reservoir, Time interval) {
  return {.kind = WindowConfig{.reservoir = reservoir, .interval = Duration(interval)}};
}
inline LimitConfig semaphore(int capacity, Time lease = 30 * kSecond) {
  return {.kind = SemaphoreConfig{.capacity = capacity, .lease = Duration(lease)}};
}
inline LimitConfig of_the_route(LimitConfig limit) {
  limit.route = kRoute;
  return limit;
}
inline LimitConfig each_group(LimitConfig limit) {
  limit.per = LimitConfig::Per::group;
  return limit;
}

/// All requests arrive at the begin and leave one after the other, 1/qps apart, the processes in turn, except at times
/// that leave_out() excludes.
template <typename LeaveOut>
void queue_of(HandMade& run, double qps, Time until, LeaveOut leave_out) {
  const auto processes = static_cast<int>(run.plan.members.size());
  for (int n = 1; n * 1e6 / qps <= static_cast<double>(until); ++n) {
    const auto at = static_cast<Time>(n * 1e6 / qps);
    if (!leave_out(at)) run.add({.departed = at, .member = n % processes});
  }
  // One request of each process waits to the end.
  for (int i = 0; i < processes; ++i) run.add({.departed = until + 1, .member = i});
}

}  // namespace penstock::simulation
