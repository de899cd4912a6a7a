// SPDX-License-Identifier: Apache-2.0
// Manages the limiters of one process that use Redis: makes one for each upstream, and passes on to it what happens to
// Redis and what other processes say. For app/.
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
#include "flow/local_limiter.h"
#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "redis/client/redis.h"
#include "redis/limits/limit_looks.h"
#include "redis/limits/limiter_owner.h"
#include "redis/limits/shared_redis.h"
#include "redis/wire/network.h"

namespace penstock::redis {

class PausingLimiter;
class SharedLimiter;

/// Callbacks for metrics; each may be left empty.
struct HubWatch {
  std::function<void(const std::vector<Endpoint>&)> on_found;  ///< where Redis' name led; one is dialled next
  std::function<void(bool up)> on_up;
  std::function<void(bool degraded)> on_degraded;  ///< some limit goes by `whenDown`
  std::function<void(Duration)> on_round_trip;     ///< of each call that was answered
  std::function<void(std::string_view kind)> on_error;
  std::function<void(int)> on_processes;  ///< how many there are, as last seen: each second while Redis is up
  const base::SipKey* labels = nullptr;   ///< as SharedRedis::label_key()
};

/// A limiter by itself, which goes on from what `former` has counted in this process, if that is a limiter made here or
/// a LocalLimiter.
std::unique_ptr<flow::LocalLimiter> make_local_limiter(const loop::Loop& loop, const std::vector<LimitConfig>& limits,
                                                       std::unique_ptr<flow::Limiter> former);

class LimiterHub final : RedisEvents, LimiterOwner {
 public:
  /// `process_name`: this process's name, the same in all hubs of the process; empty: one is drawn.
  LimiterHub(loop::Loop& loop, loop::Resolver& resolver, const RedisConfig& config, HubWatch watch, NoticeSink notices,
             Network& network = sockets(), std::string process_name = {});
  ~LimiterHub();
  LimiterHub(const LimiterHub&) = delete;
  LimiterHub& operator=(const LimiterHub&) = delete;

  /// `name` is unique among living limiters. `limits` are copied; `events` must outlive the limiter, and so must the
  /// hub. The limiter takes the place of `former`, of any hub or none, and goes on from what that remembers.
  std::unique_ptr<flow::Limiter> make_limiter(const std::string& name, const std::vector<LimitConfig>& limits,
                                              flow::LimiterEvents& events,
                                              std::unique_ptr<flow::Limiter> former = nullptr);
  /// For an upstream without shared limits: only pauses are shared. Otherwise as above.
  std::unique_ptr<flow::Limiter> make_pausing_limiter(const std::string& name, const std::vector<LimitConfig>& limits,
                                                      flow::LimiterEvents& events,
                                                      std::unique_ptr<flow::Limiter> former = nullptr);
  /// Whether this is the limiter of that name which this hub made last; `shared`: by make_limiter().
  bool keeps(const std::string& name, const flow::Limiter& limiter, bool shared) const;
  /// How many processes were seen earlier, and how that is known, for people. Before any limiter is made.
  void remember(int processes, std::string how) { shared_.remember(processes, std::move(how)); }
  /// See SharedRedis::share_labels().
  void share_labels(base::SipKey* key) { shared_.share_labels(key); }
  /// All of Redis that is needed answers.
  bool up() const { return shared_.servers().up(); }
  bool degraded() const { return degraded_; }
  /// How many processes were last seen at Redis; and by how many limits are divided while it is not asked.
  int processes() const { return shared_.processes(); }
  int sharers() const { return shared_.sharers(0); }
  /// What Redis' user lacks, as ACL rules, by the last test.
  std::vector<std::string> lacks() const { return shared_.servers().lacks(); }
  /// See Servers::nodes().
  std::vector<RedisNodeSnapshot> nodes() const { return shared_.servers().nodes(); }
  /// Upstreams in whose limits the processes differ, as last reported.
  std::vector<std::string> limits_differ() const;
  const Leadership& leadership() const { return shared_.leadership(); }
  /// Whether limits of that upstream go by `whenDown`. False: it has no shared limits here.
  bool degraded(const std::string& upstream) const;
  /// Calls `seen` when all limiters know how their limits stand over all processes, so that their readers tell it: at
  /// once, or within LimitLooks::kMost. Not after this object's end.
  void look(std::function<void()> seen);
  /// Has the limiter of that upstream ask how much waits in other processes, for a forecast. Calls `told` once, within
  /// LineLook::kMost; not after that limiter's end. False: there is nothing to ask.
  bool look_ahead(const std::string& upstream, std::function<void()> told);
  Counts counts() const { return shared_.servers().counts(); }

 private:
  void on_found(const std::vector<Endpoint>& there) override;
  void on_up() override;
  void on_down() override;
  void on_message(std::string_view payload) override;
  void on_subscribed(bool subscribed) override;
  void on_messages(bool come) override;
  void on_round_trip(std::int64_t microseconds) override;
  void on_failure(FailureKind kind) override;
  void on_moved() override;
  void unregister(const std::string& name, const flow::Limiter& limiter) override;
  void standing_changed() override { standing_.ask(); }
  template <typename Use>
  void for_each_limiter(Use use);
  void count_standing();
  void call_limiters_back(bool at_once);
  void tick();

  const HubWatch watch_;
  std::unordered_map<std::string, SharedLimiter*> limiters_;
  std::unordered_map<std::string, PausingLimiter*> pausing_;
  bool degraded_ = false;
  loop::IterationEnd standing_;  // checks once an iteration whether any limiter is degraded
  loop::Timer ticker_;
  LimitLooks looks_;
  SharedRedis shared_;  // last: it calls into the members above
};

}  // namespace penstock::redis
