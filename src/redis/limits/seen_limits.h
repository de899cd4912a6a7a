// SPDX-License-Identifier: Apache-2.0
// How the limits of one upstream stand over all processes, for people: as Redis told when somebody last looked. Nothing
// is asked while nobody looks. While Redis does not keep a limit, it stands as this process keeps its part of it. For
// shared_limiter.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/limiter.h"
#include "penstock/limits.h"
#include "redis/limits/line_look.h"
#include "redis/limits/quarantine.h"
#include "redis/limits/shadow.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class SeenLimits final : public flow::LimitReader {
 public:
  /// What Redis told longer ago (µs) is not shown.
  static constexpr flow::Time kKnownFor = 50'000;
  /// Somebody else has just looked: it is not asked again.
  static constexpr flow::Time kJustSeen = 5'000;

  /// All must outlive this; change() must be called when `limits` have changed.
  SeenLimits(UpstreamCalls& calls, Shadow& shadow, const Quarantine& quarantine,
             const std::vector<LimitConfig>& limits);

  void change() { seen_.clear(), line_.change(); }
  /// What else is known of other processes.
  LineLook& line() { return line_; }
  const LineLook& line() const { return line_; }
  /// Asks Redis, and calls `told` later, once, unless this object or Redis ends first. False: there is nothing to ask.
  bool look(flow::Time now, std::function<void()> told);

  void read(flow::Time now, std::string_view group, const TellReading& tell) const override;
  /// Those to which this process sends.
  std::vector<std::string> fullest_groups(flow::Time now, std::size_t most) const override {
    return shadow_.all().reader()->fullest_groups(now, most);
  }

 private:
  struct Seen {
    flow::LimitIndex limit;
    std::string group;
    flow::LimitReading reading;
  };
  void answered(const Outcome& outcome, flow::Time sent, std::vector<Seen> asked);
  bool kept_here(flow::LimitIndex limit, std::string_view group) const;
  flow::LimitReading of_all(flow::Time now, flow::LimitIndex limit, std::string_view group) const;

  UpstreamCalls& calls_;
  Shadow& shadow_;
  const Quarantine& quarantine_;
  const std::vector<LimitConfig>& limits_;
  LineLook line_;
  std::vector<Seen> seen_;
  flow::Time sent_ = std::numeric_limits<flow::Time>::min() / 2, received_ = 0;
};

/// How a limit stands, if so many units are left `until` then, and one more may leave from `opens` on: see look.lua.
struct Stands {
  flow::Instant now = 0, until = 0;
  double units = 0;
  flow::Instant opens = 0;
};
flow::LimitReading reading_of(const LimitConfig::Kind& kind, const Stands& stands);

}  // namespace penstock::redis
