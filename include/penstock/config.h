// SPDX-License-Identifier: Apache-2.0
// All settings with their defaults: the only place where a default is written.
// Fill a `Config` by hand, or read one from YAML with `read_config` or `load_config`. Plain values, no threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/cost.h"
#include "penstock/duration.h"
#include "penstock/limits.h"
#include "penstock/obey.h"
#include "penstock/requests.h"

namespace penstock {

/// Where to listen: a literal IPv4 or IPv6 address (no brackets) and a port; port 0 takes any free one.
struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

/// Reads `127.0.0.1:3128`, `[::1]:3128`. nullopt for a name, or without a port.
std::optional<Endpoint> parse_endpoint(std::string_view text);
inline std::string to_string(const Endpoint& endpoint) {
  const bool v6 = endpoint.address.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.address + "]" : endpoint.address) + ":" + std::to_string(endpoint.port);
}

struct ProxyConfig {
  Endpoint listen{"127.0.0.1", 3128};
  std::string via = "penstock";  ///< our name in `Via` and `Proxy-Status`; a request that already names it is a loop
  Duration grace = 30s;          ///< how long a drain may take
  /// Names of public DNS by which clients address the proxy as a gateway, besides addresses and names that public DNS
  /// does not have: `a.example`, `*.a.example`.
  std::vector<std::string> names;
  /// Every answer gets a `Penstock-Request-Id` with Event::id; else only one to a request that carries such a field.
  bool request_id = false;
  bool operator==(const ProxyConfig&) const = default;
};

/// To which clients of the admin port paths, ids, users, clients, groups, events and /ahead are shown; numbers to all.
enum class AdminDetails { loopback, all, off };

struct AdminConfig {
  /// / /live /events /metrics /healthz /readyz /status. An empty address: there is no admin port; not so in a file.
  Endpoint listen{"127.0.0.1", 9128};
  AdminDetails details = AdminDetails::loopback;
  bool page = true;  ///< `/`, `/live` and `/events` are served
  bool operator==(const AdminConfig&) const = default;
};

enum class LogLevel { debug, info, warn, error, off };

/// What Event::client says: the address, with its port, or nothing.
enum class LogClient { address, full, off };

struct LogConfig {
  LogLevel level = LogLevel::info;  ///< of diagnostics, on stderr
  std::string events = "stdout";    ///< stdout | stderr | off | a file's path; JSON lines
  LogClient client = LogClient::address;
  bool operator==(const LogConfig&) const = default;
};

struct DnsConfig {
  std::vector<std::string>
      servers;            ///< `address` or `address:port`; empty: /etc/resolv.conf. /etc/hosts is read in both cases
  Duration timeout = 5s;  ///< for one name, all tries together
  bool operator==(const DnsConfig&) const = default;
};

struct QueueConfig {
  std::size_t max_pending = 1000;  ///< in all lanes of the upstream together; 0: no request waits
  Duration max_wait = 30s;         ///< a request that has not taken off by then is refused
  bool operator==(const QueueConfig&) const = default;
};

/// What happens to a client inside an intercepted CONNECT that speaks HTTP/2 but not HTTP/1.1, as gRPC does.
enum class H2Only : std::uint8_t {
  tunnel,  ///< it gets a tunnel, limited as one
  refuse,  ///< its connection ends with the alert no_application_protocol
};

/// Our own authority: for upstreams with `https: intercept`, Penstock presents certificates that it issues. PEM files.
struct InterceptConfig {
  /// Both or neither; neither: ca.pem and ca-key.pem in $XDG_CONFIG_HOME/penstock, or ~/.config/penstock.
  std::string ca, key;
  /// Both or neither: the texts in place of files, of an authority that lives in memory alone. Not a key of files.
  std::string ca_text, key_text;
  /// A client that rejects our certificate for a host twice in a row gets tunnels to that host for an hour.
  bool bypass_on_pin = false;
  H2Only h2_only = H2Only::tunnel;
  bool operator==(const InterceptConfig&) const = default;
};

