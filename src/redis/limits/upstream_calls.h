// SPDX-License-Identifier: Apache-2.0
// The calls to Redis for one upstream: the limits that they tell, the generation in which they are made, and how this
// process stands to Redis. The other objects of a SharedLimiter, which live as long, call through it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/weak_self.h"
#include "flow/group_hash.h"
#include "flow/limiter.h"
#include "redis/limits/asked_left.h"
#include "redis/limits/book_reply.h"
#include "redis/limits/clock_map.h"
#include "redis/limits/group_key.h"
#include "redis/limits/known_memory.h"
#include "redis/limits/script_args.h"
#include "redis/limits/shared_redis.h"

namespace penstock::redis {

class UpstreamCalls {
 public:
  enum class Standing : std::uint8_t {
    connected,   ///< the limits are asked for in Redis
    recovering,  ///< Redis answers, but has not heard yet what this process remembers
    down,        ///< Redis does not answer, or not as it should
  };
  /// Called for each call that failed.
  using OnFailure = std::function<void(const Failure& why)>;

  /// `limits` are copied.
  UpstreamCalls(SharedRedis& shared, std::string upstream, const std::vector<LimitConfig>& limits,
                OnFailure on_failure);

  SharedRedis& shared() const { return shared_; }
  /// The one that keeps the upstream's keys; null: none is known.
  Redis* redis() const { return shared_.servers().server_for(slot_); }
  const std::string& upstream() const { return upstream_; }
  const ScriptArgs& args() const { return args_; }
  flow::Time now() const { return shared_.loop().now(); }
  WhenDown when_down() const { return shared_.config().when_down; }
  GroupKey key_of(std::string_view group) const { return {hash_, group}; }
  /// For callbacks: null when the limiter is gone.
  base::WeakSelf<UpstreamCalls>::Ref ref() const { return self_.ref(); }
  void change(const std::vector<LimitConfig>& limits) { args_.set_limits(limits), asked_left_.clear(), ++changes_; }
  /// How often the limits have changed: the reply to a call is about the limits that it told.
  std::uint64_t changes() const { return changes_; }

  Standing standing() const { return standing_; }
  bool connected() const { return standing_ == Standing::connected; }
  void set_standing(Standing standing) { standing_ = standing; }
  KnownMemory& memory() { return memory_; }
  const KnownMemory& memory() const { return memory_; }
  /// The script clock, as far as known.
  const ClockMap& clock() const { return clock_; }
  /// To be called with each reply to an ask.
  void on_reply(const BookReply& reply);
  /// False: the call failed, and OnFailure was called.
  bool worked(const Outcome& outcome) const;

  struct Book {
    int alive = 1;
    bool touch = false;        ///< tell that this process is alive, and its limits in full
    bool has_unknown = false;  ///< this process remembers what Redis does not know
    std::string_view group;
    std::string_view route = {};
    std::size_t count = 0;
    flow::Load load = {};
    std::int64_t more = 0;
    std::span<const std::string> permits = {};
    std::span<const flow::LimitIndex> without = {};  ///< quarantined limits
  };
  /// For these calls: false: Redis is down, and `done` will not be called. Otherwise it is called once, later, and has
  /// to check ref() first.
  bool book(flow::Time now, const Book& book, Call::Done done);
  /// When an ask did it last; 0 or earlier: none did.
  flow::Time touched() const { return touched_; }

  void give_back(flow::LaneKey lane, std::int64_t at, const flow::Load& load,
                 std::span<const flow::LimitIndex> without);
  void settle(flow::LaneKey lane, const flow::Departure& departure, int cost,
              std::span<const flow::LimitIndex> without);
  void report_late(flow::LaneKey lane, std::span<const ScriptArgs::Move> moves,
                   std::span<const flow::LimitIndex> without);
  void refused(flow::LaneKey lane, std::int64_t departed, std::span<const flow::LimitIndex> without);
  void learned(std::string_view group, const ScriptArgs::Learned& learned);
  /// As in ScriptArgs.
  void cancel_wait(std::string_view line);
  /// `shortens`: none begins, and one that Redis keeps ends so soon at the latest.
  bool pause(std::string_view group, flow::Time length, Call::Done done, bool shortens = false);
  bool reset(flow::LimitIndex counter, flow::LaneKey lane, Call::Done done);
  /// `group` is the hash. A semaphore that is gone (`place` kNoLimit) is told by `semaphore`.
  bool permits(const LimitConfig& semaphore, flow::LimitIndex place, std::string_view group, std::string_view told,
               int alive, Call::Done done);
  void begin_replay(ScriptArgs::Replay what, const ScriptArgs::HandedIn& handed_in);
  void add_state(flow::LimitIndex limit, std::string_view group, std::string_view state, std::string_view untold);
  bool replay(Call::Done done);
  /// For people: a script that books nothing, with what `fill` adds. OnFailure is not called.
  using Fill = std::function<void(const ScriptArgs& args, ScriptCall& into)>;
  bool look(Script script, const Fill& fill, Call::Done done);
  void publish(std::string_view words) { shared_.publish_to_all(upstream_ + " " + std::string(words)); }

 private:
  /// Without `done` nothing is called but OnFailure, where it fails.
  bool call(Script script, Call::Done done = {});

  SharedRedis& shared_;
  const std::string upstream_;
  const flow::GroupHash hash_;
  const OnFailure on_failure_;
  ScriptArgs args_;
  std::uint64_t changes_ = 0;
  const Slot slot_;  // of all keys of the upstream
  ClockMap clock_;
  ScriptCall call_;  // reused, to save allocations
  Standing standing_ = Standing::down;
  KnownMemory memory_;
  flow::Time touched_;
  AskedLeft asked_left_;  // of routes that have limits of their own
  base::WeakSelf<UpstreamCalls> self_{this};
};

/// Half a second after the last ask that did it, an ask is to `touch`: a process that asks needs no extra call.
inline bool touch_due(const UpstreamCalls& calls, flow::Time now) { return now - calls.touched() >= AskedLeft::kEvery; }

inline LaneLines lines_of(const UpstreamCalls& calls, flow::LaneKey lane) {
  const GroupKey group = calls.key_of(lane.group);
  return calls.args().routes().lines_of(flow::LaneKey(group, lane.route));
}

inline bool recovering(const UpstreamCalls& calls) { return calls.standing() == UpstreamCalls::Standing::recovering; }

}  // namespace penstock::redis
