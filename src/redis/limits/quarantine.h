// SPDX-License-Identifier: Apache-2.0
// A limit under whose key Redis has a foreign value is quarantined, of the upstream, a route or a single group: it goes
// by `whenDown`, without the other processes, while all other limits are shared. Each second this process tries whether
// the value has gone. For shared_limiter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/lane_key.h"
#include "flow/limiter.h"
#include "penstock/limits.h"
#include "redis/limits/fleet.h"
#include "redis/limits/shadow.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class Quarantine {
 public:
  /// All must outlive this; `limits` are those that the calls tells. `on_change` is called when the first or last
  /// limit may have come or gone; with true, lanes may leave that were told to wait.
  using OnChange = std::function<void(bool lanes_may_leave)>;
  Quarantine(UpstreamCalls& calls, Shadow& shadow, const Fleet& fleet, const std::vector<LimitConfig>& limits,
             OnChange on_change);

  bool empty() const { return all_.empty(); }
  /// The quarantined limits that apply to this lane, including the upstream's own.
  std::vector<flow::LimitIndex> of(flow::LaneKey lane) const;
  /// Empty group: the limit is not one of a group.
  bool contains(flow::LimitIndex limit, std::string_view group) const { return contains(Part{limit, group}); }

  /// Whether a call failed because of a limit that can be quarantined: the next ask that meets it does so.
  bool concerns(const Failure& why) const { return limit_in(why).has_value(); }
  /// An ask of this lane, sent without these limits, has failed. True: because of a limit that is quarantined now, so
  /// the ask may be sent once more without it.
  bool met(flow::LaneKey lane, std::span<const flow::LimitIndex> without, const Failure& why);
  /// To be called each second while Redis is asked.
  void tick();
  /// The limits have changed; `moved` maps their places.
  void change(std::span<const flow::LimitIndex> moved);
  /// All that go by this process's part: none, unless `whenDown` is share.
  std::vector<flow::LimitIndex> by_part() const;

 private:
  static constexpr std::size_t kMost = 64;  // each is tried once a second, and searched on each ask

  struct Part {
    Part(flow::LimitIndex its_limit, std::string_view its_group) : limit(its_limit), group(its_group) {}
    flow::LimitIndex limit;
    std::string group;
    bool operator==(const Part&) const = default;
  };

  std::optional<std::pair<flow::LimitIndex, std::string_view>> limit_in(const Failure& why) const;
  bool contains(const Part& one) const { return std::ranges::find(all_, one) != all_.end(); }
  void try_together(const Part& one);
  void replay(const Part& one, std::string_view state, std::function<void()> taken);
  void leave(const Part& one);
  void divide();
  std::string named(const Part& one) const;

  UpstreamCalls& calls_;
  Shadow& shadow_;
  const Fleet& fleet_;
  const std::vector<LimitConfig>& limits_;
  const OnChange on_change_;
  std::vector<Part> all_;
};

}  // namespace penstock::redis
