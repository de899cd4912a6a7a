// SPDX-License-Identifier: Apache-2.0
// Reads `redis.url`. No error text of this file repeats a part of the URL, which may hold a password.

#include "base/percent.h"
#include "config/units.h"
#include "penstock/config.h"

namespace penstock {

namespace {

using base::percent_decoded;
using Wrong = std::unexpected<std::string>;
using Complaint = std::optional<std::string>;

constexpr std::size_t kLongestSocketPath = 107;  // sockaddr_un
constexpr std::uint64_t kLastDatabase = 65'535;

struct Foreign {
  std::string_view scheme, advice;
};
constexpr Foreign kForeign[] = {
    {"redis+tls", "TLS to Redis is written rediss://host:port"},
    {"tls", "TLS to Redis is written rediss://host:port"},
    {"redis-sentinel", "Sentinel is written redis+sentinel://host:26379,host:26379/MASTER"},
    {"sentinel", "Sentinel is written redis+sentinel://host:26379,host:26379/MASTER"},
    {"redis-cluster", "Redis Cluster is written redis+cluster://host:6379,host:6379"},
    {"cluster", "Redis Cluster is written redis+cluster://host:6379,host:6379"},
};

constexpr std::string_view kBadPercent = "a % must be followed by two hexadecimal digits; % itself is written %25";

// `user:pass`, or `:pass`.
Complaint read_credentials(std::string_view text, RedisConfig& into) {
  const auto colon = std::min(text.find(':'), text.size());
  const auto user = percent_decoded(text.substr(0, colon));
  const auto password = percent_decoded(text.substr(std::min(colon + 1, text.size())));
  if (!user || !password) return std::string(kBadPercent);
  if (password->empty())
    return "there is no password before the @; one without a user is written redis://:PASSWORD@host";
  into.user = *user;
  into.password = *password;
  return std::nullopt;
}

Complaint read_database(std::string_view text, RedisConfig& into) {
  const auto number = text.empty() ? std::optional<std::uint64_t>(0) : config::parse_count(text);
  if (!number || *number > kLastDatabase) return "the database must be a number, as in redis://host:6379/0";
  into.database = static_cast<int>(*number);
  return std::nullopt;
}

// `host[:port][/db]`
Complaint read_address(std::string_view text, RedisConfig& into) {
  if (text.find('?') != std::string_view::npos) return "redis:// takes no parameters after a ?";
  const auto slash = std::min(text.find('/'), text.size());
  const auto place = parse_match(text.substr(0, slash));
  if (!place || place->suffix) {
    return "the host is not one, as in redis://127.0.0.1:6379/0 (in user and password write / @ : % as %2F %40 %3A "
           "%25)";
  }
  into.host = place->host;
  into.port = place->port.value_or(into.port);
  return read_database(text.substr(std::min(slash + 1, text.size())), into);
}

// `host[:port],host[:port]`
std::optional<std::vector<Endpoint>> read_hosts(std::string_view text, std::uint16_t usual_port) {
  std::vector<Endpoint> hosts;
  while (true) {
    const auto comma = std::min(text.find(','), text.size());
    const auto place = parse_match(text.substr(0, comma));
    if (!place || place->suffix || !place->path.empty()) return std::nullopt;
    hosts.push_back({place->host, place->port.value_or(usual_port)});
    if (comma == text.size()) return hosts;
    text.remove_prefix(comma + 1);
  }
}

// `host[:port],host[:port]/master[/db]`
Complaint read_sentinels(std::string_view text, RedisConfig& into) {
  auto& sentinel = into.sentinel.emplace();
  const auto slash = std::min(text.find('/'), text.size());
  const auto hosts = read_hosts(text.substr(0, slash), SentinelConfig::Host{}.port);
  if (!hosts)
    return "the hosts are not ones, as in redis+sentinel://s1:26379,s2:26379/mymaster (in user and password write / @ "
           ": % as %2F %40 %3A %25)";
  for (const auto& [host, port] : *hosts) sentinel.hosts.push_back({host, port});
  const auto rest = text.substr(std::min(slash + 1, text.size()));
  const auto end = std::min(rest.find('/'), rest.size());
  const auto master = percent_decoded(rest.substr(0, end));
  if (!master) return std::string(kBadPercent);
  if (master->empty()) return "the name of the master is missing, as in redis+sentinel://s1:26379,s2:26379/mymaster";
  sentinel.master = *master;
  return read_database(rest.substr(std::min(end + 1, rest.size())), into);
}

// `host[:port],host[:port][/0]`
Complaint read_cluster(std::string_view text, RedisConfig& into) {
  const auto slash = std::min(text.find('/'), text.size());
  const auto hosts = read_hosts(text.substr(0, slash), into.port);
  if (!hosts)
    return "the hosts are not ones, as in redis+cluster://r1:6379,r2:6379 (in user and password write / @ : % as %2F "
           "%40 %3A %25)";
  into.cluster = *hosts;
  into.host = hosts->front().address;
  into.port = hosts->front().port;
  const auto database = text.substr(std::min(slash + 1, text.size()));
  if (!database.empty() && database != "0")
    return "a Redis Cluster has the database 0 alone; leave out what follows the /";
  return std::nullopt;
}

// `/path[?db=N]`
Complaint read_socket(std::string_view text, RedisConfig& into) {
  constexpr std::string_view kDatabase = "db=";
  const auto question = std::min(text.find('?'), text.size());
  const auto path = percent_decoded(text.substr(0, question));
  const auto parameter = text.substr(std::min(question + 1, text.size()));
  if (!path) return std::string(kBadPercent);
  if (path->size() < 2 || path->front() != '/')
    return "the path of the socket is missing, as in unix:///run/redis/redis.sock";
  if (path->size() > kLongestSocketPath) return "the path of a socket has at most 107 bytes";
  if (!parameter.empty() && !parameter.starts_with(kDatabase)) return "unix:// takes no parameter but ?db=N";
  into.path = *path;
  return parameter.empty() ? std::nullopt : read_database(parameter.substr(kDatabase.size()), into);
}

Complaint read_url(std::string_view text, RedisConfig& into) {
  const auto colon = text.find("://");
  const auto scheme = text.substr(0, colon);
  for (const auto& foreign : kForeign) {
    if (scheme == foreign.scheme) return std::string(foreign.advice);
  }
  const bool socket = scheme == "unix", over_tls = scheme.starts_with("rediss");
  const bool sentinel = scheme == "redis+sentinel" || scheme == "rediss+sentinel";
  const bool cluster = scheme == "redis+cluster" || scheme == "rediss+cluster";
  const bool known = socket || sentinel || cluster || scheme == "rediss" || scheme == "redis";
  if (colon == std::string_view::npos || !known)
    return "it must begin with redis://, rediss:// (TLS), redis+sentinel://, redis+cluster:// or unix://";
  if (over_tls) into.tls.emplace();
  text.remove_prefix(colon + 3);
  const auto at = text.substr(0, text.find('/')).rfind('@');
  if (at != std::string_view::npos) {
    if (auto wrong = read_credentials(text.substr(0, at), into)) return wrong;
    text.remove_prefix(at + 1);
  }
  if (sentinel) return read_sentinels(text, into);
  if (cluster) return read_cluster(text, into);
  return socket ? read_socket(text, into) : read_address(text, into);
}

}  // namespace

std::expected<RedisConfig, std::string> parse_redis_url(std::string_view text) {
  RedisConfig redis;
  if (auto wrong = read_url(text, redis)) return Wrong(*wrong);
  return redis;
}

}  // namespace penstock
