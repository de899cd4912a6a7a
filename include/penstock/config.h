// SPDX-License-Identifier: Apache-2.0
// Everything that can be set, with its default: the one place where a default is written.
// Fill a `Config` by hand, or read one from YAML with `read_config` or `load_config`. Plain values, no threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/duration.h"
#include "penstock/limits.h"

namespace penstock {

/// Where to listen: a literal IPv4 or IPv6 address (no brackets) and a port; port 0 takes any free one.
struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
  bool operator==(const Endpoint&) const = default;
};

/// `127.0.0.1:3128`, `[::1]:3128`. Nothing for a name, or without a port.
std::optional<Endpoint> parse_endpoint(std::string_view text);
inline std::string to_string(const Endpoint& endpoint) {
  const bool v6 = endpoint.address.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.address + "]" : endpoint.address) + ":" + std::to_string(endpoint.port);
}

struct ProxyConfig {
  Endpoint listen{"127.0.0.1", 3128};
  std::string via = "penstock";  ///< our name in `Via` and `Proxy-Status`; a request that already names it is a loop
  Duration grace = 30s;          ///< how long a drain may take
  /// By which clients know it for gateways, besides addresses and names that public DNS does not have: `a.example`,
  /// `*.a.example`.
  std::vector<std::string> names;
  bool operator==(const ProxyConfig&) const = default;
};

struct AdminConfig {
  Endpoint listen{"127.0.0.1", 9128};  ///< /metrics /healthz /readyz /status
  bool operator==(const AdminConfig&) const = default;
};

enum class LogLevel { debug, info, warn, error, off };

struct LogConfig {
  LogLevel level = LogLevel::info;  ///< diagnostics, on stderr
  std::string events = "stdout";    ///< stdout | stderr | off | a file's path; JSON lines
  bool operator==(const LogConfig&) const = default;
};

struct DnsConfig {
  std::vector<std::string>
      servers;            ///< `address` or `address:port`; empty: /etc/resolv.conf. /etc/hosts is read either way
  Duration timeout = 5s;  ///< for one name, all tries together
  bool operator==(const DnsConfig&) const = default;
};

struct QueueConfig {
  std::size_t max_pending = 1000;  ///< all lanes of the upstream together; 0: nobody waits
  Duration max_wait = 30s;         ///< a request that has not taken off by then is refused
  bool operator==(const QueueConfig&) const = default;
};

/// What becomes of a client inside an intercepted CONNECT that speaks HTTP/2 and not HTTP/1.1, as gRPC does.
enum class H2Only : std::uint8_t {
  tunnel,  ///< a tunnel, governed as one
  refuse,  ///< the end, with the alert no_application_protocol
};

/// Our own authority, with whose certificates Penstock stands in for upstreams of `https: intercept`. PEM files.
struct InterceptConfig {
  std::string ca, key;  ///< both or neither: ca.pem and ca-key.pem in $XDG_CONFIG_HOME/penstock, or ~/.config/penstock
  /// A client that rejects our certificate for a host twice in a row gets tunnels to it for an hour.
  bool bypass_on_pin = false;
  H2Only h2_only = H2Only::tunnel;
  bool operator==(const InterceptConfig&) const = default;
};

/// Limits on a client's connection while no upstream is known; zero means none. In `defaults.timeouts` of a file.
struct ConnectionConfig {
  Duration header = 10s;      ///< from the first byte of a request's head to its last
  Duration keep_alive = 60s;  ///< without a request: after the last answer, or from the beginning
  bool operator==(const ConnectionConfig&) const = default;
};

/// Limits on a request; zero means none.
struct TimeoutConfig {
  Duration connect = 3s;      ///< all addresses of the upstream together
  Duration first_byte = 60s;  ///< from the request's last byte to the final response head
  Duration idle = 60s;        ///< while a body should move: without a byte of it in either direction
  Duration total = 0s;        ///< from take-off to landing
  Duration body = 30s;        ///< while the client's body is awaited: without a byte of it, pending or in flight
  Duration tunnel_idle =
      10min;  ///< of a tunnel: without a byte in either direction; idle and first_byte are not for it
  /// A tunnel rests when the last byte came from the upstream, so long ago: others get its slot until the client speaks
  /// again. Zero: it holds its slot until it ends.
  Duration tunnel_rest = 500ms;
  bool operator==(const TimeoutConfig&) const = default;
};

/// What puts a request into a group: each has a lane of its own, and limits of its own where they are `per: group`.
struct GroupRule {
  enum class By { path, header, host };
  By by = By::host;
  /// Of a path: its pattern, `/api/v*/guilds/{guild}`. `*` and `{name}` stand for one character or more within their
  /// segment, which has one of them at most; what is braced makes the group (several join with `/`), and whatever
  /// segments follow do not matter. Of a header: its name. Requests that do not fit: group `-`.
  std::string pattern;
  bool operator==(const GroupRule&) const = default;
};

