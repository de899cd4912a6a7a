// SPDX-License-Identifier: Apache-2.0
// The settings in force, as /status shows them. Durations are written the way they are configured.
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/duration_text.h"
#include "http/redaction.h"
#include "observe/notices.h"
#include "observe/status_json.h"
#include "penstock/quotas.h"

namespace penstock::observe {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(Duration duration) { return base::duration_text(duration); }

std::string text_of(const Match& match) {
  const bool v6 = match.host.find(':') != std::string::npos;
  const std::string host = match.suffix ? "*." + match.host : v6 ? "[" + match.host + "]" : match.host;
  return host + (match.port ? ":" + std::to_string(*match.port) : "") + match.path;
}

const char* name_of(AdminDetails details) {
  constexpr std::array kNames{"loopback", "all", "off"};
  return kNames[static_cast<std::size_t>(details)];
}

const char* name_of(LogClient client) {
  constexpr std::array kNames{"address", "full", "off"};
  return kNames[static_cast<std::size_t>(client)];
}

const char* text_of(Https https) {
  switch (https) {
    case Https::tunnel: break;
    case Https::originate: return "originate";
    case Https::intercept: return "intercept";
  }
  return "tunnel";
}

Json timeouts_json(const TimeoutConfig& timeouts) {
  const auto& [connect, first_byte, idle, total, body, tunnel_idle, tunnel_rest] = timeouts;
  return Json{{"connect", text_of(connect)},
              {"firstByte", text_of(first_byte)},
              {"idle", text_of(idle)},
              {"total", text_of(total)},
              {"body", text_of(body)},
              {"tunnelIdle", text_of(tunnel_idle)},
              {"tunnelRest", text_of(tunnel_rest)}};
}

Json queue_json(const UpstreamSettings& settings) {
  return {{"maxConcurrent", settings.max_concurrent},
          {"maxTunnels", tunnels_of(settings)},
          {"maxWeight", settings.max_weight},
          {"queue", {{"maxPending", settings.queue.max_pending}, {"maxWait", text_of(settings.queue.max_wait)}}}};
}

Json settings_json(const UpstreamSettings& settings) {
  Json json = queue_json(settings);
  json["timeouts"] = timeouts_json(settings.timeouts);
  json["https"] = text_of(settings.https);
  return json;
}

/// With the time-outs of the connection, which belong to the defaults.
Json defaults_json(const Config& config) {
  Json json = settings_json(config.defaults);
  json["timeouts"]["header"] = text_of(config.connection.header);
  json["timeouts"]["keepAlive"] = text_of(config.connection.keep_alive);
  return json;
}

struct ParametersJson {
  Json operator()(const PacerConfig& pacer) const {
    return {{"qps", pacer.qps}, {"maxBurst", pacer.max_burst}, {"burstAllowanceFactor", pacer.burst_allowance_factor}};
  }
  Json operator()(const WindowConfig& window) const {
    return {{"reservoir", window.reservoir}, {"interval", text_of(window.interval)}, {"spread", window.spread}};
  }
  Json operator()(const SlidingWindowConfig& window) const {
    return {{"max", window.max}, {"interval", text_of(window.interval)}};
  }
  Json operator()(const TokenBucketConfig& bucket) const {
    return {{"capacity", bucket.capacity},
            {"refillAmount", bucket.refill_amount},
            {"refillFrequency", text_of(bucket.refill_frequency)}};
  }
  Json operator()(const SemaphoreConfig& semaphore) const {
    return {{"capacity", semaphore.capacity}, {"lease", text_of(semaphore.lease)}};
  }
  Json operator()(const CounterConfig& counter) const {
    return {{"max", counter.max}, {"period", text_of(counter.period)}};
  }
  Json operator()(const AdaptiveConfig& adaptive) const { return {{"min", adaptive.min}, {"max", adaptive.max}}; }
};

Json limit_json(const LimitConfig& limit) {
  Json parameters = std::visit(ParametersJson{}, limit.kind);
  parameters["name"] = limit_name(limit);
  parameters["per"] = limit.per == LimitConfig::Per::group ? "group" : "upstream";
  parameters["shared"] = limit.shared;
  parameters["mode"] = mode_name(limit.mode);
  if (!limit.route.empty()) parameters["route"] = limit.route;
  if (!limit.unit.empty()) parameters["unit"] = limit.unit;
  return {{std::string(limit_key(limit.kind)), std::move(parameters)}};
}

Json retry_json(const RetryConfig& retry) {
  return {{"refusals", retry.refusals},
          {"failures", to_string(retry.failures)},
          {"attempts", retry.attempts},
          {"budget", std::to_string(retry.budget) + "%"},
          {"except", retry.except}};
}

/// Without the values of headers, which may be credentials. What is left out is as in the upstream.
Json route_json(const RouteConfig& route, const std::vector<std::string>& redact) {
  std::string room;
  Json match = Json::object();
  if (!route.match.path.empty()) match["path"] = http::shown_path(route.match.path, redact, room);
  if (!route.match.methods.empty()) match["method"] = route.match.methods;
  if (!route.match.header.empty()) match["header"] = route.match.header;
  Json json{{"name", route.name}, {"match", std::move(match)}, {"weight", route.weight}};
  if (route.max_wait) json["queue"] = {{"maxWait", text_of(*route.max_wait)}};
  if (route.timeouts) json["timeouts"] = timeouts_json(*route.timeouts);
  if (route.retry) json["retry"] = retry_json(*route.retry);
  if (route.obey) json["obey"] = to_string(*route.obey);
  return json;
}

Json breaker_json(const BreakerConfig& breaker) {
  if (breaker.failures == 0) return "off";
  return {{"failures", breaker.failures}, {"maxPause", text_of(breaker.max_pause)}};
}

/// What a quota may decide.
Json limits_json(const UpstreamSettings& settings) {
  Json limits = Json::array();
  for (const LimitConfig& limit : settings.limits) limits.push_back(limit_json(limit));
  Json json{{"limits", std::move(limits)},
            {"obey", to_string(settings.obey)},
            {"pauseOn", settings.pause_on},
            {"pauseScope", settings.pause_scope == PauseScope::credentials ? "credentials" : "upstream"},
            {"maxPause", text_of(settings.max_pause)},
            {"learn", settings.learn == Learn::on}};
  if (settings.group) json["group"] = to_string(*settings.group);
  if (!settings.redis.empty()) json["redis"] = settings.redis;
  return json;
}

Json hosts_json(const UpstreamSettings& settings) {
  Json json{
      {"retry", retry_json(settings.retry)}, {"breaker", breaker_json(settings.breaker)}, {"redact", settings.redact}};
  if (!settings.routes.empty()) json["routes"] = Json::array();
  for (const RouteConfig& route : settings.routes) json["routes"].push_back(route_json(route, settings.redact));
  return json;
}

Json redis_tls_json(const std::optional<RedisTlsConfig>& tls) {
  if (!tls) return nullptr;
  return {{"ca", tls->ca},
          {"clientCert", tls->client_cert},
          {"clientKey", tls->client_key},
          {"serverName", tls->server_name}};
}

/// Without user, password and secret.
Json redis_json(const RedisConfig& redis) {
  constexpr std::array kWhenDown{"share", "wait", "open", "refuse"};
  return {{"url", to_string(redis)},
          {"prefix", redis.prefix},
          {"tls", redis_tls_json(redis.tls)},
          {"timeout", text_of(redis.timeout)},
          {"whenDown", kWhenDown[static_cast<std::size_t>(redis.when_down)]},
          {"processes", redis.processes}};
}

/// As in a file: one, or names.
Json all_redis_json(const std::vector<RedisConfig>& redis) {
  if (redis.empty()) return nullptr;
  if (redis.size() == 1 && redis.front().name == RedisConfig{}.name) return redis_json(redis.front());
  Json all = Json::object();
  for (const RedisConfig& one : redis) all[one.name] = redis_json(one);
  return all;
}

Json tls_json(const TlsConfig& tls) {
  return {{"ca", tls.ca}, {"clientCert", tls.client_cert}, {"clientKey", tls.client_key}};
}

Json cost_json(const UpstreamSettings& settings) {
  const auto& [unit, estimate, actual, max, stream_usage] = *settings.cost;
  return {{"unit", unit},
          {"estimate", estimate},
          {"actual", actual},
          {"max", max ? Json(*max) : Json()},
          {"streamUsage", stream_usage}};
}

Json entry_json(const std::string& name, const std::vector<Match>& match, const UpstreamSettings& settings) {
  Json entry{{"name", name}, {"match", Json::array()}};
  for (const Match& one : match) entry["match"].push_back(text_of(one));
  if (settings.tls != TlsConfig{}) entry["tls"] = tls_json(settings.tls);
  if (settings.cost) entry["cost"] = cost_json(settings);
  entry.update(settings_json(settings));
  entry.update(limits_json(settings));
  entry.update(hosts_json(settings));
  return entry;
}

Json quota_json(const QuotaConfig& quota) {
  Json json{{"name", quota.name}};
  json.update(queue_json(quota.settings));
  json.update(limits_json(quota.settings));
  if (quota.settings.cost) json["cost"] = cost_json(quota.settings);
  return json;
}

}  // namespace

