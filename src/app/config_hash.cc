// SPDX-License-Identifier: Apache-2.0
// Writes the settings one after the other. Each structure is taken apart as a whole, so that a new field does not
// compile before it is decided here whether it counts.
#include "app/config_hash.h"

#include <charconv>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <optional>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "tls/digest.h"

namespace penstock::app {

namespace {
constexpr std::size_t kDigits = 12;

auto fields_of(const PacerConfig& pacer) {
  const auto& [qps, max_burst, burst_allowance_factor, keeps] = pacer;
  return std::tie(qps, max_burst, burst_allowance_factor);
}
auto fields_of(const WindowConfig& window) {
  const auto& [reservoir, interval, spread] = window;
  return std::tie(reservoir, interval, spread);
}
auto fields_of(const SlidingWindowConfig& window) {
  const auto& [max, interval, beside_pacer] = window;
  return std::tie(max, interval, beside_pacer);
}
auto fields_of(const TokenBucketConfig& bucket) {
  const auto& [capacity, refill_amount, refill_frequency] = bucket;
  return std::tie(capacity, refill_amount, refill_frequency);
}
auto fields_of(const SemaphoreConfig& semaphore) {
  const auto& [capacity, lease] = semaphore;
  return std::tie(capacity, lease);
}
auto fields_of(const CounterConfig& counter) {
  const auto& [max, period] = counter;
  return std::tie(max, period);
}
auto fields_of(const AdaptiveConfig& adaptive) {
  const auto& [min, max] = adaptive;
  return std::tie(min, max);
}
auto fields_of(const LimitConfig& limit) {
  const auto& [kind, name, per, shared, mode, route, unit] = limit;
  return std::tie(kind, name, per, shared, mode, route, unit);
}
auto fields_of(const QueueConfig& queue) {
  const auto& [max_pending, max_wait] = queue;
  return std::tie(max_pending, max_wait);
}
auto fields_of(const TimeoutConfig& timeouts) {
  const auto& [connect, first_byte, idle, total, body, tunnel_idle, tunnel_rest] = timeouts;
  return std::tie(connect, first_byte, idle, total, body, tunnel_idle, tunnel_rest);
}
auto fields_of(const TlsConfig& tls) {
  const auto& [ca, client_cert, client_key] = tls;
  return std::tie(ca, client_cert, client_key);
}
auto fields_of(const GroupRule& group) {
  const auto& [by, pattern] = group;
  return std::tie(by, pattern);
}
auto fields_of(const RetryConfig& retry) {
  const auto& [refusals, failures, attempts, budget, except] = retry;
  return std::tie(refusals, failures, attempts, budget, except);
}
auto fields_of(const BreakerConfig& breaker) {
  const auto& [failures, max_pause] = breaker;
  return std::tie(failures, max_pause);
}
/// The value of a header may be a credential.
auto fields_of(const RouteMatch& match) {
  const auto& [methods, path, header, header_value] = match;
  return std::tie(methods, path, header);
}
auto fields_of(const RouteConfig& route) {
  const auto& [name, match, weight, max_wait, timeouts, retry, obey] = route;
  return std::tie(name, match, weight, max_wait, timeouts, retry, obey);
}
auto fields_of(const CostConfig& cost) {
  const auto& [unit, estimate, actual, max, stream_usage] = cost;
  return std::tie(unit, estimate, actual, max, stream_usage);
}
auto fields_of(const UpstreamSettings& settings) {
  const auto& [max_concurrent, max_tunnels, max_weight, queue, timeouts, https, tls, group, limits, routes, obey,
               pause_on, pause_scope, max_pause, learn, retry, breaker, redact, redis, cost] = settings;
  return std::tie(max_concurrent, max_tunnels, max_weight, queue, timeouts, https, tls, group, limits, routes, obey,
                  pause_on, pause_scope, max_pause, learn, retry, breaker, redact, redis, cost);
}
auto fields_of(const Match& match) {
  const auto& [host, suffix, port, path] = match;
  return std::tie(host, suffix, port, path);
}
auto fields_of(const BaseUrl& url) {
  const auto& [secure, host, port, path] = url;
  return std::tie(secure, host, port, path);
}
/// Which preset the settings came from does not matter.
auto fields_of(const UpstreamConfig& upstream) {
  const auto& [name, match, settings, base_url, permits, preset, plan, quota] = upstream;
  return std::tie(name, match, settings, base_url, permits, quota);
}
auto fields_of(const QuotaConfig& quota) {
  const auto& [name, settings] = quota;
  return std::tie(name, settings);
}
auto fields_of(const ProxyConfig& proxy) {
  const auto& [listen, via, grace, names, request_id] = proxy;
  return std::tie(via, grace, names, request_id);
}
auto fields_of(const AdminConfig& admin) {
  const auto& [listen, details, page] = admin;
  return std::tie(details, page);
}
auto fields_of(const LogConfig& log) {
  const auto& [level, events, client] = log;
  return std::tie(level, events, client);
}
auto fields_of(const DnsConfig& dns) {
  const auto& [servers, timeout] = dns;
  return std::tie(servers, timeout);
}
auto fields_of(const ConnectionConfig& connection) {
  const auto& [header, keep_alive] = connection;
  return std::tie(header, keep_alive);
}
auto fields_of(const CapsConfig& caps) {
  const auto& [header_bytes, header_count, target_bytes, trailer_bytes, chunk_line_bytes, pipelined, pending_body_bytes,
               pending_memory, connections, connections_per_client, replay_body] = caps;
  return std::tie(header_bytes, header_count, target_bytes, trailer_bytes, chunk_line_bytes, pipelined,
                  pending_body_bytes, pending_memory, connections, connections_per_client, replay_body);
}
auto fields_of(const AccessConfig& access) {
  const auto& [clients, users, hints, allow, deny, connect_ports, connect_anywhere, plain_ports] = access;
  return std::tie(clients, users, hints, allow, deny, connect_ports, connect_anywhere, plain_ports);
}
auto fields_of(const InterceptConfig& intercept) {
  const auto& [ca, key, ca_text, key_text, bypass_on_pin, h2_only] = intercept;
  return std::tie(ca, key, bypass_on_pin, h2_only);
}
auto fields_of(const RedisTlsConfig& tls) {
  const auto& [ca, client_cert, client_key, server_name] = tls;
  return std::tie(ca, client_cert, client_key, server_name);
}
auto fields_of(const Endpoint& endpoint) {
  const auto& [address, port] = endpoint;
  return std::tie(address, port);
}
auto fields_of(const SentinelConfig::Host& sentinel) {
  const auto& [host, port] = sentinel;
  return std::tie(host, port);
}
/// Without user and password.
auto fields_of(const SentinelConfig& sentinel) {
  const auto& [hosts, master, user, password, tls] = sentinel;
  return std::tie(hosts, master, tls);
}
/// Without user, password and secret.
auto fields_of(const RedisConfig& redis) {
  const auto& [name, host, port, path, user, password, database, tls, sentinel, cluster, prefix, timeout, when_down,
               processes, secret] = redis;
  return std::tie(name, host, port, path, database, tls, sentinel, cluster, prefix, timeout, when_down, processes);
}
/// Without `defaults`, from which the upstreams' settings are made already.
auto fields_of(const Config& config) {
  const auto& [proxy, admin, log, dns, connection, defaults, caps, pass_unmatched, access, intercept, redis, unmatched,
               quotas, upstreams] = config;
  return std::tie(proxy, admin, log, dns, connection, caps, pass_unmatched, access, intercept, redis, unmatched, quotas,
                  upstreams);
}
auto fields_of(const Obey& obey) {
  const auto& [dialects] = obey;
  return std::tie(dialects);
}

class Canonical {
 public:
  template <typename Struct>
  requires requires(const Struct& value) { fields_of(value); }
  void write(const Struct& value) {
    std::apply([this](const auto&... fields) { (this->write(fields), ...); }, fields_of(value));
  }
  const std::string& text() const { return text_; }

 private:
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  void write(Number number) {
    char digits[64];
    if constexpr (std::same_as<Number, bool>) {
      text_ += number ? "yes;" : "no;";
    } else {
      text_.append(digits, std::to_chars(digits, std::end(digits), number).ptr).append(";");
    }
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void write(Enum value) { write(static_cast<int>(value)); }
  void write(Duration duration) { write(duration.count()); }
  /// With its length, so that no text can pass for several.
  void write(const std::string& text) { write(text.size()), text_.append(text).append(";"); }
  template <typename Value>
  void write(const std::optional<Value>& value) {
    write(value.has_value());
    if (value) write(*value);
  }
  template <typename Value>
  void write(const std::vector<Value>& values) {
    write(values.size());
    for (const Value& value : values) write(value);
  }
  void write(const LimitConfig::Kind& kind) {
    write(kind.index());
    std::visit([this](const auto& parameters) { write(parameters); }, kind);
  }

  std::string text_;
};
}  // namespace

std::string config_hash(const Config& config) {
  Canonical canonical;
  canonical.write(config);
  return tls::digest(canonical.text()).substr(0, kDigits);
}

}  // namespace penstock::app