/// Time-outs of a client's connection while no upstream is known; zero means none. In a file: in `defaults.timeouts`.
struct ConnectionConfig {
  Duration header = 10s;      ///< from the first byte of a request's head to its last
  Duration keep_alive = 60s;  ///< without a request: since the last answer, or since the connection was accepted
  bool operator==(const ConnectionConfig&) const = default;
};

/// Time-outs of a request; zero means none.
struct TimeoutConfig {
  Duration connect = 3s;      ///< for all addresses of the upstream together
  Duration first_byte = 60s;  ///< from the request's last byte to the final response head
  Duration idle = 60s;        ///< while a body should move: without a byte of it in either direction
  Duration total = 0s;        ///< from take-off to landing
  Duration body = 30s;        ///< while the client's body is awaited: without a byte of it, pending or in flight
  Duration tunnel_idle =
      10min;  ///< of a tunnel: without a byte in either direction; idle and first_byte do not apply to it
  /// A tunnel rests when its last byte came from the upstream and is this long ago: others get its slot until the
  /// client sends again. Zero: it holds its slot until it ends.
  Duration tunnel_rest = 500ms;
  bool operator==(const TimeoutConfig&) const = default;
};

/// The statuses of answers that refuse; a 403 is one only if it says when to come back, or that nothing remains.
inline constexpr std::array<std::uint16_t, 4> kRefusals{429, 503, 529, 403};

/// Which requests a pause stops that an answer without a narrower scope causes.
enum class PauseScope : std::uint8_t {
  upstream,     ///< all of the upstream, or of the request's group where there are groups
  credentials,  ///< those with the credentials of the refused one, whose quota is spent
};

/// Whether limits learn from answers what strangers take of the same quota: somebody who uses the same account without
/// this proxy. An answer says how much of its window the API has counted, and what was not ours was theirs. Learned by
/// `window` and `slidingWindow` whose size and interval are those that the API publishes.
enum class Learn : std::uint8_t { off, on };

/// Which requests are sent again. The client gets the last answer alone.
struct RetryConfig {
  /// 502, 503, 504, 529, and a connection that breaks before the response head.
  enum class Failures : std::uint8_t {
    off,
    safe,        ///< of GET, HEAD, OPTIONS, TRACE
    idempotent,  ///< of those, PUT, DELETE, and whatever has an Idempotency-Key
  };
  bool refusals = true;  ///< a 429, or a 403 that says so; such a request waits for the end of the pause
  Failures failures = Failures::off;
  int attempts = 8;  ///< of one request, the first one included; 1 to 100
  int budget = 20;   ///< percent: the most that repeats of failures may be of the requests of ten seconds; 0 to 100
  /// Codes of errors that no waiting cures: insufficient_quota. A refusal is passed on if its JSON body has one of them
  /// as `code`, `type` or `error_code`, at any depth. At most 16.
  std::vector<std::string> except;
  static RetryConfig off() { return {.refusals = false}; }
  bool operator==(const RetryConfig&) const = default;
};

/// As files have it.
inline std::string to_string(RetryConfig::Failures failures) {
  constexpr std::array kNames{"off", "safe", "idempotent"};
  return kNames[static_cast<std::size_t>(failures)];
}

/// Stops an upstream that cannot be reached: after so many failed connections in a row a single request tries it, after
/// pauses that double, and new requests are refused at once.
struct BreakerConfig {
  int failures = 5;          ///< in a row; 0: there is no breaker; at most 1000
  Duration max_pause = 30s;  ///< the longest pause between two tries; 100ms to 1h
  static BreakerConfig off() { return {.failures = 0}; }
  bool operator==(const BreakerConfig&) const = default;
};

