// SPDX-License-Identifier: Apache-2.0
// The text of /status. Durations of the configuration are written the way they are configured.
#include <array>
#include <nlohmann/json.hpp>

#include "observe/admin_server.h"
#include "observe/notices.h"
#include "observe/state_words.h"

namespace penstock::observe {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(Duration duration) {
  constexpr std::array<std::pair<std::int64_t, const char*>, 6> kUnits{
      {{86'400'000'000, "d"}, {3'600'000'000, "h"}, {60'000'000, "m"}, {1'000'000, "s"}, {1'000, "ms"}, {1, "us"}}};
  const std::int64_t micros = duration.count();
  if (micros == 0) return "0s";
  for (const auto& [size, unit] : kUnits) {
    if (micros % size == 0) return std::to_string(micros / size) + unit;
  }
  return {};
}

std::string text_of(const Match& match) {
  const bool v6 = match.host.find(':') != std::string::npos;
  const std::string host = match.suffix ? "*." + match.host : v6 ? "[" + match.host + "]" : match.host;
  return host + (match.port ? ":" + std::to_string(*match.port) : "") + match.path;
}

double milliseconds(Duration duration) { return static_cast<double>(duration.count()) / 1000; }

const char* text_of(Https https) {
  switch (https) {
    case Https::tunnel: break;
    case Https::originate: return "originate";
    case Https::intercept: return "intercept";
  }
  return "tunnel";
}

Json settings_json(const UpstreamSettings& settings) {
  const auto& [connect, first_byte, idle, total, body, tunnel_idle, tunnel_rest] = settings.timeouts;
  return {{"maxConcurrent", settings.max_concurrent},
          {"maxTunnels", tunnels_of(settings)},
          {"maxWeight", settings.max_weight},
          {"queue", {{"maxPending", settings.queue.max_pending}, {"maxWait", text_of(settings.queue.max_wait)}}},
          {"timeouts",
           {{"connect", text_of(connect)},
            {"firstByte", text_of(first_byte)},
            {"idle", text_of(idle)},
            {"total", text_of(total)},
            {"body", text_of(body)},
            {"tunnelIdle", text_of(tunnel_idle)},
            {"tunnelRest", text_of(tunnel_rest)}}},
          {"https", text_of(settings.https)}};
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
  parameters["mode"] = limit.mode == LimitConfig::Mode::refuse ? "refuse" : "delay";
  return {{std::string(limit_key(limit.kind)), std::move(parameters)}};
}

Json retry_json(const RetryConfig& retry) {
  return {{"refusals", retry.refusals},
          {"failures", to_string(retry.failures)},
          {"attempts", retry.attempts},
          {"budget", std::to_string(retry.budget) + "%"},
          {"except", retry.except}};
}

Json breaker_json(const BreakerConfig& breaker) {
  if (breaker.failures == 0) return "off";
  return {{"failures", breaker.failures}, {"maxPause", text_of(breaker.max_pause)}};
}

Json limits_json(const UpstreamSettings& settings) {
  Json limits = Json::array();
  for (const LimitConfig& limit : settings.limits) limits.push_back(limit_json(limit));
  Json json{{"limits", std::move(limits)},
            {"obey", to_string(settings.obey)},
            {"pauseOn", settings.pause_on},
            {"pauseScope", settings.pause_scope == PauseScope::credentials ? "credentials" : "upstream"},
            {"maxPause", text_of(settings.max_pause)},
            {"learn", settings.learn == Learn::on},
            {"retry", retry_json(settings.retry)},
            {"breaker", breaker_json(settings.breaker)}};
  if (settings.group) json["group"] = to_string(*settings.group);
  return json;
}

/// Without user and password.
Json redis_json(const std::optional<RedisConfig>& redis) {
  if (!redis) return nullptr;
  constexpr std::array kWhenDown{"share", "wait", "open", "refuse"};
  return {{"url", to_string(*redis)},
          {"prefix", redis->prefix},
          {"timeout", text_of(redis->timeout)},
          {"whenDown", kWhenDown[static_cast<std::size_t>(redis->when_down)]},
          {"processes", redis->processes}};
}

Json tls_json(const TlsConfig& tls) {
  return {{"ca", tls.ca}, {"clientCert", tls.client_cert}, {"clientKey", tls.client_key}};
}

Json entry_json(const std::string& name, const std::vector<Match>& match, const UpstreamSettings& settings) {
  Json entry{{"name", name}, {"match", Json::array()}};
  for (const Match& one : match) entry["match"].push_back(text_of(one));
  if (settings.tls != TlsConfig{}) entry["tls"] = tls_json(settings.tls);
  entry.update(settings_json(settings));
  entry.update(limits_json(settings));
  return entry;
}

Json configuration_json(const Config& config) {
  Json entries = Json::array();
  for (const UpstreamConfig& one : config.upstreams) {
    entries.push_back(entry_json(one.name, one.match, one.settings));
    if (one.base_url) entries.back()["baseUrl"] = to_string(*one.base_url);
  }
  entries.push_back(entry_json("*", {}, config.unmatched));
  return {
      {"proxy",
       {{"listen", to_string(config.proxy.listen)}, {"via", config.proxy.via}, {"grace", text_of(config.proxy.grace)}}},
      {"admin", {{"listen", to_string(config.admin.listen)}}},
      {"log", {{"level", name_of(config.log.level)}, {"events", config.log.events}}},
      {"intercept",
       {{"ca", config.intercept.ca},
        {"key", config.intercept.key},
        {"bypassOnPin", config.intercept.bypass_on_pin},
        {"h2Only", config.intercept.h2_only == H2Only::tunnel ? "tunnel" : "refuse"}}},
      {"redis", redis_json(config.redis)},
      {"defaults", defaults_json(config)},
      {"unmatched", config.pass_unmatched ? "pass" : "deny"},
      {"upstreams", std::move(entries)}};
}

Json totals_json(const Totals& totals) {
  return {{"dispatched", totals.dispatched},  {"success", totals.success},
          {"httpError", totals.http_error},   {"upstreamError", totals.upstream_error},
          {"clientGone", totals.client_gone}, {"clientGonePending", totals.client_gone_pending},
          {"refused", totals.refused}};
}

Json handshakes_json(const HandshakeTotals& totals) {
  return {{"done", totals.done},     {"rejected", totals.rejected},  {"left", totals.left},
          {"failed", totals.failed}, {"timedOut", totals.timed_out}, {"bypassed", totals.bypassed}};
}

Json upstream_json(const UpstreamSnapshot& upstream) {
  Json json{{"name", upstream.name},
            {"pending", upstream.pending},
            {"inFlight", upstream.in_flight},
            {"maxConcurrent", upstream.max_concurrent},
            {"tunnels", {{"busy", upstream.busy_tunnels}, {"resting", upstream.resting_tunnels}}},
            {"maxTunnels", upstream.max_tunnels},
            {"pauses", upstream.pauses},
            {"unreachable", upstream.unreachable},
            {"state", state_in_words(upstream)},
            {"oldestWaitMs", milliseconds(upstream.oldest_wait)},
            {"totals", totals_json(upstream.totals)},
            {"handshakes", handshakes_json(upstream.handshakes)}};
  if (upstream.totals.tunnels_past_limits > 0) json["tunnelsPastLimits"] = upstream.totals.tunnels_past_limits;
  return json;
}

Json redis_state_json(const std::optional<RedisSnapshot>& redis) {
  if (!redis) return nullptr;
  return {{"up", redis->up},
          {"degraded", redis->degraded},
          {"refused", redis->refused},
          {"limitsDiffer", redis->limits_differ}};
}

Json reload_json(const std::optional<ReloadSnapshot>& reload) {
  if (!reload) return nullptr;
  return {{"pid", reload->process}, {"file", reload->file}, {"count", reload->count}, {"errors", reload->errors}};
}

}  // namespace

std::string status_json(const Snapshot& snapshot, const Config& config) {
  Json upstreams = Json::array();
  for (const UpstreamSnapshot& one : snapshot.upstreams) upstreams.push_back(upstream_json(one));
  const Json status{{"version", PENSTOCK_VERSION},
                    {"draining", snapshot.draining},
                    {"connections", snapshot.connections},
                    {"pendingBytes", snapshot.pending_bytes},
                    {"redis", redis_state_json(snapshot.redis)},
                    {"reload", reload_json(snapshot.reload)},
                    {"upstreams", std::move(upstreams)},
                    {"configuration", configuration_json(config)}};
  return status.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace penstock::observe
