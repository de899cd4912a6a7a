// SPDX-License-Identifier: Apache-2.0
// The only place where failures of connections name keys of the configuration.
#include "redis/wire/advice.h"

#include <string>
#include <utility>

namespace penstock::redis {

namespace {

/// The names that advice is made of.
struct Names {
  Names(const RedisConfig& config, Greeting::Server server)
      : redis(config.name == RedisConfig{}.name ? "redis" : "redis." + config.name),
        login(server == Greeting::Server::sentinel ? redis + ".sentinel" : redis),
        tls((config.sentinel && config.sentinel->tls ? login : redis) + ".tls"),
        way(config.sentinel          ? "+sentinel://"
            : config.cluster.empty() ? "://"
                                     : "+cluster://"),
        in_url(" in " + redis + ".url"),
        secure(config.tls ? "rediss" : "redis") {}

  std::string redis, login, tls, way, in_url, secure;
};

/// What a Redis means that resets a connection which has just been made.
std::string of_reset(const Names& names, const RedisConfig& config) {
  if (!config.path.empty()) return {};
  if (!config.tls) return "; where it speaks TLS, write rediss" + names.way + names.in_url;
  if (!config.tls->client_cert.empty()) return {};
  return "; perhaps it demands a client certificate (" + names.tls + ".clientCert, clientKey)";
}

std::string words_of_advice(Advice advice, const Names& names, const RedisConfig& config) {
  switch (advice) {
    case Advice::none:
    case Advice::reach: return {};
    case Advice::log_in:
      return " Set " + names.login + ".password, and " + names.login + ".user if it is not the user default";
    case Advice::see_login: return " See " + names.login + ".user and " + names.login + ".password";
    case Advice::no_tls: return "; where it does not speak TLS, write redis" + names.way + names.in_url;
    case Advice::tls: return ": write rediss" + names.way + names.in_url;
    case Advice::reset: return of_reset(names, config);
    case Advice::cluster: return ": write " + names.secure + "+cluster://HOST:6379" + names.in_url;
    case Advice::check_cluster:
      return "; it is cut off from the others, or a slot has no node: redis-cli --cluster check tells";
    case Advice::no_cluster: return ": write " + names.secure + "://" + names.in_url;
    case Advice::sentinel: return ": write " + names.secure + "+sentinel://HOST:26379/MASTER" + names.in_url;
    case Advice::no_sentinel:
      return ": name its sentinels" + names.in_url + ", or write " + names.secure + "://HOST:6379 for this Redis alone";
    case Advice::replica:
      if (config.sentinel || !config.cluster.empty()) return {};
      return " It is a replica: name its master" + names.in_url + ", or write " + names.secure +
             "+sentinel://HOST:26379/MASTER";
  }
  return {};
}

}  // namespace

Failure advised(Failure why, const RedisConfig& config, Greeting::Server server) {
  const auto advice = std::exchange(why.advice, Advice::none);
  if (advice != Advice::none) why.text += words_of_advice(advice, Names(config, server), config);
  return why;
}

}  // namespace penstock::redis
