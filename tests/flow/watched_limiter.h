// SPDX-License-Identifier: Apache-2.0
// A limiter for random sequences: it is watched, stops now one lane, now those of the route and now all, has permits of
// all, of the route and of each group, and its answers take their time if so wished. The dice are what it decides by.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/limits.h"
#include "flow/limits_in_force.h"

namespace penstock::flow {

/// The first three have no route.
inline const std::array<LaneKey, 6> kLanes{LaneKey(""),      LaneKey("a"),      LaneKey("b"),
                                           LaneKey("", "r"), LaneKey("a", "r"), LaneKey("b", "r")};
inline std::size_t number_of(LaneKey lane) {
  return static_cast<std::size_t>(std::ranges::find(kLanes, lane) - kLanes.begin());
}
inline constexpr int kMostWeight = 3;

struct Permits {
  int capacity = 0;  // 0: any number
  int held = 0;
  bool full() const { return capacity > 0 && held >= capacity; }
};

/// A PlainLimiter with limits of a route beside those of all lanes.
class WatchedLimiter final : public Limiter {
 public:
  using Limits = std::vector<std::unique_ptr<Limit>>;
  struct PerLane {
    std::vector<Departure> outstanding;  // granted, neither taken nor given back; ascending
    bool asking = false;
    Time told_until = 0;                             // when it was last told to ask again
    Time latest = 0;                                 // the latest departure ever granted to it
    std::array<Time, kMostWeight + 1> not_before{};  // the latest moment ever named for each weight
    Booking answer;                                  // while asking
    int weight = 1;                                  // of the last ask
    Time answer_at = 0;
  };

  WatchedLimiter(Limits of_all, Limits of_route, Dice& dice, bool slow, int heaviest)
      : of_all_(std::move(of_all)), of_route_(std::move(of_route)), dice_(dice), slow_(slow), heaviest_(heaviest) {}

