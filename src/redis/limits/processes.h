// SPDX-License-Identifier: Apache-2.0
// How many processes share limits while Redis does not say so: as seen at Redis, as configured, or as an earlier run
// saw them. Pure.
#pragma once

#include <string>
#include <utility>

#include "flow/limit.h"
#include "penstock/config.h"
#include "redis/limits/divide_limits.h"
#include "redis/limits/seen_processes.h"

namespace penstock::redis {

class Processes {
 public:
  /// `config` must outlive this.
  explicit Processes(const RedisConfig& config) : config_(config) {}

  /// So many were seen earlier; how that is known, for people.
  void remember(int processes, std::string how) { remembered_ = processes, remembered_how_ = std::move(how); }
  /// So many are there, whichever upstreams they use.
  void saw(flow::Time now, int processes) { seen_.note(now, processes); }
  int seen() const { return seen_.count(); }
  /// By how many limits are divided. `at_upstream`: how many use the upstream; 0: not known.
  int sharers(int at_upstream) const {
    return redis::sharers({.at_upstream = at_upstream,
                           .of_prefix = seen_.count(),
                           .configured = config_.processes,
                           .remembered = remembered_});
  }
  /// By how many a process divides that has never reached Redis, and why. Empty: that was said before.
  std::string divided() {
    if (std::exchange(said_divided_, true)) return {};
    const int processes = sharers(0);
    const std::string among = std::to_string(processes) + (processes == 1 ? " process" : " processes");
    const std::string why = config_.processes > 0 ? "redis.processes says so"
                            : remembered_ > 0     ? remembered_how_
                                                  : "how many there are is not known; redis.processes would say it";
    return "Redis was never reached: until it is, limits are divided among " + among + ", for " + why;
  }

 private:
  const RedisConfig& config_;
  SeenProcesses seen_;
  int remembered_ = 0;
  std::string remembered_how_;
  bool said_divided_ = false;
};

}  // namespace penstock::redis
