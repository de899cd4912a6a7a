// SPDX-License-Identifier: Apache-2.0
// Where the upstreams of one process book through Redis: holds the connection and this process's name, makes a booker
// for each upstream, and passes on to it what happens to Redis and what other processes say. For app/.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/sip_hash.h"
#include "flow/limiter.h"
#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "redis/client/redis.h"
#include "redis/limits/seen_processes.h"
#include "redis/wire/network.h"

namespace penstock::redis {

class PausingLimiter;
class SharedLimiter;

/// Who watches, for metrics; each may be left out.
struct HubWatch {
  std::function<void(const loop::Addresses&)> on_found;  ///< where Redis' name led; one of them is dialled next
  std::function<void(bool up)> on_up;
  std::function<void(bool degraded)> on_degraded;  ///< some limit goes by `whenDown`
  std::function<void(Duration)> on_round_trip;     ///< of each call that was answered
  std::function<void(std::string_view kind)> on_error;
  std::function<void(int)> on_processes;  ///< how many there are, as seen last: each second, while Redis is up
};

enum class Script : std::size_t { book, undo, moved, leave, pause, reset, replay, permits, born, present };

class LimiterHub final : RedisEvents {
 public:
  LimiterHub(loop::Loop& loop, loop::Resolver& resolver, const RedisConfig& config, HubWatch watch, NoticeSink notices,
             Network& network = sockets());
  ~LimiterHub();
  LimiterHub(const LimiterHub&) = delete;
  LimiterHub& operator=(const LimiterHub&) = delete;

  /// `name` is unique among those that live, except that one takes another's place. `limits` are copied; `events`
  /// outlives the booker, and the office does.
  std::unique_ptr<flow::Limiter> make_limiter(const std::string& name, const std::vector<LimitConfig>& limits,
                                              flow::LimiterEvents& events);
  /// For an upstream of whose limits none is shared: only pauses are. The same holds.
  std::unique_ptr<flow::Limiter> make_pausing_limiter(const std::string& name, const std::vector<LimitConfig>& limits);
  /// So many an earlier run saw, before any booker is made; `where` that stands, for people.
  void remember(int processes, std::string where);
  bool up() const { return redis_->up(); }
  /// The first connection is being made, and has not failed: how many share the limits is not known, and to be far from
  /// Redis is no outage. At most as long as one try lasts: half
  /// a second, and twice `redis.timeout` for what follows the greeting.
  bool starting() const { return starting_; }
  bool degraded() const { return degraded_; }
  /// What Redis' user lacks, in the words of an ACL; as it was when it was last tried.
  std::vector<std::string> lacks() const { return redis_->lacks(); }
  /// Upstreams in whose limits the processes differ, as was said.
  std::vector<std::string> limits_differ() const;
  const Counts& counts() const { return redis_->counts(); }

  // For bookers.
  loop::Loop& loop() { return loop_; }
  const RedisConfig& config() const { return config_; }
  Redis& redis() { return *redis_; }
  const std::string& who() const { return who_; }
  /// By how many limits are divided while one is alone; `at_upstream`: so many are known to use it, 0: that is not
  /// known.
  int sharers(int at_upstream) const;
  /// A name that no other generation has; behind a @ the id of the server in whose memory it would begin, if known,
  /// and behind another the latest script time that was told, unless it is 0; and what was done since, as begin.lua has
  /// it.
  std::string_view fresh_generation(std::int64_t latest = 0, std::string_view since = {});
  /// The key under which people see groups: from now on that of all processes with this Redis. Whoever is the first to
  /// reach it gives its own, and until then each keeps its own. `key` outlives the office.
  void share_labels(base::SipKey& key);
  /// Redis may have another key than before, or none.
  void agree_on_labels();
  void notice(LogLevel level, std::string text) { notices_({level, std::move(text)}); }
  void leave(const std::string& name, const flow::Limiter& limiter);
  void standing_changed() { standing_.ask(); }
  /// A moment within the next second, for what need not be done by all upstreams at once.
  std::int64_t soon();

 private:
  void on_found(const loop::Addresses& addresses) override;
  void on_up() override;
  void on_down() override;
  void on_message(std::string_view payload) override;
  void on_hears(bool hears) override;
  void on_messages(bool come) override;
  void on_round_trip(std::int64_t microseconds) override;
  void on_failure(FailureKind kind) override;
  template <typename Use>
  void for_each_limiter(Use use);
  void count_standing();
  void look_whose_memory();
  void call_limiters_back(bool at_once);
  void say_present();
  void say_divided();
  void tick();

  loop::Loop& loop_;
  const RedisConfig& config_;
  const HubWatch watch_;
  const NoticeSink notices_;
  const std::string who_;
  std::uint64_t generations_ = 0;
  std::string fresh_;
  std::unordered_map<std::string, SharedLimiter*> limiters_;
  std::unordered_map<std::string, PausingLimiter*> pausing_;
  base::SipKey* labels_ = nullptr;  // nothing: they are not asked for
  std::int64_t turn_ = 0;           // of those that soon() told
  bool degraded_ = false;
  bool starting_ = true;
  bool was_up_ = false;  // before: something may be remembered
  bool told_divided_ = false;
  std::int64_t up_since_, said_present_;  // that it has come back; that it is there
  SeenProcesses seen_;
  int remembered_ = 0;
  std::string remembered_in_;
  loop::IterationEnd standing_;  // of all, looked at once a turn
  loop::Timer ticker_;
  std::unique_ptr<Redis> redis_;  // last: it tells the rest
};

}  // namespace penstock::redis
