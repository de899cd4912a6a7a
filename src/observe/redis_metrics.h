// SPDX-License-Identifier: Apache-2.0
// The metrics of one Redis: present from the start if it is configured, otherwise absent. For metrics.cc only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "observe/families.h"
#include "penstock/duration.h"
#include "penstock/snapshot.h"

namespace penstock::observe {

class RedisMetrics {
 public:
  RedisMetrics(RedisFamilies& families, std::string name);
  ~RedisMetrics();
  RedisMetrics(const RedisMetrics&) = delete;
  RedisMetrics& operator=(const RedisMetrics&) = delete;

  void round_trip(Duration took);
  void set(const RedisSnapshot& redis);

 private:
  /// A counter that follows a total kept elsewhere.
  struct Followed {
    prometheus::Counter* counter;
    std::uint64_t counted = 0;
    void follow(std::uint64_t total);
  };

  Followed& errors(const std::string& kind);
  void show(const std::vector<RedisNodeSnapshot>& nodes);

  RedisFamilies& families_;
  const std::string name_;
  prometheus::Histogram& round_trip_;
  prometheus::Gauge& up_;
  prometheus::Gauge& degraded_;
  prometheus::Gauge& limits_differ_;
  prometheus::Gauge& counters_led_;
  Followed counter_resets_;
  Followed calls_;
  std::vector<std::pair<std::string, Followed>> errors_;           // made when a kind is first seen; a handful
  std::vector<std::pair<std::string, prometheus::Gauge*>> nodes_;  // of the last snapshot
};

}  // namespace penstock::observe