/// How https to an upstream is carried, and so what is limited.
enum class Https {
  tunnel,     ///< a CONNECT passes as it is: one departure and one slot for each tunnel
  originate,  ///< `http://` requests leave as https, each limited by itself; a CONNECT is a tunnel here too
  intercept,  ///< a CONNECT is answered with a certificate of our own authority, and each request in it is limited
};

/// The authorities trusted for TLS to an upstream, and the client certificate presented to it: PEM files.
struct TlsConfig {
  std::string ca;                       ///< empty: the system's authorities
  std::string client_cert, client_key;  ///< both or neither
  bool operator==(const TlsConfig&) const = default;
};

/// What holds for some requests of an upstream beside what holds for all. The first route that fits, of those with
/// limits, adds its limits (those of UpstreamSettings::limits with its name); of the weights of all that fit the
/// largest counts; of every other setting that of the first which fits and has it. A tunnel has no route.
struct RouteConfig {
  /// Unique within the upstream; people see it, and it begins the names of its limits in a file: `/search:rate`. If a
  /// file gives none, the text of `match`, without what is secret in it.
  std::string name;
  RouteMatch match;
  int weight = 1;                         ///< at least this many units; the client's weight may be more
  std::optional<Duration> max_wait;       ///< instead of queue.max_wait; it may be longer
  std::optional<TimeoutConfig> timeouts;  ///< whole: what a file leaves out is the upstream's
  std::optional<RetryConfig> retry;       ///< likewise
  std::optional<Obey> obey;
  bool operator==(const RouteConfig&) const = default;
};

/// The settings of one upstream. Those after `https` cannot be set in `defaults` of a file.
struct UpstreamSettings {
  int max_concurrent = 64;  ///< requests in flight from this process, at least 1
  int max_tunnels = 0;      ///< tunnels open from this process, resting or not; 0: see tunnels_of()
  int max_weight = 1000;    ///< the most units that one request may cost (else 400), 1 to 1 000 000
  QueueConfig queue;
  TimeoutConfig timeouts;
  Https https = Https::tunnel;
  TlsConfig tls;
  std::optional<GroupRule> group;
  /// All must allow a departure. What limits_of() makes of a file's `rate: 15/s` comes first.
  std::vector<LimitConfig> limits;
  std::vector<RouteConfig> routes;  ///< in the order in which they are tried
  Obey obey = Obey::automatic;
  std::vector<std::uint16_t> pause_on{kRefusals.begin(), kRefusals.end()};  ///< from 400 to 599; see kRefusals of 403
  PauseScope pause_scope = PauseScope::upstream;
  Duration max_pause = 5min;  ///< the longest pause that an answer can cause
  Learn learn = Learn::off;
  RetryConfig retry;
  BreakerConfig breaker;
  /// Path patterns whose `{}` is secret: `/bot{}/`, `/services/{}`. That part is shown as `…` in events, log and page.
  std::vector<std::string> redact;
  std::string redis;  ///< RedisConfig::name of that through which limits and pauses are shared; empty: the first
  std::optional<CostConfig> cost;
  bool operator==(const UpstreamSettings&) const = default;
};

/// The most that one request may be said to cost: CostConfig::max. If that is not set, as many units as each limit of
/// that unit lets leave together, a pacer in a minute, and at most 1e9. 0: there is no cost.
int most_cost(const UpstreamSettings& settings);

/// Whether a limit counts what requests cost. Otherwise nothing is read from bodies for that.
inline bool counts_cost(const UpstreamSettings& settings) {
  const auto counts = [&](const LimitConfig& limit) { return limit.unit == settings.cost->unit; };
  return settings.cost && std::ranges::any_of(settings.limits, counts);
}

/// The settings from which the pattern "*" starts. Behind one of its hosts may be many accounts, and any number of
/// servers: a refusal pauses those credentials alone, and there is no breaker.
inline UpstreamSettings unmatched_from(UpstreamSettings defaults) {
  defaults.pause_scope = PauseScope::credentials;
  defaults.breaker = BreakerConfig::off();
  return defaults;
}

