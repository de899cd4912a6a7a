// SPDX-License-Identifier: Apache-2.0
// How much waits for the upstream's limits in other processes, and how these limits stand over all of them: for a
// forecast, as of the last time that one was asked for. Nothing is asked otherwise. Other processes are told that this
// one looks; they report how much waits there, and a little later Redis is asked for all of it. For seen_limits.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "flow/local_limiter.h"
#include "flow/rehearsed_line.h"
#include "loop/timer.h"
#include "penstock/limits.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class LineLook {
 public:
  /// The message by which a process is told that another one looks.
  static constexpr std::string_view kMessage = "ahead";
  /// What Redis told longer ago (µs) is not used.
  static constexpr flow::Time kKnownFor = 50'000;
  /// A look takes no longer than this.
  static constexpr flow::Time kMost = 45'000;

  /// Both must outlive this; change() must be called when `limits` have changed.
  LineLook(UpstreamCalls& calls, const std::vector<LimitConfig>& limits);

  void change() { seen_.reset(); }
  /// Redis has answered an ask since.
  void is_old() { seen_.reset(); }
  /// Calls `told` later, once, unless this object ends first. False: there is nothing to ask.
  bool look(flow::Time now, std::function<void()> told);
  /// Another process looks: it is told how much waits here, unless that was told to another one just now.
  void report(const flow::LimiterEvents& here);

  struct Seen {
    std::vector<flow::InLine> line = {};  ///< senior first
    /// Those of the whole upstream that are shared are in the state that all processes have brought them to.
    std::unique_ptr<flow::LocalLimiter> limits;
    flow::Time received = 0;
  };
  /// Null: nothing was told lately.
  const Seen* seen(flow::Time now) const { return seen_ && now - seen_->received <= kKnownFor ? &*seen_ : nullptr; }

 private:
  static constexpr flow::Time kUntilReported = 5'000;  // µs, from the message to the reports
  enum class Step : std::uint8_t { none, telling, awaiting_reports, reading };

  void ask(ScriptArgs::LookAhead what);
  void answered(const Outcome& outcome, ScriptArgs::LookAhead what);
  bool read(const Outcome& outcome);
  void time_passed();
  void end();

  UpstreamCalls& calls_;
  const std::vector<LimitConfig>& limits_;
  Step step_ = Step::none;
  std::uint64_t round_ = 0;  // answers to earlier looks come too late
  std::vector<std::function<void()>> waiting_;
  std::optional<Seen> seen_;
  flow::Time reported_ = std::numeric_limits<flow::Time>::min() / 2;
  loop::Timer timer_;
};

}  // namespace penstock::redis
