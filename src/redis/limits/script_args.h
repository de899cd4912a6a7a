// SPDX-License-Identifier: Apache-2.0
// Formats one upstream's limits as keys and arguments for the scripts of lua/, in the order that each script states at
// its top. Only shared limits appear; a limit's index among those that govern the lane is its number in a script. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/lane_key.h"
#include "flow/limiter.h"
#include "penstock/limits.h"
#include "redis/limits/arg_buffer.h"
#include "redis/limits/group_key.h"
#include "redis/limits/route_lines.h"

namespace penstock::redis {

struct ScriptCall {
  Words keys, arguments;
  void clear() { keys.clear(), arguments.clear(); }
};

/// Where a lane is passed, its group is the hash, and its route the name.
class ScriptArgs {
 public:
  /// `process_name` is this process's name.
  ScriptArgs(std::string_view prefix, std::string_view upstream, std::string_view process_name,
             const std::vector<LimitConfig>& limits);
  /// Replaces the limits. A call that was filled before and not sent must not be sent any more.
  void set_limits(const std::vector<LimitConfig>& limits);
  /// The key that every call has. All keys have the upstream as hash tag.
  std::string_view head() const { return head_; }

  struct Asked {
    std::string_view generation, fresh_generation;
    int alive = 0;
    bool touch = false;               ///< tell the limits in full
    std::string_view processes = {};  ///< with a touch: the key of all processes, to be counted among them; else empty
    bool left = true;                 ///< ask what is left of each limit
    bool lists = false;               ///< also of slidingWindows, which costs more; a touch does so
    std::string_view group;           ///< its hash; empty: no group's limits apply
    std::string_view route = {};
    std::size_t count = 0;
    flow::Load load = {};
    std::int64_t more = 0;                           ///< units beyond these that would leave, too
    std::span<const std::string> permits = {};       ///< what is told of each semaphore that applies, in order
    std::span<const flow::LimitIndex> without = {};  ///< limits left out; they keep their numbers
  };
  void book(ScriptCall& call, const Asked& asked) const;
  void give_back(ScriptCall& call, std::string_view generation, flow::LaneKey lane, std::int64_t at,
                 const flow::Load& load, std::span<const flow::LimitIndex> without = {}) const;
  /// A departure booked for `from` that left at `to`, in µs on the script clock.
  struct Move {
    std::int64_t from, to;
    flow::Load load;
  };
  void report_late(ScriptCall& call, std::string_view generation, flow::LaneKey lane, std::span<const Move> moves,
                   std::span<const flow::LimitIndex> without = {}) const;
  /// A request that has left with this departure has cost something else than was reserved for it. `without` need not
  /// name limits that count weights.
  void settle(ScriptCall& call, std::string_view generation, flow::LaneKey lane, const flow::Departure& departure,
              int cost, std::span<const flow::LimitIndex> without = {}) const;
  /// The upstream refused a request whose departure was at `departed`, in µs on the script clock.
  void refused(ScriptCall& call, std::string_view generation, flow::LaneKey lane, std::int64_t departed,
               std::span<const flow::LimitIndex> without = {}) const;
  /// What an answer says that the upstream has counted, with times on the script clock.
  struct Learned {
    flow::LimitIndex limit;
    std::int64_t departed, count, resets;
  };
  void learned(ScriptCall& call, std::string_view generation, std::string_view group, const Learned& learned) const;
  /// `line` as in LaneLines; empty: that of the upstream.
  void cancel_wait(ScriptCall& call, std::string_view generation, std::string_view line) const;
  void pause(ScriptCall& call, std::string_view group, std::int64_t for_so_long) const;
  void shorten_pause(ScriptCall& call, std::string_view group, std::int64_t for_so_long) const;
  void permits(ScriptCall& call, std::string_view fresh_generation, int alive, std::string_view group,
               flow::LimitIndex limit, std::string_view told) const;
  /// The limit to which a key belongs, and the hash of its group; nothing: the key is not one of our limits'.
  std::optional<std::pair<flow::LimitIndex, std::string_view>> limit_of(std::string_view key) const;
  /// For a lane that waits for it, if it is the counter of a group or a route.
  void reset(ScriptCall& call, std::string_view generation, flow::LaneKey lane, flow::LimitIndex limit) const;

