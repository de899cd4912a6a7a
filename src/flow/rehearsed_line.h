// SPDX-License-Identifier: Apache-2.0
// The line in which processes stand that share limits, played on: when each asks, how much it is granted, and when it
// is told to come again. The steps are those of lua/book.lua, lua/line.lua and lua/level.lua, which say why they are
// so; a test of lua/ compares them. Only for limits of the whole upstream. Internal to flow/ and redis/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flow/limit.h"
#include "flow/limiter.h"

namespace penstock::flow {

/// A process in the line, senior first, as Redis and the process itself tell it. Times are of the limits' clock.
struct InLine {
  bool is_own = false;   ///< the process that looks ahead
  bool differs = false;  ///< its limits are others than that process'
  double had = 0;        ///< units that it was granted since it began to want, less the least of those that want
  double wants = 0;      ///< units that it would take now
  Instant at = 0;        ///< when it was told to expect its next departure
  // Of another process:
  double units = kMost;       ///< that wait there
  double per_second = 0;      ///< so many more come in each second
  Instant asks_at = kAlways;  ///< when it asks next; kAlways: that is not known
  static constexpr double kMost = 1e12;
};

/// A limit that the processes share, or a pause.
struct SharedLimit {
  Limit* limit;
  LimitIndex index;
  bool by_cost = false;  ///< it counts what requests cost: one unit of it must be free, and what does not fit is a debt
};
using SharedLimits = std::span<const SharedLimit>;

class RehearsedLine {
 public:
  /// How processes ask: how long a round trip takes, and how near the last departure is when a lane asks for more.
  struct Ways {
    Time round_trip = 0, lead = kHorizon;
  };
  /// As it stood at that moment. `all` may have no own process: it comes last when it asks.
  RehearsedLine(const std::vector<InLine>& all, Instant as_of, Ways ways);

  /// The others ask as they would until then, and are granted what the limits let pass.
  void play(SharedLimits limits, Instant until);
  /// How many there are, this one among them.
  std::size_t processes() const { return processes_.size(); }
  /// For how many asks the others have been played.
  std::size_t asks() const { return asks_; }

  /// What a process asks for: so many departures of that load, with units beyond these as in Ask::more.
  struct Asked {
    Instant now = 0;
    std::size_t count = 1;
    int weight = 1;
    std::int64_t more = 0;
    std::size_t who = 0;  ///< 0: the own one; the others as they stood in the line, from 1 on
    int cost = 1;
  };
  /// An ask has begun. Between this and end() call nothing else.
  void begin(SharedLimits limits, const Asked& asked) { enter(limits, asked); }
  /// How many departures the process may have now, and the limit that decides it.
  std::size_t most(SharedLimits limits) { return most_of(limits); }
  LimitIndex most_by() const { return turn_.most_by; }
  /// How an ask ended.
  struct Ended {
    std::size_t granted = 0;
    Instant last = 0;          ///< the last departure, or when it asked
    bool stopped = false;      ///< by limits of the whole upstream, or by the level
    Instant not_before = 0;    ///< what stopped it lets it depart then
    LimitIndex by = kNoLimit;  ///< what stopped it
  };
  /// What the process is told.
  struct Told {
    Instant not_before = 0;
    Instant again = kAlways;  ///< when to ask again; kAlways: when its last departure is near
    LimitIndex by = kNoLimit;
    bool awaits_reset = false;  ///< of a counter: called_after() has the time of the message, at which it asks again
  };
  /// After a reset, all that stand in the line are told of it: the one that leads has asked for it, and is as far away.
  static Instant called_after(Instant reset, Time round_trip) { return reset + static_cast<Instant>(round_trip); }
  Told end(SharedLimits limits, const Ended& ended) { return settle(limits, ended); }
  /// All of it, where no other limits govern the request.
  struct Answer {
    Ended ended;
    Told told;
  };
  Answer book(SharedLimits limits, const Asked& asked);

 private:
  static constexpr std::size_t kOwn = 0;
  struct Place {
    std::size_t who;
    double had = 0, wants = 0;
    Instant at = 0;
    // Of one that has other limits than the one that asks no more is counted than this.
    double most = 0, first = 0;
  };
  /// A process that asks for what waits in it.
  struct Process {
    bool differs = false;
    double units = 0, per_second = 0;
    Instant since = 0;  // of these units
    Instant asks_at = kNever;
    double waiting(Instant now) const;
    Instant has_one_at(Instant now) const;
  };
  /// The ask that is being decided.
  struct Turn {
    Asked asked;
    Place mine;
    std::vector<Place> others;  // those that have a claim
    std::size_t seniors = 0;    // how many of these are before it
    bool is_new = false, differ = false;
    Instant soonest = kNever;
    double least = 0, slack = 1, step = 1, passed = 0;
    std::int64_t most = 0;
    LimitIndex most_by = kNoLimit;
    Instant asks_by = kNever;
  };
  struct Moment {
    Instant at;
    LimitIndex by = kNoLimit;
  };

  void call_after_reset(SharedLimits limits);
  double in_weights(const SharedLimit& limit) const;
  static Moment earliest(SharedLimits limits, Instant from, int weight);
  static Moment ahead_of(SharedLimits limits, Instant now, double units, int weight);
  static Moment off_edges(SharedLimits limits, Moment moment);
  void enter(SharedLimits limits, const Asked& asked);
  void measure(SharedLimits limits, std::size_t among);
  std::size_t most_of(SharedLimits limits);
  double poured_to(double level) const;
  double units_first(std::size_t granted) const;
  Moment expect(SharedLimits limits, std::size_t granted);
  Told settle(SharedLimits limits, const Ended& ended);
  Instant comes_again(const Process& process, Instant asked, const Answer& answer) const;

  Ways ways_;
  std::vector<Process> processes_;  // the own one first
  std::vector<Place> line_;
  Turn turn_;
  std::size_t asks_ = 0;
};

}  // namespace penstock::flow
