// SPDX-License-Identifier: Apache-2.0
// Endpoints that no request may reach through the proxy: those of Redis, as far as the configuration tells, and this
// machine's addresses, as far as the system tells. For the engine and `explain`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loop/local_addresses.h"
#include "penstock/config.h"

namespace penstock::app {

inline std::vector<Endpoint> reserved_endpoints_of(const std::optional<RedisConfig>& redis) {
  if (!redis || !redis->path.empty()) return {};
  if (redis->host == "localhost") return {{"127.0.0.1", redis->port}, {"::1", redis->port}};
  return {{redis->host, redis->port}};
}

/// For commands, which need not report that the system does not list them.
inline std::vector<std::string> addresses_here() {
  return loop::local_addresses().value_or(std::vector<std::string>{});
}

}  // namespace penstock::app
