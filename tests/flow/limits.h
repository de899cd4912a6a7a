// SPDX-License-Identifier: Apache-2.0
// For tests of lanes and slots: two limits as simple as limits can be (a gap between departures, and a number of units
// in each window), and a limiter that composes such limits for all lanes together.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "flow/limiter.h"

namespace penstock::flow {

class Spacing final : public Limit {
 public:
  explicit Spacing(Time gap) : gap_(gap) {}
  std::unique_ptr<Limit> copy() const override { return std::make_unique<Spacing>(*this); }
  Instant frontier(int) const override { return next_; }
  void commit(Instant at, int) override { next_ = at + gap_; }
  void give_back(Instant at, int) override {
    if (next_ == at + gap_) next_ = at;  // only the newest
  }
  Instant ahead(Instant now, std::int64_t units) const override {
    return std::max(now, next_) + static_cast<Instant>(units) * gap_;
  }
  Instant forgettable_at() const override { return next_; }
  LimitReading read(Instant now) const override { return {.opens_in = std::max(0.0, next_ - now)}; }

 private:
  Instant gap_;
  Instant next_ = 0;
};

class FixedWindow final : public Limit {
 public:
  FixedWindow(int reservoir, Time interval) : reservoir_(reservoir), interval_(interval) {}
  std::unique_ptr<Limit> copy() const override { return std::make_unique<FixedWindow>(*this); }
  Instant frontier(int weight) const override { return start_of(count_ + weight <= reservoir_ ? 0 : 1); }
  void commit(Instant at, int weight) override {
    const Time number = static_cast<Time>(at) / interval_;
    if (number > number_) number_ = number, count_ = 0;
    count_ += weight;
  }
  void give_back(Instant at, int weight) override {
    if (static_cast<Time>(at) / interval_ == number_) count_ -= weight;
  }
  Instant ahead(Instant, std::int64_t units) const override { return start_of((count_ + units) / reservoir_); }
  Instant forgettable_at() const override { return start_of(1); }
  LimitReading read(Instant) const override { return {.used = 1.0 * count_, .of = 1.0 * reservoir_}; }

 private:
  Instant start_of(Time later) const { return static_cast<Instant>((number_ + later) * interval_); }

  int reservoir_;
  Time interval_;
  Time number_ = 0;
  int count_ = 0;
};

/// Grants what these limits allow within the horizon. What is beyond it makes every lane wait.
inline void compose(Time now, const Ask& ask, std::span<Limit* const> limits, Booking& booking) {
  if (ask.weight == 0) booking.departures.push_back({.at = now, .weight = 0});  // what rested departs no more
  Time at = now;
  while (booking.departures.size() < ask.count) {
    LimitIndex by = kNoLimit;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      const Time frontier = static_cast<Time>(limits[i]->frontier(ask.weight));
      if (frontier > at) at = frontier, by = static_cast<LimitIndex>(i);
    }
    if (at > now + kHorizon) {
      booking.limited_by = by;
      booking.ask_again = at - kHorizon;
      booking.not_before = at;
      break;
    }
    for (Limit* limit : limits) limit->commit(static_cast<Instant>(at), ask.weight);
    booking.departures.push_back({at, ask.weight, by});
  }
}

/// Answers at once.
class PlainLimiter final : public Limiter {
 public:
  explicit PlainLimiter(std::vector<std::unique_ptr<Limit>> limits) : limits_(std::move(limits)) {
    for (const auto& limit : limits_) places_.push_back(limit.get());
  }

  bool ask(Time now, const Ask& ask, Booking& booking) override {
    if (const auto until = std::exchange(tells_of_pause, std::nullopt)) {
      booking.limited_by = kPause;
      booking.ask_again = booking.not_before = *until;
      return true;
    }
    compose(now, ask, places_, booking);
    return true;
  }
  LimitIndex forbids(const Load&, std::string_view) const override { return kNoLimit; }
  Time ahead(Time now, LaneKey, std::int64_t, const OtherUnits&) const override { return now; }
  void give_back(Time, LaneKey, const Departure& departure) override {
    for (const auto& limit : limits_) limit->give_back(static_cast<Instant>(departure.at), departure.weight);
  }
  bool landed(Time, LaneKey) override { return false; }
  void cancel_wait(Time, Booking::Scope, LaneKey) override {}
  void pause(Time, std::string_view, Time) override {}
  bool has_room_for(std::string_view) const override { return true; }
  bool forgettable(Time) const override { return true; }
  void change(Time, const std::vector<LimitConfig>&) override {}

  std::optional<Time> tells_of_pause;  ///< of the upstream, once

 private:
  std::vector<std::unique_ptr<Limit>> limits_;
  std::vector<Limit*> places_;
};

template <typename... Kinds>
std::vector<std::unique_ptr<Limit>> limits(Kinds... kinds) {
  std::vector<std::unique_ptr<Limit>> all;
  (all.push_back(std::make_unique<Kinds>(std::move(kinds))), ...);
  return all;
}

}  // namespace penstock::flow
