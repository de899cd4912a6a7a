// SPDX-License-Identifier: Apache-2.0
// Where Redis listens, as far as the configuration says so, and where this machine is, as far as the system does:
// nobody may send requests there through us. For the engine and `explain`.
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

/// For commands, which need not say that the system does not tell.
inline std::vector<std::string> addresses_here() {
  return loop::local_addresses().value_or(std::vector<std::string>{});
}

}  // namespace penstock::app
