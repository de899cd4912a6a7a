// SPDX-License-Identifier: Apache-2.0
// A copy of limits, with which a rehearsal (rehearsal.h) tries out what leaves when. It books in the copy alone. Where
// processes share limits, it answers as Redis would, after a round trip, and the other processes ask, too.
// Internal to flow/ and redis/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/departure_search.h"
#include "flow/limit_set.h"
#include "flow/limiter.h"
#include "flow/rehearsed_line.h"
#include "penstock/limits.h"

namespace penstock::flow {

class RehearsedLimiter final : public Limiter {
 public:
  RehearsedLimiter(LimitSet limits, const LimitClock& clock, ConfigEpoch epoch)
      : limits_(std::move(limits)), clock_(clock), epoch_(epoch) {}

  /// From now on it refuses every request: its limits cannot be asked.
  void refuse() { refuses_ = true; }

  // Where processes share limits. Call in this order, before the first ask.
  /// Answers come after a round trip, and say when to ask again as the booking script does.
  void answer_as_redis(Time round_trip, Time lead) { round_trip_ = std::max<Time>(round_trip, 1), lead_ = lead; }
  /// The processes that stand in the line, as of that time.
  void share_with(const std::vector<InLine>& line, Time as_of);
  /// Where only the number of other processes is known: in each more waits than will leave.
  void share_with(const OtherProcesses& others, Time as_of);
  bool plays_others() const { return line_.has_value(); }
  /// What was told last of a lane, and of all that this scope stops: no request leaves before that time, because of
  /// that limit, if that is known.
  struct Told {
    Time until = 0;
    LimitIndex by = kNoLimit;
    Booking::Scope scope = Booking::Scope::group;
  };
  void hold_by(std::function<Told(LaneKey lane)> told) { told_ = std::move(told); }
  /// `heard` has the same limits in the state that all processes have brought them to. It must outlive this.
  /// `is_whole`: all of that was told, just now; otherwise a departure needs what is known here, too.
  void add(const LimitSet& heard, bool is_whole);

  /// How long the answer to an ask takes; 0: it is there at once.
  Time answers_after() const { return round_trip_; }
  /// When the message about a counter's reset in Redis reaches this process; for a limit of another kind: never.
  Time called_at(LimitIndex by, Time not_before) const;
  Time patience() const override { return round_trip_; }
  Time lead() const override { return lead_; }
  /// True: what was told before is the answer, at once. Otherwise ask() has it, which is always filled in here; the
  /// caller holds it back for answers_after().
  bool holds(Time now, const Ask& ask, Booking& booking);
  bool ask(Time asked, const Ask& ask, Booking& booking) override;
  LimitIndex forbids(const Load& load, std::string_view route) const override {
    return forbidding(limits_, load, route);
  }
  Time ahead(Time now, LaneKey, std::int64_t, const OtherUnits&) const override { return now; }
  void give_back(Time now, LaneKey lane, const Departure& departure) override;
  bool landed(Time now, LaneKey lane) override;
  void cancel_wait(Time, Booking::Scope, LaneKey) override {}
  void pause(Time, std::string_view, Time) override {}
  bool has_room_for(std::string_view) const override { return true; }
  bool forgettable(Time) const override { return false; }
  void change(Time, const std::vector<LimitConfig>&) override {}

 private:
  /// When a process asks that is to depart at `until`.
  Time asks_for(Time until, Booking::Scope scope) const;
  void ask_again_as_redis(Time now, Booking& booking) const;
  /// Those limits that the line is for.
  std::vector<SharedLimit> shared_limits();
  void grant(Time now, const Ask& ask, LimitSet::Group* group, std::size_t most, Booking& booking);
  void tell_as_line(Time now, SharedLimits shared, const Ask& ask, Booking& booking);
  /// Asks are answered half a round trip after they were put, and limits never look back.
  Time reached(Time now) { return latest_ = std::max(latest_, now); }

  LimitSet limits_;
  const LimitClock clock_;
  const ConfigEpoch epoch_;
  std::function<Told(LaneKey lane)> told_;
  std::optional<RehearsedLine> line_;  // none: no other process shares the limits
  bool refuses_ = false;
  Time round_trip_ = 0;
  Time lead_ = kHorizon;
  Time latest_ = std::numeric_limits<Time>::min();
};

}  // namespace penstock::flow
