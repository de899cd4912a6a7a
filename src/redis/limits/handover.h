// SPDX-License-Identifier: Apache-2.0
// What a limiter leaves to the one that takes its place: what it remembers of departures, and where these are known.
// So a change of Redis forgets nothing that was spent. For limiter_hub.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "flow/limiter.h"
#include "flow/local_limiter.h"
#include "penstock/config.h"
#include "redis/limits/shadow.h"

namespace penstock::redis {

/// Where a limiter of this upstream has kept its limits.
struct Memory {
  RedisConfig config;
  std::string server;  ///< its id; empty: not known
};

/// The Redis that knows of the departures, and how this process stood to it.
struct FormerRedis {
  Memory memory;
  std::vector<Memory> before;  ///< others that were left earlier: they know of older ones
  std::string generation;      ///< in which the departures were booked; empty: none
  std::int64_t latest = 0;     ///< script time that it told
  int processes = 1;           ///< which used the upstream, or may have
};

struct Handover {
  std::unique_ptr<Shadow> shadow;              ///< null: the limits were not shared
  std::unique_ptr<flow::LocalLimiter> memory;  ///< then; null: nothing is handed over
  FormerRedis redis = {};                      ///< of `shadow`
  enum class From : std::uint8_t { nobody, own_limits, shared_limits } from = From::nobody;
};

/// Whether keys that were written there are found here. `server`: the id of the one that is spoken to now.
inline bool same_memory(const Memory& there, const RedisConfig& here, std::string_view server) {
  const RedisConfig& other = there.config;
  if (other.prefix != here.prefix || other.database != here.database || other.secret != here.secret) return false;
  const bool same_server = !server.empty() && server == there.server;
  const auto master_of = [](const RedisConfig& redis) { return redis.sentinel ? redis.sentinel->master : ""; };
  const auto hosts_of = [](const RedisConfig& redis) {
    return redis.sentinel ? redis.sentinel->hosts : std::vector<SentinelConfig::Host>{};
  };
  const auto same = [](const auto& some, const auto& others) { return std::ranges::is_permutation(some, others); };
  const auto only_one = [](const RedisConfig& redis) {
    const bool is_one = redis.cluster.empty() && !redis.sentinel;
    return std::tuple(is_one, is_one ? redis.host : "", is_one ? redis.port : 0, redis.path);
  };
  const bool same_place = only_one(other) == only_one(here) && same(other.cluster, here.cluster) &&
                          master_of(other) == master_of(here) && same(hosts_of(other), hosts_of(here));
  return same_server || same_place;
}

/// Takes it from any limiter that is made here, or from a LocalLimiter, and destroys that. Empty for others, and for
/// null.
Handover take_over(std::unique_ptr<flow::Limiter> former);

}  // namespace penstock::redis
