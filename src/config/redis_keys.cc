// SPDX-License-Identifier: Apache-2.0
// See redis_keys.h.
#include "config/redis_keys.h"

#include <algorithm>
#include <utility>

#include "config/key_table.h"

namespace penstock::config {

namespace {

void read_redis_url(Reading& reading, const Spot& spot, RedisConfig& redis) {
  const auto text = reading.text(spot, "redis://host:port/db or unix:///path");
  if (!text) return;
  auto parsed = parse_redis_url(*text);
  if (!parsed) return reading.complain(spot.node, named(spot.path) + ": " + parsed.error());
  parsed->name = std::move(redis.name);
  redis = std::move(*parsed);
}

constexpr const char* kTwice = " is given in url, too; write it in one place";

void read_redis_user(Reading& reading, const Spot& spot, RedisConfig& redis) {
  const bool in_url = !redis.user.empty() || !redis.password.empty();
  if (in_url) return reading.complain(spot.node, named(spot.path) + kTwice);
  read(reading, spot, redis.user);
}

void read_redis_password(Reading& reading, const Spot& spot, RedisConfig& redis) {
  if (!redis.password.empty()) return reading.complain(spot.node, named(spot.path) + kTwice);
  const auto text = reading.text(spot, "a text, as in ${file:/run/secrets/redis}");
  if (!text) return;
  if (text->empty()) return reading.complain(spot.node, named(spot.path) + " is empty; leave it out to have none");
  redis.password = *text;
}

constexpr Key<RedisTlsConfig> kRedisTls[] = {
    value<&RedisTlsConfig::ca>("ca"), value<&RedisTlsConfig::client_cert>("clientCert"),
    value<&RedisTlsConfig::client_key>("clientKey"), value<&RedisTlsConfig::server_name>("serverName")};

/// Whether the map that has this key has a url.
bool has_url_beside(const Reading& reading, const Spot& spot) {
  return reading.has_met(spot.path.substr(0, spot.path.rfind('.')) + ".url");
}

void read_redis_tls(Reading& reading, const Spot& spot, RedisConfig& redis) {
  RedisTlsConfig tls;
  read_keys(reading, spot, std::span<const Key<RedisTlsConfig>>(kRedisTls), tls);
  if (redis.tls) {
    redis.tls = std::move(tls);
  } else if (has_url_beside(reading, spot)) {
    reading.complain(spot.node, named(spot.path) + " is for a url that begins with rediss");
  }
}

void list_redis_tls(const std::string& path, std::vector<std::string>& into) { list_keys(kRedisTls, path, into); }

void read_sentinel_tls(Reading& reading, const Spot& spot, SentinelConfig& sentinel) {
  read_keys(reading, spot, std::span<const Key<RedisTlsConfig>>(kRedisTls), sentinel.tls.emplace());
}

constexpr Key<SentinelConfig> kSentinel[] = {value<&SentinelConfig::user>("user"),
                                             value<&SentinelConfig::password>("password"),
                                             {"tls", read_sentinel_tls, list_redis_tls}};

void read_sentinel(Reading& reading, const Spot& spot, RedisConfig& redis) {
  SentinelConfig unused;
  read_keys(reading, spot, std::span<const Key<SentinelConfig>>(kSentinel), redis.sentinel ? *redis.sentinel : unused);
  if (unused.tls == RedisTlsConfig{}) unused.tls.reset();
  if (unused != SentinelConfig{} && has_url_beside(reading, spot))
    reading.complain(spot.node, named(spot.path) + " is for a url that begins with redis+sentinel://");
}

void list_sentinel(const std::string& path, std::vector<std::string>& into) { list_keys(kSentinel, path, into); }

void read_redis_secret(Reading& reading, const Spot& spot, RedisConfig& redis) {
  const auto text = reading.text(spot, "a text of 16 characters or more");
  if (!text) return;
  if (text->empty()) return reading.complain(spot.node, named(spot.path) + " is empty; leave it out to have none");
  redis.secret = *text;
}

// `url` comes first: it overwrites all but the name.
constexpr Key<RedisConfig> kRedis[] = {{"url", read_redis_url},
                                       {"user", read_redis_user},
                                       {"password", read_redis_password},
                                       {"tls", read_redis_tls, list_redis_tls},
                                       {"sentinel", read_sentinel, list_sentinel},
                                       value<&RedisConfig::prefix>("prefix"),
                                       value<&RedisConfig::timeout>("timeout"),
                                       value<&RedisConfig::when_down>("whenDown"),
                                       value<&RedisConfig::processes>("processes"),
                                       {"secret", read_redis_secret}};

bool is_key_of_one(const Entry& entry) {
  return std::ranges::any_of(kRedis, [&](const auto& key) { return key.name == entry.key.text; });
}

/// Without any key of a single Redis, keys are names. A misspelled key is none where no value has keys of its own.
bool has_names(const Node& node) {
  return node.kind == Node::Kind::map && std::ranges::none_of(node.entries, is_key_of_one) &&
         std::ranges::any_of(node.entries, [](const Entry& one) { return one.value.kind == Node::Kind::map; });
}

/// Beside the keys of a single Redis no other has a place.
Node without_names(Reading& reading, const Spot& spot) {
  Node node = spot.node;
  std::erase_if(node.entries, [&](const Entry& entry) {
    const bool is_name = entry.value.kind == Node::Kind::map && !is_key_of_one(entry);
    if (is_name)
      reading.complain(entry.key, "'" + entry.key.text +
                                      "' stands beside keys of a single Redis; give all a name, as "
                                      "in redis: { main: { url: … }, " +
                                      entry.key.text + ": { url: … } }");
    return is_name;
  });
  return node;
}

void read_one(Reading& reading, const Spot& spot, RedisConfig& redis) {
  read_keys(reading, spot, std::span<const Key<RedisConfig>>(kRedis), redis);
  if (!reading.has_met(below(spot.path, "url")))
    reading.complain_about(spot.path, shown(spot.path) + " has no url, as in url: redis://127.0.0.1:6379/0");
}

}  // namespace

void read_redis(Reading& reading, const Spot& spot, Config& config) {
  if (!has_names(spot.node)) {
    const Node node = without_names(reading, spot);
    return read_one(reading, {node, spot.path}, config.redis.emplace_back());
  }
  for (const auto* entry : unique_entries(reading, spot, " must hold keys, as in 'key: value'")) {
    const Node node = at_key_if_null(*entry);
    const Spot one{node, below(spot.path, entry->key.text)};
    reading.met(one.path, entry->key);
    read_one(reading, one, config.redis.emplace_back(RedisConfig{.name = entry->key.text}));
  }
}

void list_redis(const std::string& path, std::vector<std::string>& into) { list_keys(kRedis, path, into); }

}  // namespace penstock::config
