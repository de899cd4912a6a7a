// SPDX-License-Identifier: Apache-2.0
// Checks each Redis, and what upstreams say of them.
#include <algorithm>
#include <set>
#include <string_view>

#include "config/checks.h"
#include "config/suggestion.h"
#include "config/validate.h"

namespace penstock::config {

namespace {

constexpr std::size_t kLongestWord = 64, kShortestSecret = 16, kMostServers = 16, kMostNames = 64;
constexpr int kMostProcesses = 10'000;

TlsConfig files_in(const RedisTlsConfig& tls) {
  return {.ca = tls.ca, .client_cert = tls.client_cert, .client_key = tls.client_key};
}

void check_sentinel(Issues& issues, const std::string& path, const RedisConfig& redis) {
  const auto& [hosts, master, user, password, tls] = *redis.sentinel;
  if (hosts.empty() || hosts.size() > kMostServers) add(issues, path + ".url", " must have 1 to 16 sentinels");
  if (!all_of(master, "_.-")) add(issues, path + ".url", " has a name of a master that is not letters, digits and _.-");
  if (password.empty() && !user.empty()) add(issues, path + ".sentinel.user", " has no password beside it");
  if (tls && !redis.tls) add(issues, path + ".sentinel.tls", " is for a url that begins with rediss+sentinel://");
  if (tls) check_tls(issues, path + ".sentinel.tls", files_in(*tls));
}

void check_place(Issues& issues, const std::string& path, const RedisConfig& redis) {
  if (redis.sentinel) check_sentinel(issues, path, redis);
  if (redis.cluster.size() > kMostServers)
    add(issues, path + ".url", " must have 1 to 16 nodes; any of them names the others");
  if (!redis.cluster.empty() && redis.database != 0)
    add(issues, path + ".url", " must have the database 0 in a cluster");
  const bool somewhere = !redis.path.empty() || (!redis.host.empty() && redis.port != 0);
  if (!somewhere) add(issues, path + ".url", " has neither a host with a port nor a socket's path");
  check_count(issues, path + ".url", redis.database, 0, 65'535);
}

void check_one(Issues& issues, const std::string& path, const RedisConfig& redis) {
  check_place(issues, path, redis);
  if (redis.password.empty() && !redis.user.empty()) add(issues, path + ".user", " has no password beside it");
  if (redis.tls) check_tls(issues, path + ".tls", files_in(*redis.tls));
  if (!all_of(redis.prefix, "_.:-") || redis.prefix.size() > kLongestWord)
    add(issues, path + ".prefix", " must be at most 64 letters, digits and _.:-");
  check_duration(issues, path + ".timeout", redis.timeout, 1ms, 10s);
  check_count(issues, path + ".processes", redis.processes, 0, kMostProcesses);
  if (!redis.secret.empty() && redis.secret.size() < kShortestSecret)
    add(issues, path + ".secret",
        " must be at least 16 characters, for a shorter one can be guessed: openssl rand -hex 16");
}

void check_names(Issues& issues, const Config& config) {
  std::set<std::string_view> names;
  for (const auto& redis : config.redis) {
    const std::string path = redis_path(config, redis);
    if (!all_of(redis.name, "_.-") || redis.name.size() > kLongestWord)
      issues.push_back({path, "the name '" + redis.name + "' of a Redis must be at most 64 letters, digits and _.-"});
    if (!names.insert(redis.name).second) issues.push_back({path, "there are two Redis named '" + redis.name + "'"});
  }
  if (config.redis.size() > kMostNames) issues.push_back({"redis", "redis has more than 64 names"});
}

void check_use(Issues& issues, const std::string& path, const Config& config, const UpstreamSettings& settings) {
  if (settings.redis.empty() || redis_of(config, settings)) return;
  if (config.redis.empty())
    return add(issues, path, " is '" + settings.redis + "', but there is no Redis at all; set redis.url");
  std::vector<std::string_view> names;
  std::string all;
  for (const auto& one : config.redis) {
    names.emplace_back(one.name);
    all += (all.empty() ? "" : ", ") + one.name;
  }
  const auto meant = nearest(settings.redis, names);
  add(issues, path,
      ": there is no Redis '" + settings.redis + "'" +
          (meant ? "; did you mean '" + std::string(*meant) + "'?" : "; there are: " + all));
}

}  // namespace

std::string redis_path(const Config& config, const RedisConfig& redis) {
  const bool has_name = config.redis.size() > 1 || redis.name != RedisConfig{}.name;
  return has_name ? "redis." + redis.name : "redis";
}

void check_redis(Issues& issues, const Config& config) {
  check_names(issues, config);
  for (const auto& redis : config.redis) check_one(issues, redis_path(config, redis), redis);
  check_use(issues, "upstreams.*.redis", config, config.unmatched);
  for (const auto& quota : config.quotas) check_use(issues, "quotas." + quota.name + ".redis", config, quota.settings);
  for (const auto& upstream : config.upstreams)
    check_use(issues, "upstreams." + upstream.name + ".redis", config, upstream.settings);
}

}  // namespace penstock::config
