// SPDX-License-Identifier: Apache-2.0
// Endpoints that no request may reach through the proxy: those of Redis, as far as the configuration tells, and this
// machine's addresses, as far as the system tells. For the engine and `explain`.
#pragma once

#include <string>
#include <vector>

#include "loop/local_addresses.h"
#include "penstock/config.h"

namespace penstock::app {

inline std::vector<Endpoint> reserved_endpoints_of(const std::vector<RedisConfig>& configured) {
  std::vector<Endpoint> all;
  const auto reserve = [&all](const std::string& host, std::uint16_t port) {
    if (host != "localhost") return all.push_back({host, port});
    all.push_back({"127.0.0.1", port}), all.push_back({"::1", port});
  };
  for (const auto& redis : configured) {
    if (redis.sentinel) {
      for (const auto& [host, port] : redis.sentinel->hosts) reserve(host, port);
    } else if (!redis.cluster.empty()) {
      for (const auto& [host, port] : redis.cluster) reserve(host, port);
    } else if (redis.path.empty()) {
      reserve(redis.host, redis.port);
    }
  }
  return all;
}

/// For commands, which need not report that the system does not list them.
inline std::vector<std::string> addresses_here() {
  return loop::local_addresses().value_or(std::vector<std::string>{});
}

}  // namespace penstock::app