/// How many tunnels may be open: max_tunnels, or if that is 0, 16 × max_concurrent and at least 64.
inline int tunnels_of(const UpstreamSettings& settings) {
  return settings.max_tunnels > 0 ? settings.max_tunnels : std::max(64, 16 * settings.max_concurrent);
}

/// One pattern of `match`: `host`, `host:port`, `*.suffix`, `host/path-prefix`.
struct Match {
  std::string host;                   ///< lower case, without brackets; for a suffix the part after `*.`
  bool suffix = false;                ///< `*.a.com`: everything below a.com, not a.com itself
  std::optional<std::uint16_t> port;  ///< nullopt: any
  std::string path;                   ///< `/v1`, whole segments; empty: any
  bool operator==(const Match&) const = default;
};

/// The pattern, or what is wrong with the text.
std::expected<Match, std::string> parse_match(std::string_view text);
std::string to_string(const Match&);

/// The target of gateway requests `http://PROXY/@NAME/…`, as `https://api.openai.com/v1`: what follows the name is
/// appended to `path`.
struct BaseUrl {
  bool secure = true;  ///< https
  std::string host;    ///< as in http::Target
  std::uint16_t port = 443;
  std::string path;  ///< begins with a slash and does not end with one; or empty
  bool operator==(const BaseUrl&) const = default;
};

/// The URL, or what is wrong with the text.
std::expected<BaseUrl, std::string> parse_base_url(std::string_view text);
inline std::string to_string(const BaseUrl& url) {
  const bool v6 = url.host.find(':') != std::string::npos, usual = url.port == (url.secure ? 443 : 80);
  return (url.secure ? "https://" : "http://") + (v6 ? "[" + url.host + "]" : url.host) +
         (usual ? "" : ":" + std::to_string(url.port)) + url.path;
}

struct UpstreamConfig {
  std::string name;          ///< a label in metrics: [A-Za-z0-9_.-]+
  std::vector<Match> match;  ///< if a file does not set it: the host of `base_url`
  UpstreamSettings settings;
  std::optional<BaseUrl> base_url;  ///< nullopt: no gateway
  /// It leads to no host: its limits are for any work, by `GET http://PROXY/@NAME` or Proxy::acquire(). Then it has
  /// neither `match` nor `base_url`, groups are by header, and what is about hosts and their answers has no meaning.
  bool permits = false;
  std::string preset, plan;  ///< those that a file's settings came from; told to people, and nothing else
  /// The name of the QuotaConfig on which it draws; empty: none. That decides for the upstream what
  /// effective_settings() in quotas.h takes from it, and `settings.limits` may have limits of routes alone.
  std::string quota;
  bool operator==(const UpstreamConfig&) const = default;
};

/// The queue and the limits of several upstreams, as of one account whose hosts differ. It has no routes, and what
/// `settings` say of hosts and connections is ignored.
struct QuotaConfig {
  std::string name;  ///< [A-Za-z0-9_.-]+; that of an upstream only if that draws on it
  UpstreamSettings settings;
  bool operator==(const QuotaConfig&) const = default;
};

/// Caps on what clients may send and on what is kept for them; in parentheses the status of a request beyond a cap.
struct CapsConfig {
  std::size_t header_bytes = 64 * 1024;            ///< request line and header section (431)
  std::size_t header_count = 200;                  ///< header lines (431)
  std::size_t target_bytes = 16 * 1024;            ///< the request target (414)
  std::size_t trailer_bytes = 16 * 1024;           ///< trailer section (431)
  std::size_t chunk_line_bytes = 4 * 1024;         ///< a chunk's size line with its extensions (400)
  std::size_t pipelined = 32;                      ///< requests read ahead on one connection; more remain unread
  std::size_t pending_body_bytes = 64 * 1024;      ///< kept of one pending request's body; more remains unread
  std::size_t pending_memory = 256 * 1024 * 1024;  ///< heads and bodies of all pending requests; beyond it: 503
  std::size_t connections = 16'000;                ///< clients connected, including tunnels; beyond it: 503
  std::size_t connections_per_client = 4'000;      ///< from one IPv4 address or IPv6 /64; beyond it: 503
  /// Kept of the body of a request in flight, to send it again; counted in pending_memory. A request with a longer body
  /// is not sent again.
  std::size_t replay_body = 64 * 1024;
  bool operator==(const CapsConfig&) const = default;
};