/// `path:/api/v*/guilds/{guild}`, `header:NAME`, `host`: the rule, or what is wrong with it.
std::expected<GroupRule, std::string> parse_group(std::string_view text);
inline std::string to_string(const GroupRule& rule) {
  if (rule.by == GroupRule::By::host) return "host";
  return (rule.by == GroupRule::By::path ? "path:" : "header:") + rule.pattern;
}

/// What an upstream's own answers may ask for.
enum class Obey {
  off,
  retry_after,  ///< a 429 or 503 with Retry-After pauses the upstream, or the group where there are groups
};

/// How https to an upstream travels, and so what is governed.
enum class Https {
  tunnel,     ///< a CONNECT passes as it is: one departure and one slot for each tunnel
  originate,  ///< `http://` requests leave as https, each governed by itself; a CONNECT is a tunnel here too
  intercept,  ///< a CONNECT is answered with a certificate of our own authority, and each request in it is governed
};

/// Whom an upstream's TLS trusts, and as whom it speaks: PEM files.
struct TlsConfig {
  std::string ca;                       ///< empty: the system's
  std::string client_cert, client_key;  ///< both or neither
  bool operator==(const TlsConfig&) const = default;
};

/// What one upstream is held to. What stands below `https` cannot be set in `defaults` of a file.
struct UpstreamSettings {
  int max_concurrent = 64;  ///< in flight from this process, at least 1
  int max_tunnels = 0;      ///< open from this process, whether they rest or not; 0: see tunnels_of()
  int max_weight = 1000;    ///< the most that one request may cost (400), 1 to 1 000 000
  QueueConfig queue;
  TimeoutConfig timeouts;
  Https https = Https::tunnel;
  TlsConfig tls;
  std::optional<GroupRule> group;
  std::vector<LimitConfig> limits;  ///< all must agree; `rate: 15/s` of a file has become a pacer, the first of them
  Obey obey = Obey::retry_after;
  Duration max_pause = 5min;  ///< no pause that an answer asks for is longer
  bool operator==(const UpstreamSettings&) const = default;
};

/// How many tunnels may be open: as many as it says, or else 16 × max_concurrent and at least 64.
inline int tunnels_of(const UpstreamSettings& settings) {
  return settings.max_tunnels > 0 ? settings.max_tunnels : std::max(64, 16 * settings.max_concurrent);
}

/// One pattern of `match`: `host`, `host:port`, `*.suffix`, `host/path-prefix`.
struct Match {
  std::string host;                   ///< lower case, without brackets; for a suffix the part after `*.`
  bool suffix = false;                ///< `*.a.com`: everything below a.com, not a.com itself
  std::optional<std::uint16_t> port;  ///< nothing: any
  std::string path;                   ///< `/v1`, whole segments; empty: any
  bool operator==(const Match&) const = default;
};

/// The pattern, or what is wrong with it.
std::expected<Match, std::string> parse_match(std::string_view text);
std::string to_string(const Match&);

/// `https://api.openai.com/v1`: where `http://PROXY/@NAME/…` goes, with everything behind the name put behind `path`.
struct BaseUrl {
  bool secure = true;  ///< https
  std::string host;    ///< as in http::Target
  std::uint16_t port = 443;
  std::string path;  ///< begins with a slash and ends without one; or empty
  bool operator==(const BaseUrl&) const = default;
};

/// The URL, or what is wrong with it.
std::expected<BaseUrl, std::string> parse_base_url(std::string_view text);
inline std::string to_string(const BaseUrl& url) {
  const bool v6 = url.host.find(':') != std::string::npos, usual = url.port == (url.secure ? 443 : 80);
  return (url.secure ? "https://" : "http://") + (v6 ? "[" + url.host + "]" : url.host) +
         (usual ? "" : ":" + std::to_string(url.port)) + url.path;
}

struct UpstreamConfig {
  std::string name;          ///< a label in metrics: [A-Za-z0-9_.-]+
  std::vector<Match> match;  ///< of a file without it: the host of `base_url`
  UpstreamSettings settings;
  std::optional<BaseUrl> base_url;  ///< nothing: no gateway
  bool operator==(const UpstreamConfig&) const = default;
};

/// Caps on what a client may send, and on what is kept for it.
struct CapsConfig {
  std::size_t header_bytes = 64 * 1024;            ///< request line and header section (431)
  std::size_t header_count = 200;                  ///< header lines (431)
  std::size_t target_bytes = 16 * 1024;            ///< the request target (414)
  std::size_t trailer_bytes = 16 * 1024;           ///< trailer section (431)
  std::size_t chunk_line_bytes = 4 * 1024;         ///< a chunk's size line with its extensions (400)
  std::size_t pipelined = 32;                      ///< requests read ahead on one connection; more stay unread
  std::size_t pending_body_bytes = 64 * 1024;      ///< of one pending request's body; more stays unread
  std::size_t pending_memory = 256 * 1024 * 1024;  ///< heads and bodies of all pending requests; beyond it: 503
  std::size_t connections = 16'000;                ///< clients connected, those of tunnels included; beyond it: 503
  std::size_t connections_per_client = 4'000;      ///< of one address, an IPv6 one by its /64; beyond it: 503
  bool operator==(const CapsConfig&) const = default;
};

