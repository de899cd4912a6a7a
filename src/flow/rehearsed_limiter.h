// SPDX-License-Identifier: Apache-2.0
// A copy of limits, with which a rehearsal (rehearsal.h) tries out what leaves when. It answers at once, and books in
// the copy alone. Where processes share limits, it lets others leave between its own departures, as many as Redis
// would. Internal to flow/ and redis/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/departure_search.h"
#include "flow/limit_set.h"
#include "flow/limiter.h"
#include "penstock/limits.h"

namespace penstock::flow {

class RehearsedLimiter final : public Limiter {
 public:
  RehearsedLimiter(LimitSet limits, const LimitClock& clock, ConfigEpoch epoch)
      : limits_(std::move(limits)), clock_(clock), epoch_(epoch) {}

  // Where other processes share the limits. Call in this order, before the first ask.
  /// So many other processes wait for the limits that are shared, and each has as many requests as this one.
  void share_with(const OtherProcesses& others) { others_ = others.count, owed_ = others.had_less; }
  /// What was told last of a lane: none of its requests leaves before that time, because of that limit, if that is
  /// known.
  struct Told {
    Time until = 0;
    LimitIndex by = kNoLimit;
  };
  void hold_by(std::function<Told(LaneKey lane)> told) { told_ = std::move(told); }
  /// `heard` has the same limits in the state that all processes have brought them to, as far as that was told: a
  /// departure needs both. It must outlive this.
  void add(const LimitSet& heard);

  bool ask(Time now, const Ask& ask, Booking& booking) override;
  LimitIndex forbids(int weight, std::string_view route) const override;
  Time ahead(Time now, LaneKey, std::int64_t, const OtherUnits&) const override { return now; }
  void give_back(Time now, LaneKey lane, const Departure& departure) override;
  bool landed(Time now, LaneKey lane) override;
  void cancel_wait(Time, Booking::Scope, LaneKey) override {}
  void pause(Time, std::string_view, Time) override {}
  bool has_room_for(std::string_view) const override { return true; }
  bool forgettable(Time) const override { return false; }
  void change(Time, const std::vector<LimitConfig>&) override {}

 private:
  bool is_held(Time now, const Ask& ask, Booking& booking);
  void let_others_leave(Instant from, LaneKey lane, int weight);

  LimitSet limits_;
  const LimitClock clock_;
  const ConfigEpoch epoch_;
  std::function<Told(LaneKey lane)> told_;
  std::int64_t others_ = 0;
  std::int64_t owed_ = 0;  // units of other processes that leave before the next of this one; negative: after
};

}  // namespace penstock::flow
