// SPDX-License-Identifier: Apache-2.0
// What each Redis adds to the proxy: limiters that count for all processes, the number of processes kept over restarts,
// and one key for the labels of groups. Without Redis only the key is there. For the engine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/processes_file.h"
#include "app/redis_network.h"
#include "base/sip_hash.h"
#include "base/weak_self.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "penstock/snapshot.h"
#include "proxy/exchange/services.h"
#include "redis/limits/limiter_hub.h"

namespace penstock::app {

class SharedLimits {
 public:
  struct Watch {
    std::function<void(const std::vector<Endpoint>&)> on_found;                  ///< as in HubWatch
    std::function<void(const std::string& redis, Duration took)> on_round_trip;  ///< by RedisConfig::name
  };
  /// Connects to each Redis of `config`, which is the one in force and may change in place: call change() then.
  /// `networks` are theirs. `state_folder` is where ProcessesFile has its files; empty: none.
  SharedLimits(loop::Loop& loop, loop::Resolver& resolver, Networks networks, const Config& config,
               std::string state_folder, Watch watch, NoticeSink notices);
  ~SharedLimits();
  SharedLimits(const SharedLimits&) = delete;
  SharedLimits& operator=(const SharedLimits&) = delete;

  /// Sets what makes limiters, and the key for labels. All limiters and users of the key must be gone before this
  /// object.
  void provide(proxy::Services& services);
  /// The configuration has changed. A Redis that has not keeps its connection; for the others, the limiters that are
  /// there do not fit any more. When all are replaced, call leave_former().
  void change(Networks networks);
  void leave_former() { former_.clear(); }
  /// As Engine::look().
  void look(std::function<void()> seen);
  /// As LimiterHub::look_ahead(), of that which has the limiter of that name.
  bool look_ahead(const std::string& limiter, const std::function<void()>& told);
  /// In the order of the configuration.
  std::vector<RedisSnapshot> snapshot() const;
  /// Whether limits of the upstream of that name go on without Redis.
  bool degraded(const std::string& upstream) const;

 private:
  struct One {
    RedisConfig config;
    std::unique_ptr<redis::Network> network;  // null: plain sockets
    std::unique_ptr<ProcessesFile> file;
    redis::Counts before{};           // those of earlier connections of that name
    std::uint64_t resets_before = 0;  // likewise
    std::unique_ptr<redis::LimiterHub> hub{};
  };

  std::unique_ptr<One> make(const RedisConfig& config, std::unique_ptr<redis::Network> network, One* former);
  redis::LimiterHub* hub_of(const UpstreamSettings& settings) const;
  std::unique_ptr<flow::Limiter> make_limiter(const proxy::LimiterOf& of, flow::LimiterEvents& events,
                                              std::unique_ptr<flow::Limiter> former);
  bool fits(const flow::Limiter& limiter, const proxy::LimiterOf& of) const;
  void share_labels();

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  const Config& config_;
  const std::string state_folder_;
  const Watch watch_;
  const NoticeSink notices_;
  const std::string who_;
  base::SipKey labels_;                       // for the labels that the log gives to groups by header
  std::vector<std::unique_ptr<One>> all_;     // in the order of the configuration
  std::vector<std::unique_ptr<One>> former_;  // whose limiters are being replaced
  base::WeakSelf<SharedLimits> self_{this};
};

}  // namespace penstock::app