/// Networks in CIDR form, single addresses, `loopback`, or `private`; in `allow` and `deny` also an address with a
/// port, and hosts: `example.com`, `*.example.com`, `example.com:8080`.
struct AccessConfig {
  std::vector<std::string> clients{"loopback"};
  std::string users;  ///< an htpasswd file (bcrypt, SHA-512): clients must be one of these; empty: whoever they are
  /// Networks whose `Penstock-Max-Wait` and `Penstock-Weight` count; of all others these fields are dropped. Nothing
  /// said: all of `clients`.
  std::optional<std::vector<std::string>> hints;
  /// Special addresses (loopback, private, link-local, …) that may be dialled. Nothing said: loopback, as long as
  /// every listener is on loopback; otherwise none.
  std::optional<std::vector<std::string>> allow;
  std::vector<std::string> deny;                      ///< wins over `allow`
  std::vector<std::uint16_t> connect_ports{80, 443};  ///< where a CONNECT may go
  /// Where a CONNECT is expected to carry plain HTTP: its 200 comes at once, and each request in it is governed.
  std::vector<std::uint16_t> plain_ports{80};
  bool operator==(const AccessConfig&) const = default;
};

/// What happens while Redis does not answer.
enum class WhenDown {
  share,   ///< each limit goes on in this process, divided by the processes last seen alive
  wait,    ///< requests wait, as long as `maxWait` lets them
  open,    ///< no limit
  refuse,  ///< 503
};

struct RedisConfig {
  std::string host = "127.0.0.1";  ///< a name or an address
  std::uint16_t port = 6379;
  std::string path;  ///< of a Unix socket, instead of host and port
  std::string user, password;
  int database = 0;
  std::string prefix = "penstock";  ///< how every key begins
  Duration timeout = 50ms;          ///< no request waits for Redis longer
  WhenDown when_down = WhenDown::share;
  int processes = 0;   ///< as many as may share the limits: while Redis is away each has that part; 0: as were seen
  std::string secret;  ///< under which names of groups are hashed, the same in all processes; empty: none
  bool operator==(const RedisConfig&) const = default;
};

/// `redis://[user:pass@]host[:port][/db]`, `unix://[user:pass@]/path[?db=N]`, with %XX in user, password and path:
/// fills everything up to `database`. Or what is wrong with it, in words that repeat nothing of it.
std::expected<RedisConfig, std::string> parse_redis_url(std::string_view text);
/// For people: `redis://127.0.0.1:6379/0`, without user and password.
inline std::string to_string(const RedisConfig& redis) {
  const std::string database = std::to_string(redis.database);
  if (!redis.path.empty()) return "unix://" + redis.path + "?db=" + database;
  return "redis://" + to_string(Endpoint{redis.host, redis.port}) + "/" + database;
}

struct Config {
  ProxyConfig proxy;
  AdminConfig admin;
  LogConfig log;
  DnsConfig dns;
  ConnectionConfig connection;
  UpstreamSettings defaults;  ///< what every upstream of a file starts from
  CapsConfig caps;
  bool pass_unmatched = true;  ///< `unmatched: pass | deny`
  AccessConfig access;
  InterceptConfig intercept;
  std::optional<RedisConfig> redis;  ///< nothing: every limit is kept in this process
  UpstreamSettings unmatched;        ///< the pattern "*": each host:port that no entry names is held to these
  std::vector<UpstreamConfig> upstreams;
  bool operator==(const Config&) const = default;
};

/// Where and what; `line` and `column` count from 1, 0 where no place in a file is to blame.
struct ConfigError {
  std::string file;
  int line = 0;
  int column = 0;
  std::string message;
};

/// `file:line:column: message`
std::string to_string(const ConfigError&);

/// Gives the value of an environment variable for `${NAME}`, or nothing.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The environment of this process.
std::optional<std::string> process_environment(const std::string& name);

/// Reads YAML strictly. Every error is reported, in the order of the text; a syntax error stands alone.
std::expected<Config, std::vector<ConfigError>> read_config(std::string_view yaml, const std::string& file,
                                                            const Environment& environment = process_environment);
/// The same from a file.
std::expected<Config, std::vector<ConfigError>> load_config(const std::string& path,
                                                            const Environment& environment = process_environment);

/// What is wrong with a `Config` that was filled by hand. Empty: nothing.
std::vector<ConfigError> validate(const Config&);

}  // namespace penstock
