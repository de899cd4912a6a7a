// SPDX-License-Identifier: Apache-2.0
// See reload.h.
#include "app/reload.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "app/authority_file.h"
#include "app/redis_network.h"
#include "app/system_authorities.h"
#include "app/users_file.h"
#include "tls/check_identity.h"

namespace penstock::app {

namespace {

/// `path` ends with a dot.
void check(std::vector<config::Issue>& issues, const std::string& path, const TlsConfig& identity) {
  auto fine = tls::check(identity);
  if (fine) return;
  // The message begins with the key: "tls.clientKey: ...".
  const auto& words = fine.error().message;
  issues.push_back({.path = path + words.substr(0, words.find_first_of(": ")), .message = path + words});
}

/// The message begins with the whole key: "intercept.key: ...". Where the file names no authority, the upstream that
/// wants one has the place.
void check_authority(std::vector<config::Issue>& issues, const Config& config) {
  const auto authority = authority_of(config);
  if (authority) return;
  const auto& words = authority.error().message;
  const auto by = std::ranges::find(config.upstreams, Https::intercept,
                                    [](const UpstreamConfig& upstream) { return upstream.settings.https; });
  const bool named = !config.intercept.ca.empty() || by == config.upstreams.end();
  issues.push_back(
      {.path = named ? words.substr(0, words.find(':')) : "upstreams." + by->name + ".https", .message = words});
}

/// Faults inside the file have places there, and are told by users_of() itself.
void check_users(std::vector<config::Issue>& issues, const AccessConfig& access) {
  const auto users = users_of(access);
  if (users || users.error()[0].line > 0) return;
  issues.push_back({.path = "access.users", .message = "access.users: " + to_string(users.error()[0])});
}

}  // namespace

std::vector<config::Issue> unusable_files(const Config& config) {
  std::vector<config::Issue> issues;
  check_authority(issues, config);
  check_users(issues, config.access);
  for (const auto& upstream : config.upstreams)
    check(issues, "upstreams." + upstream.name + ".", upstream.settings.tls);
  check(issues, "upstreams.*.", config.unmatched.tls);
  for (const auto& redis : config.redis) {
    const std::string path = config::redis_path(config, redis) + ".";
    if (redis.tls) check(issues, path, files_of(*redis.tls));
    if (redis.sentinel && redis.sentinel->tls) check(issues, path + "sentinel.", files_of(*redis.sentinel->tls));
  }
  std::ranges::move(missing_authorities(config), std::back_inserter(issues));
  return issues;
}

std::vector<config::Issue> why_not_reload(const Config& in_force, const Config& next) {
  auto issues = config::find_lasting(in_force, next);
  auto files = unusable_files(next);
  std::ranges::move(files, std::back_inserter(issues));
  return issues;
}

}  // namespace penstock::app