Json configuration_json(const Config& config) {
  Json entries = Json::array();
  for (const UpstreamConfig& one : config.upstreams) {
    entries.push_back(entry_json(one.name, one.match, effective_settings(config, one)));
    if (!one.quota.empty()) entries.back()["quota"] = one.quota;
    if (one.base_url) entries.back()["baseUrl"] = to_string(*one.base_url);
    if (one.permits) entries.back()["permits"] = true;
  }
  entries.push_back(entry_json("*", {}, config.unmatched));
  Json quotas = Json::array();
  for (const QuotaConfig& one : config.quotas) quotas.push_back(quota_json(one));
  return {
      {"proxy",
       {{"listen", to_string(config.proxy.listen)},
        {"via", config.proxy.via},
        {"grace", text_of(config.proxy.grace)},
        {"requestId", config.proxy.request_id}}},
      {"admin",
       {{"listen", to_string(config.admin.listen)},
        {"details", name_of(config.admin.details)},
        {"page", config.admin.page}}},
      {"log",
       {{"level", name_of(config.log.level)}, {"events", config.log.events}, {"client", name_of(config.log.client)}}},
      {"intercept",
       {{"ca", config.intercept.ca},
        {"key", config.intercept.key},
        {"bypassOnPin", config.intercept.bypass_on_pin},
        {"h2Only", config.intercept.h2_only == H2Only::tunnel ? "tunnel" : "refuse"}}},
      {"redis", all_redis_json(config.redis)},
      {"defaults", defaults_json(config)},
      {"unmatched", config.pass_unmatched ? "pass" : "deny"},
      {"quotas", std::move(quotas)},
      {"upstreams", std::move(entries)}};
}

}  // namespace penstock::observe
