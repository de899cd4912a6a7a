// SPDX-License-Identifier: Apache-2.0
// Tells Redis what this process remembers and Redis does not know: what was granted without it, or, after a loss of
// memory, everything. For recovery.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "redis/limits/quarantine.h"
#include "redis/limits/shadow.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class MemoryReplay {
 public:
  struct Outcome {
    bool all = false;    ///< everything was told, and heard
    bool stale = false;  ///< Redis has another generation by now
    bool open = false;   ///< it grants departures in this one
  };
  /// Called when all calls of one telling were answered or failed; not if a later one tells the same.
  using Done = std::function<void(const Outcome&)>;

  /// All must outlive this.
  MemoryReplay(UpstreamCalls& calls, Shadow& shadow, const Quarantine& quarantine, Done done);

  /// Redis has lost its memory: everything is unknown to it that was booked in this generation.
  void all_is_lost(const std::string& generation);
  bool has_unknown() const { return shadow_.has_unknown(); }
  /// The generation in which what is remembered was booked; empty: none is known.
  const std::string& booked_in() const { return booked_in_.empty() ? calls_.memory().generation() : booked_in_; }
  /// `afterwards`: of a process that may have handed in before; `last`: of one that has not, and then has.
  void start(ScriptArgs::Replay what);

 private:
  struct State {
    flow::LimitIndex limit;
    std::string group, text, untold;
  };
  struct Telling;

  std::vector<State> states(std::uint64_t& telling) const;
  std::string lately();
  void part_answered(Telling& telling, const redis::Outcome& outcome);
  void end(const Telling& telling);

  UpstreamCalls& calls_;
  Shadow& shadow_;
  const Quarantine& quarantine_;
  const Done done_;
  std::string booked_in_;  // generation of what is remembered, until all is handed in to the next
};

}  // namespace penstock::redis
