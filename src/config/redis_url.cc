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
    {"rediss",
     "TLS to Redis is not supported yet; use redis:// within a network that you trust, or to a TLS tunnel here"},
    {"redis+tls",
     "TLS to Redis is not supported yet; use redis:// within a network that you trust, or to a TLS tunnel here"},
    {"redis-sentinel", "Sentinel is not supported yet; write the address of the master itself, redis://host:port"},
    {"redis+sentinel", "Sentinel is not supported yet; write the address of the master itself, redis://host:port"},
    {"sentinel", "Sentinel is not supported yet; write the address of the master itself, redis://host:port"},
    {"redis-cluster", "Redis Cluster is not supported yet; use a Redis of its own, redis://host:port"},
    {"redis+cluster", "Redis Cluster is not supported yet; use a Redis of its own, redis://host:port"},
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
  const bool socket = scheme == "unix";
  if (colon == std::string_view::npos || (!socket && scheme != "redis"))
    return "it must begin with redis:// or unix://";
  text.remove_prefix(colon + 3);
  const auto at = text.substr(0, text.find('/')).rfind('@');
  if (at != std::string_view::npos) {
    if (auto wrong = read_credentials(text.substr(0, at), into)) return wrong;
    text.remove_prefix(at + 1);
  }
  return socket ? read_socket(text, into) : read_address(text, into);
}

}  // namespace

std::expected<RedisConfig, std::string> parse_redis_url(std::string_view text) {
  RedisConfig redis;
  if (auto wrong = read_url(text, redis)) return Wrong(*wrong);
  return redis;
}

}  // namespace penstock
