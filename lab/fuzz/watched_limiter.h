// SPDX-License-Identifier: Apache-2.0
// For the fuzzer of the scheduler: limits that the input chooses, what each of them promises, and a LocalLimiter that
// is watched, and whose answers take their time if so wished.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/local_limiter.h"
#include "fuzz/fuzz.h"

namespace penstock::flow {

using fuzz::must;

inline constexpr std::array<std::string_view, 3> kGroups{"", "a", "b"};
/// The first three have no route.
inline constexpr std::array<LaneKey, 6> kLanes{LaneKey(""),      LaneKey("a"),      LaneKey("b"),
                                               LaneKey("", "r"), LaneKey("a", "r"), LaneKey("b", "r")};
inline constexpr Instant kStart = 14'000 * 3'600e6;  // on an edge of every window here
inline constexpr int kHeaviest = 3;

inline std::size_t number_of(LaneKey lane) {
  return static_cast<std::size_t>(std::ranges::find(kLanes, lane) - kLanes.begin());
}
/// The limit, or that of the lane's group, counts what leaves by this lane.
inline bool counts(const LimitConfig& limit, LaneKey lane, std::string_view group) {
  return governs(limit, lane.route) && (limit.per == LimitConfig::Per::upstream || lane.group == group);
}

inline LimitConfig any_limit(fuzz::Choices& choices) {
  constexpr std::array<int, 4> kIntervals{20'000, 100'000, 500'000, 1'000'000};
  const Duration interval(kIntervals[choices.below(4)]);
  const int size = static_cast<int>(choices.below(8)) + 1, burst = static_cast<int>(choices.below(4));
  const std::array<LimitConfig::Kind, 8> kinds{PacerConfig{.qps = size * 25.0, .max_burst = burst},
                                               WindowConfig{size, interval},
                                               WindowConfig{size, interval, true},
                                               SlidingWindowConfig{size, interval},
                                               TokenBucketConfig{size, 1 + burst, interval},
                                               SemaphoreConfig{size},
                                               CounterConfig{size, interval},
                                               AdaptiveConfig{size * 5.0, size * 25.0}};
  LimitConfig limit{.kind = kinds[choices.below(kinds.size())]};
  const unsigned how = choices.byte();
  if (how % 3 == 1) limit.per = LimitConfig::Per::group;
  if (how >= 168) limit.route = kLanes.back().route;
  if (how % 7 == 1) limit.mode = LimitConfig::Mode::refuse;
  return limit;
}

/// Departures that were taken, of an upstream, a route or a group, ascending, against what one limit promises.
struct Promise {
  const std::vector<Departure>& taken;

  template <typename Bound>
  void at_most(Bound bound, const char* promise) const {
    for (std::size_t first = 0; first < taken.size(); ++first) {
      int units = 0;
      for (std::size_t last = first; last < taken.size(); ++last) {
        units += taken[last].weight;
        must(units <= bound(static_cast<double>(taken[last].at - taken[first].at)), promise);
      }
    }
  }
  void operator()(const PacerConfig& pacer) const {
    at_most([&](double length) { return pacer.qps * (length + 2) / 1e6 + pacer.max_burst + kHeaviest; }, "the pacer");
  }
  void operator()(const WindowConfig& window) const {
    std::map<double, int> units;
    for (const auto& departure : taken) {
      const double number = std::floor((kStart + departure.at) / static_cast<double>(window.interval.count()));
      must((units[number] += departure.weight) <= window.reservoir, "the window");
    }
  }
  void operator()(const SlidingWindowConfig& sliding) const {
    const double interval = static_cast<double>(sliding.interval.count()) + 2 * kGuard;
    at_most([&](double length) { return length < interval ? sliding.max : 1e9; }, "the sliding window");
  }
  void operator()(const TokenBucketConfig& bucket) const {
    const double period = static_cast<double>(bucket.refill_frequency.count());
    at_most(
        [&](double length) { return bucket.capacity + bucket.refill_amount * (std::floor((length + 1) / period) + 1); },
        "the token bucket");
  }
  void operator()(const CounterConfig& counter) const {
    const double period = static_cast<double>(counter.period.count());
    at_most([&](double length) { return counter.max * (std::floor((length + 1) / period) + 2); }, "the counter");
  }
  void operator()(const AdaptiveConfig& adaptive) const {
    at_most([&](double length) { return adaptive.max * (length + 2) / 1e6 + kHeaviest; }, "the adaptive limit");
  }
  void operator()(const SemaphoreConfig&) const {}  // of those in flight, looked at all the time
};

class WatchedLimiter final : public Limiter {
 public:
  struct Lane {
    std::vector<Departure> outstanding;  // granted, neither taken nor given back
    Ask asking{.count = 0};
    Time held_until = 0;
    Time told_until = 0;  // when it was last told to ask again
  };

  WatchedLimiter(std::vector<LimitConfig> limits, bool slow) : local_(std::move(limits), kStart), slow_(slow) {}

  bool ask(Time now, const Ask& ask, Booking& booking) override {
    Lane& lane = of(ask.lane());
    must(lane.asking.count == 0 && ask.count > 0, "a lane asks once at a time, for something");
    if (slow_) {
      lane.asking = ask;
      lane.asking.group = kLanes[number_of(ask.lane())].group;
      lane.asking.route = kLanes[number_of(ask.lane())].route;
    } else {
      answer(now, ask, booking);
    }
    return !slow_;
  }
  /// What was asked, as things stand now.
  void answer(Time now, const Ask& ask, Booking& booking) {
    Lane& lane = of(ask.lane());
    local_.ask(now, ask, booking);
    must(booking.departures.size() <= ask.count, "no more than was asked for");
    for (const auto& departure : booking.departures) {
      if (ask.weight == 0) {
        must(departure.at == now && departure.weight == 0, "who rested goes on at once, pause or not");
        continue;
      }
      must(departure.at >= std::max(stopped_until_, lane.held_until), "nobody is booked within a pause");
      must(departure.at >= now && departure.at <= now + kHorizon, "departures are near");
      lane.outstanding.push_back(departure);
    }
    if (booking.departures.size() == ask.count) return;
    if (booking.stop == Booking::Stop::turn) {
      must(booking.ask_again > now, "time passes before one asks again");
      told_to(booking.scope, lane) = booking.ask_again;
    } else if (booking.stop == Booking::Stop::refused && ask.weight > 0) {
      // Who was accepted, and came back, cannot be refused: while the refusal stands it is told to wait instead. What
      // the others were told before, still for a while, stands beside it.
      refused_until_ = std::max(refused_until_, std::max(booking.ask_again, now) + kHorizon);
    }
  }
  Time patience() const override { return slow_ ? 50'000 : 0; }
  LimitIndex forbids(const Load& load, std::string_view route) const override { return local_.forbids(load, route); }
  Time ahead(Time now, LaneKey lane, std::int64_t units, const OtherUnits& others) const override {
    const Time at = local_.ahead(now, lane, units, others);
    must(at >= now, "an estimate lies ahead");
    return at;
  }
  void give_back(Time now, LaneKey lane, const Departure& departure) override {
    take(of(lane), departure);
    local_.give_back(now, lane, departure);
  }
  Departure report_late(LaneKey lane, Departure departure, Time at) override {
    take(of(lane), departure);
    must(at > departure.at, "who leaves late leaves after its time");
    departure = local_.report_late(lane, departure, at);
    must(departure.at == at, "its departure is from now on when it left");
    of(lane).outstanding.push_back(departure);
    of(lane).outstanding.back().gates = 0;
    return departure;
  }
  void refused(Time now, LaneKey lane, const Departure& departure) override { local_.refused(now, lane, departure); }
  bool landed(Time now, LaneKey lane) override { return local_.landed(now, lane); }
  void cancel_wait(Time now, Booking::Scope scope, LaneKey lane) override {
    Time& told = told_to(scope, of(lane));
    told = std::min(told, now);
    local_.cancel_wait(now, scope, lane);
  }
  void pause(Time now, std::string_view group, Time until) override {
    const auto hold = [until](Time& held) { held = std::max(held, until); };
    if (group.empty()) hold(stopped_until_);
    for (std::size_t i = 0; i < kLanes.size() && !group.empty(); ++i) {
      if (kLanes[i].group == group) hold(lanes[i].held_until);
    }
    local_.pause(now, group, until);
  }
  bool shorten_pauses(Time now, Time latest) override {
    stopped_until_ = std::min(stopped_until_, latest);
    for (Lane& lane : lanes) lane.held_until = std::min(lane.held_until, latest);
    all_told_until_ = std::min(all_told_until_, now);
    route_told_until_ = std::min(route_told_until_, now);
    for (Lane& lane : lanes) lane.told_until = std::min(lane.told_until, now);
    return local_.shorten_pauses(now, latest);
  }
  bool has_room_for(std::string_view group) const override { return local_.has_room_for(group); }
  bool forgettable(Time now) const override { return local_.forgettable(now); }
  void change(Time now, const std::vector<LimitConfig>& limits) override {
    local_.change(now, limits);
    all_told_until_ = route_told_until_ = refused_until_ = now;
    for (Lane& lane : lanes) lane.told_until = now;
  }
  void count_existing(Time now, LaneKey lane, std::size_t departures) override {
    local_.count_existing(now, lane, departures);
  }
  static void take(Lane& lane, const Departure& departure) {
    auto granted = departure;
    granted.gates = 0;  // the scheduler marks those that pass a gate
    auto found = std::ranges::find(lane.outstanding, granted);
    if (found == lane.outstanding.end()) {  // the scheduler may know what held it
      auto unnamed = granted;
      unnamed.limited_by = kNoLimit;
      found = std::ranges::find(lane.outstanding, unnamed);
    }
    must(found != lane.outstanding.end(), "what is taken or given back was granted to that lane");
    lane.outstanding.erase(found);
  }
  bool somebody_asks() const {
    return std::ranges::any_of(lanes, [](auto& lane) { return lane.asking.count > 0; });
  }
  bool made_wait(Time now, LaneKey lane) const {
    const Time of_route = lane.route.empty() ? 0 : route_told_until_;
    return std::max({lanes[number_of(lane)].told_until, of_route, all_told_until_, refused_until_}) > now;
  }
  Lane& of(LaneKey lane) { return lanes[number_of(lane)]; }

  std::array<Lane, kLanes.size()> lanes;

 private:
  Time& told_to(Booking::Scope scope, Lane& lane) {
    if (scope == Booking::Scope::group) return lane.told_until;
    return scope == Booking::Scope::route ? route_told_until_ : all_told_until_;
  }

  LocalLimiter local_;
  bool slow_;
  Time stopped_until_ = 0, all_told_until_ = 0, route_told_until_ = 0, refused_until_ = 0;
};

}  // namespace penstock::flow
