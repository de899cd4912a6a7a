// SPDX-License-Identifier: Apache-2.0
// For tests of routes: an upstream with limits of routes, kept in this process, and requests that arrive for its lanes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/limit_remap.h"
#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"

namespace penstock::flow {

inline constexpr Settings kRoomy{.max_concurrent = 5'000, .max_pending = 100'000, .max_wait = 3'600 * kSecond};

inline LimitConfig of_route(LimitConfig::Kind kind, std::string route = "search", std::string name = {}) {
  return {.kind = kind, .name = std::move(name), .route = std::move(route)};
}
inline LimitConfig of_group(LimitConfig::Kind kind, std::string route = {}) {
  return {.kind = kind, .name = "each", .per = LimitConfig::Per::group, .route = std::move(route)};
}
inline SlidingWindowConfig at_most(int max, Duration interval = std::chrono::seconds(1)) {
  return {.max = max, .interval = interval};
}
/// A sliding window has that much more in its interval, for jitter.
inline constexpr Time kMore = static_cast<Time>(2 * kGuard);
inline constexpr PacerConfig kWide{.qps = 10'000, .max_burst = 1'000};  // of the upstream; holds nothing up

inline const LaneKey kSearch("", "search");
inline const LaneKey kSearchOfA("a", "search"), kSearchOfB("b", "search"), kSearchOfC("c", "search");
inline const LaneKey kPlain;

/// A LocalLimiter that counts the asks.
class CountedLimiter final : public Limiter {
 public:
  explicit CountedLimiter(std::vector<LimitConfig> limits) : limits_(std::move(limits)) {}

  bool ask(Time now, const Ask& ask, Booking& booking) override { return ++asks, limits_.ask(now, ask, booking); }
  LimitIndex forbids(const Load& load, std::string_view route) const override { return limits_.forbids(load, route); }
  Time ahead(Time now, LaneKey lane, std::int64_t units, const OtherUnits& others) const override {
    return limits_.ahead(now, lane, units, others);
  }
  Time expected(Time now, LaneKey lane, const Load& load, std::int64_t units, const OtherUnits& others) const override {
    return limits_.expected(now, lane, load, units, others, {});
  }
  void give_back(Time now, LaneKey lane, const Departure& departure) override {
    limits_.give_back(now, lane, departure);
  }
  bool landed(Time now, LaneKey lane) override { return limits_.landed(now, lane); }
  void cancel_wait(Time now, Booking::Scope scope, LaneKey lane) override { limits_.cancel_wait(now, scope, lane); }
  void pause(Time now, std::string_view group, Time until) override { limits_.pause(now, group, until); }
  bool has_room_for(std::string_view group) const override { return limits_.has_room_for(group); }
  bool forgettable(Time now) const override { return limits_.forgettable(now); }
  void change(Time now, const std::vector<LimitConfig>& limits) override { limits_.change(now, limits); }
  void count_existing(Time now, LaneKey lane, std::size_t departures) override {
    limits_.count_existing(now, lane, departures);
  }

  int asks = 0;

 private:
  LocalLimiter limits_;
};

/// Requests that arrive for lanes, and when each took off, from when the test began.
class Routes {
 public:
  explicit Routes(std::vector<LimitConfig> limits, Settings settings = kRoomy)
      : settings_(settings), limits_(limits), limiter(std::move(limits)), yard(settings, limiter) {}

  RequestId arrive(LaneKey lane, int weight = 1, std::optional<Time> max_wait = {}) {
    const RequestId id = ++last_;
    note(yard.arrive({.id = id, .weight = weight, .group = lane.group, .route = lane.route, .max_wait = max_wait}));
    return id;
  }
  std::vector<RequestId> arrive(std::size_t count, LaneKey lane) {
    std::vector<RequestId> ids;
    while (ids.size() < count) ids.push_back(arrive(lane));
    return ids;
  }
  void run_to(Time time) {
    const Time until = begin_ + time;
    for (auto next = yard.upstream.wake_at(); next && *next <= until; next = yard.upstream.wake_at()) {
      note(yard.advance_to(*next));
    }
    yard.now = until;
  }
  void cancel(RequestId id) { note(yard.cancel(id)); }
  void land(RequestId id) { note(yard.land(id)); }
  void requeue(RequestId id) { note(yard.requeue(id)); }
  void may_probe(std::string_view group) { note(yard.may_probe(true, yard.now + kProbeRight, group)); }
  void change(std::vector<LimitConfig> limits) {
    const auto moved = limit_remap(limits_, limits);
    limiter.change(yard.now, limits);
    limits_ = std::move(limits);
    note(yard.change(settings_, moved));
  }

  bool left(RequestId id) const { return at.contains(id); }
  std::size_t left() const { return order.size(); }
  Time passed() const { return yard.now - begin_; }

  std::map<RequestId, Time> at;  // the last time, for one that was sent more than once
  std::vector<RequestId> order;

 private:
  void note(const Ids& started) {
    for (const RequestId id : started) at[id] = passed(), order.push_back(id);
  }
  const Settings settings_;
  std::vector<LimitConfig> limits_;
  RequestId last_ = 0;

 public:
  CountedLimiter limiter;
  SchedulerFixture yard;

 private:
  const Time begin_ = yard.now;
};

}  // namespace penstock::flow