/// Who may use the proxy and where requests may go. Entries are networks in CIDR form, single addresses, `loopback`, or
/// `private`; in `allow` and `deny` also an address with a port, and hosts: `example.com`, `*.example.com`,
/// `example.com:8080`.
struct AccessConfig {
  std::vector<std::string> clients{"loopback"};
  std::string users;  ///< an htpasswd file (bcrypt, SHA-512): clients must be one of its users; empty: any client
  /// Networks whose `Penstock-Max-Wait` and `Penstock-Weight` count; from others these fields are dropped. nullopt: all
  /// of `clients`.
  std::optional<std::vector<std::string>> hints;
  /// Special addresses (loopback, private, link-local, …) that Penstock may connect to. nullopt: loopback if every
  /// listener is on loopback; otherwise none.
  std::optional<std::vector<std::string>> allow;
  std::vector<std::string> deny;                      ///< overrides `allow`
  std::vector<std::uint16_t> connect_ports{80, 443};  ///< ports to which a CONNECT may go
  bool connect_anywhere = false;                      ///< it may go to all others, too; a file cannot say this
  /// Ports where a CONNECT is expected to carry plain HTTP: it gets 200 at once, and each request in it is limited.
  std::vector<std::uint16_t> plain_ports{80};
  bool operator==(const AccessConfig&) const = default;
};

/// Whether a CONNECT may go to that port.
bool may_connect(const AccessConfig& access, std::uint16_t port);

/// What happens to the shared limits while Redis does not answer.
enum class WhenDown {
  share,   ///< each limit goes on in this process, divided by the number of processes last seen alive
  wait,    ///< requests wait, at most `maxWait`
  open,    ///< requests are not limited
  refuse,  ///< requests are refused with 503
};

/// TLS to Redis. Its certificate is always verified, and must be for `server_name`.
struct RedisTlsConfig {
  std::string ca;                       ///< a PEM file; empty: the system's authorities
  std::string client_cert, client_key;  ///< PEM files, both or neither
  std::string server_name;              ///< a name or an address; empty: RedisConfig::host
  bool operator==(const RedisTlsConfig&) const = default;
};

/// Sentinels, which know where the master is.
struct SentinelConfig {
  /// Names or addresses. They are asked one after the other.
  struct Host {
    std::string host;
    std::uint16_t port = 26379;
    bool operator==(const Host&) const = default;
  };
  std::vector<Host> hosts;            ///< at least one, at most 16
  std::string master;                 ///< the name that they know it by
  std::string user, password;         ///< theirs; empty: they want none
  std::optional<RedisTlsConfig> tls;  ///< nullopt: as RedisConfig::tls
  bool operator==(const SentinelConfig&) const = default;
};

struct RedisConfig {
  std::string name = "default";    ///< [A-Za-z0-9_.-]+, at most 64; a label in metrics
  std::string host = "127.0.0.1";  ///< a name or an address
  std::uint16_t port = 6379;
  std::string path;  ///< a Unix socket's path, used instead of host and port if not empty
  std::string user, password;
  int database = 0;
  std::optional<RedisTlsConfig> tls;       ///< nullopt: plain; a Unix socket is never TLS
  std::optional<SentinelConfig> sentinel;  ///< which say where Redis is, instead of host, port and path; nullopt: none
  std::vector<Endpoint> cluster;    ///< nodes of a Redis Cluster, by name or address; any of them names the others
  std::string prefix = "penstock";  ///< begins every key
  Duration timeout = 50ms;          ///< no request waits longer for Redis
  WhenDown when_down = WhenDown::share;
  int processes = 0;   ///< while Redis is down, each process takes 1/processes of a limit; 0: as many as were seen
  std::string secret;  ///< key under which group names are hashed, the same in all processes; empty: none
  bool operator==(const RedisConfig&) const = default;
};