  bool ask(Time now, const Ask& ask, Booking& booking) override {
    PerLane& mine = lanes[number_of(ask.lane())];
    EXPECT_FALSE(mine.asking) << "one ask at a time";
    EXPECT_GT(ask.count, 0u);
    mine.weight = ask.weight;
    if (!slow_ || dice_.one_in(4)) {
      answer(now, ask, booking);
      note(now, mine, booking);
      return true;
    }
    mine.asking = true;
    mine.answer.clear();
    answer(now, ask, mine.answer);
    mine.answer_at = now + 1 + static_cast<Time>(dice_.below(20'000));
    return false;
  }
  LimitIndex forbids(const Load& load, std::string_view) const override {
    return load.weight > heaviest_ ? 0 : kNoLimit;
  }
  Time ahead(Time now, LaneKey, std::int64_t, const OtherUnits&) const override { return now; }
  bool landed(Time, LaneKey lane) override {
    release(lane);
    const auto is_free = [](const Permits* one) { return one->capacity > 0 && !one->full(); };
    return std::ranges::any_of(permits_of(lane), is_free);
  }
  void pause(Time, std::string_view, Time) override {}
  bool has_room_for(std::string_view) const override { return true; }
  bool forgettable(Time) const override { return true; }
  void change(Time, const std::vector<LimitConfig>&) override {}
  void cancel_wait(Time now, Booking::Scope scope, LaneKey lane) override { tell_nothing(now, scope, lane); }
  void give_back(Time, LaneKey lane, const Departure& departure) override {
    auto& outstanding = lanes[number_of(lane)].outstanding;
    const auto same = [&](const Departure& one) {  // its limit may have another number by now
      return one.at == departure.at && one.weight == departure.weight && one.epoch == departure.epoch;
    };
    const auto found = std::ranges::find_if(outstanding, same);
    ASSERT_NE(found, outstanding.end()) << "given back, but never granted";
    release(lane);
    if (departure.epoch == epoch_) {
      for (Limit* limit : limits_of(lane.route)) limit->give_back(static_cast<Instant>(found->at), found->weight);
    }
    outstanding.erase(found);
  }
  /// What was told is void, that in answers under way too; what was granted stays.
  void replace_limits(Time now, Limits of_all, Limits of_route) {
    of_all_ = std::move(of_all), of_route_ = std::move(of_route);
    ++epoch_;
    all_told_until = route_told_until = now;
    for (auto& lane : lanes) {
      lane.told_until = now;
      Booking& answer = lane.answer;
      if (answer.ask_again != 0) answer.ask_again = answer.not_before = now;
    }
  }
  /// What was told to all lanes, to those of the route or to this one is void.
  void tell_nothing(Time now, Booking::Scope scope, LaneKey lane) {
    Time& told = told_to(scope, lanes[number_of(lane)]);
    told = std::min(told, now);
  }
  void note(Time now, PerLane& mine, const Booking& booking) {
    for (const Departure& departure : booking.departures) {
      if (departure.weight == 0) continue;
      const auto later = [](const Departure& a, const Departure& b) { return a.at < b.at; };
      auto& list = mine.outstanding;
      list.insert(std::upper_bound(list.begin(), list.end(), departure, later), departure);
      mine.latest = std::max(mine.latest, departure.at);
    }
    if (booking.ask_again == 0) return;
    told_to(booking.scope, mine) = std::max(booking.ask_again, now + 1);
    for (auto& lane : lanes) {
      const bool meant = booking.scope == Booking::Scope::upstream || &lane == &mine ||
                         (booking.scope == Booking::Scope::route && of_route(lane));
      Time& named = lane.not_before[static_cast<std::size_t>(mine.weight)];
      if (meant) named = std::max(named, booking.not_before);
    }
  }
  /// The answer that has taken its time.
  Booking take_answer(Time now, PerLane& mine) {
    mine.asking = false;
    note(now, mine, mine.answer);
    return std::exchange(mine.answer, {});
  }
  /// That answer named a permit, and such a permit has come free meanwhile: landed() could not tell of it.
  bool must_tell_of_permit(LaneKey lane, const Booking& answer) {
    return answer.stop == Booking::Stop::permit && !permits_of(lane, answer.scope).full();
  }
  std::optional<Time> next_answer() const {
    std::optional<Time> next;
    for (const auto& lane : lanes) {
      if (lane.asking) next = std::min(next.value_or(lane.answer_at), lane.answer_at);
    }
    return next;
  }

  void draw_permits() {
    permits_of_all.capacity = dice_.one_of(std::array{0, 1, 3});
    permits_of_route.capacity = dice_.one_of(std::array{0, 1, 2});
    const int of_each_group = dice_.one_of(std::array{0, 0, 1, 2});
    for (Permits& permits : permits_of_group) permits.capacity = of_each_group;
  }
  /// No permit is free for that lane.
  bool lacks_permit(LaneKey lane) {
    return std::ranges::any_of(permits_of(lane), [](const Permits* one) { return one->full(); });
  }
  int permits_held() const {
    int held = permits_of_all.held + permits_of_route.held;
    for (const Permits& permits : permits_of_group) held += permits.held;
    return held;
  }
  bool somebody_asks() const { return std::ranges::any_of(lanes, &PerLane::asking); }
  Time told_until(const PerLane& lane) const {
    return std::max({lane.told_until, all_told_until, of_route(lane) ? route_told_until : 0});
  }

  std::array<PerLane, kLanes.size()> lanes;
  Time all_told_until = 0, route_told_until = 0;
  Permits permits_of_all, permits_of_route;
  std::array<Permits, 3> permits_of_group;

 private:
  bool of_route(const PerLane& lane) const {
    return !kLanes[static_cast<std::size_t>(&lane - lanes.data())].route.empty();
  }
  Time& told_to(Booking::Scope scope, PerLane& lane) {
    if (scope == Booking::Scope::group) return lane.told_until;
    return scope == Booking::Scope::route ? route_told_until : all_told_until;
  }
  /// Those of the route first: of equal frontiers the first stops the lane.
  std::vector<Limit*> limits_of(std::string_view route) const {
    std::vector<Limit*> limits;
    if (!route.empty()) {
      for (const auto& limit : of_route_) limits.push_back(limit.get());
    }
    for (const auto& limit : of_all_) limits.push_back(limit.get());
    return limits;
  }
  Permits& permits_of(LaneKey lane, Booking::Scope scope) {
    if (scope == Booking::Scope::group) return permits_of_group[number_of(LaneKey(lane.group))];
    return scope == Booking::Scope::route ? permits_of_route : permits_of_all;
  }
  std::vector<Permits*> permits_of(LaneKey lane) {
    std::vector<Permits*> all{&permits_of_all, &permits_of(lane, Booking::Scope::group)};
    if (!lane.route.empty()) all.push_back(&permits_of_route);
    return all;
  }
  void release(LaneKey lane) {
    for (Permits* permits : permits_of(lane)) EXPECT_GE(--permits->held, 0) << "a permit that was not held";
  }
  /// Where several are full, any of them may be named.
  Booking::Scope scope_of_full(LaneKey lane) {
    using enum Booking::Scope;
    std::vector<Booking::Scope> full;
    for (const auto scope : {upstream, group, route}) {
      if ((scope != route || !lane.route.empty()) && permits_of(lane, scope).full()) full.push_back(scope);
    }
    return full[dice_.below(full.size())];
  }
  void answer(Time now, const Ask& ask, Booking& booking) {
    const std::vector<Limit*> limits = limits_of(ask.route);
    Ask with_permits = ask;
    for (const Permits* permits : permits_of(ask.lane())) {
      const int left = permits->capacity == 0 ? 1'000 : std::max(0, permits->capacity - permits->held);
      with_permits.count = std::min(with_permits.count, static_cast<std::size_t>(left));
    }
    if (with_permits.count > 0) compose(now, with_permits, limits, booking);
    for (Permits* permits : permits_of(ask.lane())) permits->held += static_cast<int>(booking.departures.size());
    for (Departure& departure : booking.departures) departure.epoch = epoch_;
    if (booking.departures.size() == with_permits.count && with_permits.count < ask.count) {
      booking.stop = Booking::Stop::permit;
      booking.scope = scope_of_full(ask.lane());
      return;
    }
    const bool of_the_route = !ask.route.empty() && booking.limited_by >= 0 &&
                              static_cast<std::size_t>(booking.limited_by) < of_route_.size();
    if (of_the_route) booking.scope = Booking::Scope::route;
    if (dice_.one_in(of_the_route ? 4 : 2)) booking.scope = Booking::Scope::group;
  }

  Limits of_all_, of_route_;
  Dice& dice_;
  bool slow_;
  int heaviest_;
  ConfigEpoch epoch_ = 0;
};

}  // namespace penstock::flow