  /// Which part of a hand-in a call is: what is handed in takes several calls if it is much.
  enum class Replay : std::uint8_t { more_follows, last, more_follows_afterwards, afterwards };
  struct HandedIn {
    std::string_view booked_in = {};  ///< generation of the bookings; empty: Redis was told of none of them
    std::string_view lately = {};     ///< at most so many units came after what an old head knew; empty: any number
  };
  void begin_replay(ScriptCall& call, std::string_view generation, Replay what, const HandedIn& replayed) const;
  /// `untold`: the part of the state that Redis was told of in no generation.
  void add_state(ScriptCall& call, flow::LimitIndex limit, std::string_view group, std::string_view state,
                 std::string_view untold = {}) const;

  /// A limit, and the hash of the group whose it is; empty: of the upstream itself.
  using OfGroup = std::pair<flow::LimitIndex, std::string>;
  void look(ScriptCall& call, std::span<const OfGroup> limits) const;
  /// Has other processes told that this one looks ahead, or reads what they reported.
  enum class LookAhead : std::uint8_t { tell, read };
  void look_ahead(ScriptCall& call, LookAhead what) const;
  /// Reports to processes that look ahead how much waits here, and when this one asks next, by the script clock.
  void report_waiting(ScriptCall& call, const flow::WaitingUnits& units, std::int64_t asks_at) const;
  /// The places of the numbers that limits have in look_ahead(): those of the whole upstream, without semaphores.
  std::vector<flow::LimitIndex> places_ahead() const;

  /// Which of the limits govern a lane, and its lines.
  const RouteLines& routes() const { return routes_; }
  /// The places of all shared limits in the configuration.
  const std::vector<flow::LimitIndex>& places() const { return places_; }
  bool shares(flow::LimitIndex limit) const { return find(limit) != nullptr; }
  std::size_t shared() const { return limits_.size(); }
  /// A limit of the whole upstream, not a semaphore, holds lanes of every group and route.
  bool holds_all() const { return holds_all_; }
  /// That limit counts the cost; without one, some shared limit does.
  bool counts_cost(flow::LimitIndex limit = flow::kNoLimit) const {
    if (!counts_cost_ || limit == flow::kNoLimit) return counts_cost_;
    const Limit* known = find(limit);
    return known && known->by_cost();
  }
  /// What other processes are told of these limits.
  const std::string& limits_report() const { return limits_report_; }

 private:
  struct Limit {
    flow::LimitIndex place;
    bool of_group;
    bool counts_ahead;  // it is of the whole upstream, and no semaphore
    std::string route;  // empty: it governs all requests
    std::string key;    // for a group's limit a prefix: the hash is appended
    bool governs(flow::LaneKey lane) const {
      return !(of_group && lane.group.empty()) && (route.empty() || route == lane.route);
    }
    bool by_cost() const { return arguments[2] == "D" || arguments[2] == "R"; }
    std::array<std::string, 6> arguments;  // kind, scope, mode, three numbers
  };

  const Limit* find(flow::LimitIndex limit) const;
  void add_key(Words& keys, const Limit& limit, std::string_view group) const;
  void add_limits(ScriptCall& call, flow::LaneKey lane, std::span<const flow::LimitIndex> without,
                  std::span<const std::string> permits = {}) const;
  /// Of a weight alone, where no limit counts the cost.
  void add_load(Words& words, const flow::Load& load) const {
    counts_cost_ ? words.numbers(load.weight, load.cost) : words.number(load.weight);
  }
  void add_line(Words& keys, std::string_view line) const { keys.join({line_, line}); }

  const std::string upstream_, process_name_, channel_, begin_;
  const std::string head_, alive_, pause_, line_, waiting_;
  static constexpr std::string_view kTellsNothing = "0:0:0:0:0:0:0";  // of a semaphore

  std::string hash_, limits_report_;  // of the shared limits, see limits_text.h
  std::vector<Limit> limits_;
  bool holds_all_ = false;
  bool counts_cost_ = false;
  std::vector<flow::LimitIndex> places_;
  RouteLines routes_;
};

}  // namespace penstock::redis
