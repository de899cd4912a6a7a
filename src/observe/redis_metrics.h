// SPDX-License-Identifier: Apache-2.0
// The metrics of Redis: present from the start if Redis is configured, otherwise absent. For metrics.cc only.
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
  explicit RedisMetrics(RedisFamilies& families);

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

  RedisFamilies& families_;
  prometheus::Histogram& round_trip_;
  prometheus::Gauge& up_;
  prometheus::Gauge& degraded_;
  prometheus::Gauge& limits_differ_;
  Followed calls_;
  std::vector<std::pair<std::string, Followed>> errors_;  // made when a kind is first seen; a handful
};

}  // namespace penstock::observe
