// SPDX-License-Identifier: Apache-2.0
// Manages the limiters of one process that use Redis: holds the connection and this process's name, makes a limiter for
// each upstream, and passes on to it what happens to Redis and what other processes say. For app/.
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

/// Callbacks for metrics; each may be left empty.
struct HubWatch {
  std::function<void(const loop::Addresses&)> on_found;  ///< where Redis' name led; one is dialled next
  std::function<void(bool up)> on_up;
  std::function<void(bool degraded)> on_degraded;  ///< some limit goes by `whenDown`
  std::function<void(Duration)> on_round_trip;     ///< of each call that was answered
  std::function<void(std::string_view kind)> on_error;
  std::function<void(int)> on_processes;  ///< how many there are, as last seen: each second while Redis is up
};

enum class Script : std::size_t {
  book,
  give_back,
  report_late,
  cancel_wait,
  pause,
  reset,
  replay,
  permits,
  born,
  present
};

class LimiterHub final : RedisEvents {
 public:
  LimiterHub(loop::Loop& loop, loop::Resolver& resolver, const RedisConfig& config, HubWatch watch, NoticeSink notices,
             Network& network = sockets());
  ~LimiterHub();
  LimiterHub(const LimiterHub&) = delete;
  LimiterHub& operator=(const LimiterHub&) = delete;

  /// `name` is unique among living limiters, except that a limiter may replace one of the same name. `limits` are
  /// copied; `events` must outlive the limiter, and so must the hub.
  std::unique_ptr<flow::Limiter> make_limiter(const std::string& name, const std::vector<LimitConfig>& limits,
                                              flow::LimiterEvents& events);
  /// For an upstream without shared limits: only pauses are shared. Otherwise as above.
  std::unique_ptr<flow::Limiter> make_pausing_limiter(const std::string& name, const std::vector<LimitConfig>& limits);
  /// How many processes an earlier run saw, and where that is stored, for people. Before any limiter is made.
  void remember(int processes, std::string where);
  bool up() const { return redis_->up(); }
  /// The first connection is being made and has not failed. How many processes share the limits is not known yet, and a
  /// distant Redis is no outage. Lasts at most as long as one try: half a second, and twice `redis.timeout` for what
  /// follows the greeting.
  bool starting() const { return starting_; }
  bool degraded() const { return degraded_; }
  /// What Redis' user lacks, as ACL rules, by the last test.
  std::vector<std::string> lacks() const { return redis_->lacks(); }
  /// Upstreams in whose limits the processes differ, as last reported.
  std::vector<std::string> limits_differ() const;
  const Counts& counts() const { return redis_->counts(); }

  // For limiters.
  loop::Loop& loop() { return loop_; }
  const RedisConfig& config() const { return config_; }
  Redis& redis() { return *redis_; }
  const std::string& who() const { return who_; }
  /// By how many limits are divided while this process is alone. `at_upstream`: how many use the upstream; 0: not
  /// known.
  int sharers(int at_upstream) const;
  /// A name that no other generation has: "name[@server id[@latest[since]]]". The id is that of the server in whose
  /// memory the generation would begin, if known; `latest` is the latest script time that was told, left out if 0;
  /// `since` is the mark described in begin.lua. Valid until the next call.
  std::string_view fresh_generation(std::int64_t latest = 0, std::string_view since = {});
  /// Shares the key by which groups are labelled for people among all processes of this Redis. The first process to
  /// reach Redis provides its key; until then each process keeps its own. `key` must outlive the hub.
  void share_labels(base::SipKey& key);
  /// To be called when Redis may have another key than before, or none.
  void agree_on_labels();
  void notice(LogLevel level, std::string text) { notices_({level, std::move(text)}); }
  /// The key of all processes, if it is time to say again that this one is there. The caller says it along with an ask
  /// of its own, which saves a call, and passes the answer to heard_there(). Empty: it was said lately.
  std::string_view key_to_be_there(std::int64_t now);
  void heard_there(const Outcome& outcome);
  void unregister(const std::string& name, const flow::Limiter& limiter);
  void standing_changed() { standing_.ask(); }
  /// A moment within the next second, to spread work that all upstreams need not do at once.
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
  void note_processes(std::int64_t count);
  void say_divided();
  void tick();

  loop::Loop& loop_;
  const RedisConfig& config_;
  const HubWatch watch_;
  const NoticeSink notices_;
  const std::string who_;
  const std::string processes_;  // the key of all processes
  std::uint64_t generations_ = 0;
  std::string fresh_;
  std::unordered_map<std::string, SharedLimiter*> limiters_;
  std::unordered_map<std::string, PausingLimiter*> pausing_;
  base::SipKey* labels_ = nullptr;  // null: labels are not shared
  std::int64_t turn_ = 0;           // how many moments soon() has given
  bool degraded_ = false;
  bool starting_ = true;
  bool was_up_ = false;  // Redis was up before, so something may be remembered
  bool told_divided_ = false;
  std::int64_t up_since_, said_present_;  // when Redis came back; when say_present() last called
  SeenProcesses seen_;
  int remembered_ = 0;
  std::string remembered_in_;
  loop::IterationEnd standing_;  // checks once an iteration whether any limiter is degraded
  loop::Timer ticker_;
  std::unique_ptr<Redis> redis_;  // last: it calls into the members above
};

}  // namespace penstock::redis
