// SPDX-License-Identifier: Apache-2.0
// Decides how this process stands to Redis for one upstream. After an outage it hands in what was granted alone; after
// a loss of keys all that it remembers, and waits until the other processes have done so, too. Then it is connected.
//
//   down ── Redis is up, and something is to be told ──▶ recovering ── told, and the generation is open ──▶ connected
//     ◀── Redis is down, or does not answer as it should ── (from both)        recovering ◀── memory lost ── connected
//
// For shared_limiter.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "loop/timer.h"
#include "penstock/limits.h"
#include "redis/limits/book_reply.h"
#include "redis/limits/fallback.h"
#include "redis/limits/fleet.h"
#include "redis/limits/handover.h"
#include "redis/limits/memory_replay.h"
#include "redis/limits/quarantine.h"
#include "redis/limits/semaphores.h"
#include "redis/limits/sharing_notices.h"
#include "redis/limits/upstream_calls.h"
#include "redis/limits/wait_list.h"

namespace penstock::redis {

/// Called by Recovery when something has happened.
class RecoveryEvents {
 public:
  /// From now on asks are answered without Redis.
  virtual void left_redis() = 0;
  /// From now on asks are answered by Redis.
  virtual void joined_redis() = 0;
  /// Redis has forgotten everything; nothing has been handed in yet.
  virtual void memory_lost() = 0;
  /// Hands a reply to all that learn from every reply. Null: it is none that could be understood.
  virtual const BookReply* read(const Outcome& outcome, std::size_t count, std::size_t semaphores, flow::Time sent) = 0;

 protected:
  ~RecoveryEvents() = default;
};

class Recovery {
 public:
  static constexpr std::string_view kLost = "lost";  ///< told to all processes

  /// All must outlive this.
  Recovery(UpstreamCalls& calls, Shadow& shadow, Semaphores& semaphores, Fleet& fleet, Quarantine& quarantine,
           Fallback& fallback, const WaitList& wait_list, SharingNotices& notices, RecoveryEvents& events);
  /// The limiter continues another, which stood so to its Redis. Until this Redis has heard what that one remembered,
  /// as long as it answers, requests wait. Before redis_up().
  void take_over(FormerRedis former);
  /// The Redis that knows of what is remembered here.
  FormerRedis known_to() const;

  /// The limits have changed.
  void change(const std::vector<LimitConfig>& limits);

  // Redis' connection.
  void redis_up();
  /// Redis is back; this limiter returns to it at that time, or when it is next used.
  void redis_up_at(flow::Time at) { look_again_.start(at); }
  void redis_down();
  /// Redis may have ceased to answer, or messages to arrive.
  void redis_changed();
  /// The upstream's keys may be on another node of the cluster than before.
  void redis_moved();
  /// Redis answers, and messages arrive if limits of this upstream need them.
  bool may_ask_redis() const;
  bool may_return() const { return calls_.standing() == UpstreamCalls::Standing::down && may_ask_redis(); }
  /// There is something to hand in, or to ask, because lanes wait.
  bool has_to_tell(flow::Time now) const;
  bool in_use(flow::Time now) const { return wait_list_.in_use(now); }
  /// Other processes have other limits, as last reported.
  bool limits_differ(flow::Time now) const { return notices_.limits_differ(now); }
  /// Some limit goes by `whenDown`.
  bool degraded() const { return !calls_.connected() || !quarantine_.empty(); }
  /// The processes that use the upstream, as far as known.
  int processes() const { return calls_.connected() ? fleet_.alive() : 1; }

  // Calls and replies.
  /// A lane asks, and is answered without Redis: this process returns to Redis as soon as it may.
  void asked(flow::Time now);
  void call_failed(const Failure& why);
  /// Redis answers this upstream's calls, but not as it should.
  void refused();
  /// An ask was granted nothing, since the generation is closed, or another. False: neither is news.
  bool heard_otherwise(const BookReply& reply);
  /// Hands in what Redis does not know, if there is any.
  void tell_unknown();
  /// Asks Redis for no departures: tells that this process is alive, and learns how things stand.
  void look(flow::Time now);
  /// Another process says that Redis has lost its memory. `forgettable`: this process remembers nothing of importance.
  void hear_memory_lost(flow::Time now, bool forgettable);
  /// To be called each second.
  void tick(flow::Time now);

 private:
  static constexpr flow::Time kBetweenLooks = 10'000, kMostBetweenLooks = 80'000, kHeadKept = 3'600'000'000;

  void look_again();
  void look_answered(const Outcome& outcome, std::size_t semaphores, flow::Time sent, flow::Time told);
  void look_failed(const Failure& why);
  void generation_lost(const BookReply& reply);
  void wait_until_open(const BookReply& reply);
  void leave(UpstreamCalls::Standing standing);
  void join();
  void replayed(const MemoryReplay::Outcome& outcome);
  void look_soon();
  void compare_with_former();
  void leave_for_new_server();
  bool wait_for_slot();

  UpstreamCalls& calls_;
  MemoryReplay replay_;
  Semaphores& semaphores_;
  Shadow& shadow_;
  Fleet& fleet_;
  Quarantine& quarantine_;
  Fallback& fallback_;
  const WaitList& wait_list_;
  SharingNotices& notices_;
  RecoveryEvents& events_;
  std::optional<FormerRedis> former_;  // until this Redis has answered
  std::vector<Memory> left_;           // where the limits were kept before
  flow::Time others_until_ = 0;        // until when other processes are waited for that move, too
  std::optional<flow::Time> slot_moves_since_;
  flow::Time until_next_look_ = kBetweenLooks;
  bool takes_over_ = false;           // until this Redis has heard all
  bool needs_messages_ = false;       // a semaphore or a counter is shared
  bool refused_ = false;              // down because Redis did not answer as it should, until a look succeeds
  std::vector<std::string> permits_;  // reused, to save allocations
  loop::Timer look_again_;
};

}  // namespace penstock::redis
