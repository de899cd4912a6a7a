// SPDX-License-Identifier: Apache-2.0
// What Redis adds to the proxy: limiters that count for all processes, the number of processes kept over restarts, and
// one key for the labels of groups. Without Redis only the key is there. For the engine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/processes_file.h"
#include "base/sip_hash.h"
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
  /// Connects to `config.redis`, if there is one. `config` is the one in force, which may change in place: call
  /// change() then. `state_folder` as in ProcessesFile; empty: none. `watch.on_processes` is set here.
  SharedLimits(loop::Loop& loop, loop::Resolver& resolver, const Config& config, const std::string& state_folder,
               redis::HubWatch watch, NoticeSink notices);
  SharedLimits(const SharedLimits&) = delete;
  SharedLimits& operator=(const SharedLimits&) = delete;

  /// Sets what makes limiters, and the key for labels. All limiters and users of the key must be gone before this
  /// object.
  void provide(proxy::Services& services);
  void change() { share_labels(); }
  /// Nullopt without Redis.
  std::optional<RedisSnapshot> snapshot() const;

 private:
  void share_labels();

  const Config& config_;
  base::SipKey labels_;  // for the labels that the log gives to groups by header
  std::unique_ptr<ProcessesFile> processes_file_;
  std::unique_ptr<redis::LimiterHub> hub_;  // null without Redis
};

}  // namespace penstock::app
