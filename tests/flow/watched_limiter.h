// SPDX-License-Identifier: Apache-2.0
// A limiter for random sequences: it is watched, stops now one lane and now all, and its answers take their time if so
// wished. The dice are what it decides by.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "flow/limits.h"

namespace penstock::flow {

inline constexpr std::array<std::string_view, 3> kGroups{"", "a", "b"};
inline std::size_t number_of(std::string_view group) { return group.empty() ? 0 : group == "a" ? 1 : 2; }

/// Small, fast and the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <typename T, std::size_t N>
  T one_of(const std::array<T, N>& choices) {
    return choices[below(N)];
  }

 private:
  std::mt19937_64 engine_;
};

/// A PlainBooker that is watched, that stops now one lane and now all, and whose answers take their time if so wished.
class WatchedLimiter final : public Limiter {
 public:
  struct PerGroup {
    std::vector<Departure> outstanding;  // granted, neither taken nor given back; ascending
    bool asking = false;
    Time told_until = 0;  // when it was last told to ask again
    Time latest = 0;      // the latest moment ever named to it
    Booking answer;       // while asking
    Time answer_at = 0;
  };

  WatchedLimiter(std::vector<std::unique_ptr<Limit>> limits, Dice& dice, bool slow, int heaviest)
      : plain_(std::move(limits)), dice_(dice), slow_(slow), heaviest_(heaviest) {}

  bool ask(Time now, const Ask& ask, Booking& booking) override {
    PerGroup& mine = groups[number_of(ask.group)];
    EXPECT_FALSE(mine.asking) << "one ask at a time";
    EXPECT_GT(ask.count, 0u);
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
  LimitIndex forbids(int weight, std::string_view) const override { return weight > heaviest_ ? 0 : kNoLimit; }
  Time ahead(Time now, LaneKey, std::int64_t, const OtherUnits&) const override { return now; }
  bool landed(Time, LaneKey) override { return false; }
  void pause(Time, std::string_view, Time) override {}
  bool has_room_for(std::string_view) const override { return true; }
  bool forgettable(Time) const override { return true; }
  void change(Time, const std::vector<LimitConfig>&) override {}
  void cancel_wait(Time now, Booking::Scope scope, LaneKey lane) override {
    Time& told = scope == Booking::Scope::group ? groups[number_of(lane.group)].told_until : all_told_until;
    told = std::min(told, now);
  }
  void give_back(Time now, LaneKey lane, const Departure& departure) override {
    auto& outstanding = groups[number_of(lane.group)].outstanding;
    const auto same = [&](const Departure& one) {  // its limit may have another number by now
      return one.at == departure.at && one.weight == departure.weight && one.epoch == departure.epoch;
    };
    const auto found = std::ranges::find_if(outstanding, same);
    ASSERT_NE(found, outstanding.end()) << "given back, but never granted";
    if (departure.epoch == epoch_) plain_.give_back(now, lane, *found);
    outstanding.erase(found);
  }
  /// What was told is void, that in answers under way too; what was granted stays.
  void replace_limits(Time now, std::vector<std::unique_ptr<Limit>> limits) {
    plain_ = PlainLimiter(std::move(limits));
    ++epoch_;
    all_told_until = now;
    for (auto& group : groups) {
      group.told_until = now;
      Booking& answer = group.answer;
      if (answer.ask_again != 0) answer.ask_again = answer.not_before = now;
    }
  }
  void note(Time now, PerGroup& mine, const Booking& booking) {
    for (const Departure& departure : booking.departures) {
      if (departure.weight == 0) continue;
      const auto later = [](const Departure& a, const Departure& b) { return a.at < b.at; };
      auto& list = mine.outstanding;
      list.insert(std::upper_bound(list.begin(), list.end(), departure, later), departure);
      mine.latest = std::max(mine.latest, departure.at);
    }
    if (booking.ask_again == 0) return;
    const bool alone = booking.scope == Booking::Scope::group;
    (alone ? mine.told_until : all_told_until) = std::max(booking.ask_again, now + 1);
    for (auto& group : groups) {
      if (!alone || &group == &mine) group.latest = std::max(group.latest, booking.not_before);
    }
  }
  std::optional<Time> next_answer() const {
    std::optional<Time> next;
    for (const auto& group : groups) {
      if (group.asking) next = std::min(next.value_or(group.answer_at), group.answer_at);
    }
    return next;
  }

  bool somebody_asks() const { return std::ranges::any_of(groups, &PerGroup::asking); }
  Time told_until(const PerGroup& group) const { return std::max(group.told_until, all_told_until); }

  std::array<PerGroup, kGroups.size()> groups;
  Time all_told_until = 0;

 private:
  void answer(Time now, const Ask& ask, Booking& booking) {
    plain_.ask(now, ask, booking);
    for (Departure& departure : booking.departures) departure.epoch = epoch_;
    if (dice_.one_in(2)) booking.scope = Booking::Scope::group;
  }

  PlainLimiter plain_;
  Dice& dice_;
  bool slow_;
  int heaviest_;
  ConfigEpoch epoch_ = 0;
};

}  // namespace penstock::flow
