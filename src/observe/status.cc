// SPDX-License-Identifier: Apache-2.0
// The text of /status, and what it says of the whole process.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "observe/state_words.h"
#include "observe/status_json.h"

namespace penstock::observe {
namespace {

using Json = nlohmann::ordered_json;

void add_nodes(Json& all, const std::vector<RedisNodeSnapshot>& nodes) {
  for (const auto& [name, up] : nodes) all.push_back({{"name", name}, {"up", up}});
}

Json one_redis_json(const RedisSnapshot& redis) {
  Json json{{"up", redis.up},
            {"degraded", redis.degraded},
            {"refused", redis.refused},
            {"limitsDiffer", redis.limits_differ},
            {"kind", redis.kind},
            {"tls", redis.tls},
            {"mode", redis.mode},
            {"processes", redis.processes},
            {"shareOf", redis.share_of},
            {"nodes", Json::array()},
            {"state", redis_in_words(redis)}};
  add_nodes(json["nodes"], redis.nodes);
  return json;
}

/// All of them together, as if they were one of which parts may be away; and each by itself. What differs has no value
/// for all.
Json redis_state_json(const std::vector<RedisSnapshot>& redis) {
  if (redis.empty()) return nullptr;
  RedisSnapshot all = redis.front();
  Json each = Json::array();
  for (const auto& one : redis) {
    each.push_back({{"name", one.name}});
    each.back().update(one_redis_json(one));
    if (&one == &redis.front()) continue;
    all.up &= one.up;
    all.degraded |= one.degraded;
    std::ranges::copy(one.refused, std::back_inserter(all.refused));
    std::ranges::copy(one.limits_differ, std::back_inserter(all.limits_differ));
    if (all.mode == "shared") all.mode = one.mode;
    all.processes = std::max(all.processes, one.processes);
    all.share_of = std::max(all.share_of, one.share_of);
    std::ranges::copy(one.nodes, std::back_inserter(all.nodes));
  }
  Json json = one_redis_json(all);
  json["state"] = redis_in_words(redis);
  const auto differ = [&](auto field) {
    return std::ranges::any_of(redis, [&](const auto& one) { return one.*field != all.*field; });
  };
  if (differ(&RedisSnapshot::kind)) json["kind"] = nullptr;
  if (differ(&RedisSnapshot::tls)) json["tls"] = nullptr;
  json["each"] = std::move(each);
  return json;
}

Json reload_json(const std::optional<ReloadSnapshot>& reload) {
  if (!reload) return nullptr;
  return {{"pid", reload->process}, {"file", reload->file}, {"count", reload->count}, {"errors", reload->errors}};
}

}  // namespace

Json process_json(const Snapshot& snapshot, const Config& config, const Details& details) {
  return {{"version", PENSTOCK_VERSION},
          {"listen", to_string(config.proxy.listen)},
          {"configHash", snapshot.config_hash},
          {"loadedAt", snapshot.loaded_at},
          {"draining", snapshot.draining},
          {"connections", snapshot.connections},
          {"pendingBytes", snapshot.pending_bytes},
          {"redis", redis_state_json(snapshot.redis)},
          {"reload", reload_json(snapshot.reload)},
          {"details", details.shown},
          {"detailsWhy", details.why}};
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string status_json(const Snapshot& snapshot, const Config& config, const Details& details) {
  Json upstreams = Json::array();
  for (const UpstreamSnapshot& one : snapshot.upstreams) {
    upstreams.push_back(upstream_json(one, snapshot.taken_at, details));
  }
  Json status = process_json(snapshot, config, details);
  status["upstreams"] = std::move(upstreams);
  status["configuration"] = configuration_json(config);
  return json_text(status, 2) + "\n";
}

}  // namespace penstock::observe
