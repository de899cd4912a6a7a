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
#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "redis/client/redis.h"
#include "redis/limits/limiter_owner.h"
#include "redis/limits/shared_redis.h"
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

class LimiterHub final : RedisEvents, LimiterOwner {
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
  std::unique_ptr<flow::Limiter> make_pausing_limiter(const std::string& name, const std::vector<LimitConfig>& limits,
                                                      flow::LimiterEvents& events);
  /// How many processes an earlier run saw, and where that is stored, for people. Before any limiter is made.
  void remember(int processes, std::string where) { shared_.remember(processes, std::move(where)); }
  /// See SharedRedis::share_labels().
  void share_labels(base::SipKey& key) { shared_.share_labels(key); }
  bool up() const { return shared_.redis().up(); }
  bool degraded() const { return degraded_; }
  /// What Redis' user lacks, as ACL rules, by the last test.
  std::vector<std::string> lacks() const { return shared_.redis().lacks(); }
  /// Upstreams in whose limits the processes differ, as last reported.
  std::vector<std::string> limits_differ() const;
  const Counts& counts() const { return shared_.redis().counts(); }

 private:
  void on_found(const loop::Addresses& addresses) override;
  void on_up() override;
  void on_down() override;
  void on_message(std::string_view payload) override;
  void on_hears(bool hears) override;
  void on_messages(bool come) override;
  void on_round_trip(std::int64_t microseconds) override;
  void on_failure(FailureKind kind) override;
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
  SharedRedis shared_;  // last: it calls into the members above
};

}  // namespace penstock::redis