/// Reads `redis://[user:pass@]host[:port][/db]`, `redis+sentinel://[user:pass@]host[:port],…/master[/db]`,
/// `redis+cluster://[user:pass@]host[:port],…`, the same with `rediss` for TLS, or `unix://[user:pass@]/path[?db=N]`,
/// with %XX in user, password and path; sets the fields up to `database`, `tls`, `sentinel` and `cluster`, of which
/// host and port are the first. The error quotes nothing of the text, which may hold a password.
std::expected<RedisConfig, std::string> parse_redis_url(std::string_view text);
/// For display: `redis://127.0.0.1:6379/0`, without user and password.
inline std::string to_string(const RedisConfig& redis) {
  const std::string database = std::to_string(redis.database), scheme = redis.tls ? "rediss" : "redis";
  const auto listed = [](const auto& all) {
    std::string hosts;
    for (const auto& [host, port] : all) hosts += (hosts.empty() ? "" : ",") + to_string(Endpoint{host, port});
    return hosts;
  };
  if (redis.sentinel)
    return scheme + "+sentinel://" + listed(redis.sentinel->hosts) + "/" + redis.sentinel->master + "/" + database;
  if (!redis.cluster.empty()) return scheme + "+cluster://" + listed(redis.cluster);
  if (!redis.path.empty()) return "unix://" + redis.path + "?db=" + database;
  return scheme + "://" + to_string(Endpoint{redis.host, redis.port}) + "/" + database;
}

struct Config {
  ProxyConfig proxy;
  AdminConfig admin;
  LogConfig log;
  DnsConfig dns;
  ConnectionConfig connection;
  UpstreamSettings defaults;  ///< the settings from which each upstream of a file starts
  CapsConfig caps;
  bool pass_unmatched = true;  ///< `unmatched: pass | deny`
  AccessConfig access;
  InterceptConfig intercept;
  std::vector<RedisConfig> redis;                   ///< with different names; empty: each process keeps its limits
  UpstreamSettings unmatched = unmatched_from({});  ///< the pattern "*": of each host:port that no entry matches
  std::vector<QuotaConfig> quotas;
  std::vector<UpstreamConfig> upstreams;
  bool operator==(const Config&) const = default;
};

/// The Redis through which these limits and pauses are shared; null: none.
inline const RedisConfig* redis_of(const Config& config, const UpstreamSettings& settings) {
  if (settings.redis.empty()) return config.redis.empty() ? nullptr : &config.redis.front();
  const auto named = std::ranges::find(config.redis, settings.redis, &RedisConfig::name);
  return named == config.redis.end() ? nullptr : &*named;
}

/// One error and its place. `line` and `column` count from 1; 0: the error has no place in a file.
struct ConfigError {
  std::string file;
  int line = 0;
  int column = 0;
  std::string message;
};

/// `file:line:column: message`
std::string to_string(const ConfigError&);

/// Returns the value of the environment variable for `${NAME}`, or nullopt.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The environment of this process.
std::optional<std::string> process_environment(const std::string& name);

/// Reads YAML strictly. All errors are reported in the order of the text; a syntax error is reported alone.
std::expected<Config, std::vector<ConfigError>> read_config(std::string_view yaml, const std::string& file,
                                                            const Environment& environment = process_environment);
/// The same from a file.
std::expected<Config, std::vector<ConfigError>> load_config(const std::string& path,
                                                            const Environment& environment = process_environment);

/// What is wrong with a `Config` that was filled by hand. Empty: it is valid.
std::vector<ConfigError> validate(const Config&);

}  // namespace penstock
