// SPDX-License-Identifier: Apache-2.0
// See exec_config.h.
#include "app/exec_config.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "config/suggestion.h"
#include "config/units.h"
#include "config/validate.h"
#include "loop/loop.h"
#include "tls/authority.h"

namespace penstock::app {

namespace {

using Wrong = std::unexpected<std::string>;

/// Ten times that of a daemon. A command that finds Redis late once goes on alone, and has a whole limit for itself. It
/// can wait longer: it is one program, where a daemon has the requests of many.
constexpr std::chrono::milliseconds kRedisTimeout{500};

constexpr std::array<std::string_view, 5> kKinds{"slidingWindow", "window", "counter", "pacer", "tokenBucket"};

/// An option as it was given.
struct Given {
  std::string_view option, text;

  std::unexpected<std::string> wrong(const std::string& what) const {
    return Wrong(std::string(option) + " " + std::string(text) + ": " + what);
  }
  /// The text before and behind the last `=`.
  std::optional<std::pair<std::string_view, std::string_view>> halves() const {
    const auto equals = text.rfind('=');
    if (equals == std::string_view::npos || equals == 0) return std::nullopt;
    return std::pair{text.substr(0, equals), text.substr(equals + 1)};
  }
};

/// A kind of which `units` may leave in each `unit`; null: there is no such kind.
std::optional<LimitConfig::Kind> kind_of(std::string_view name, int units, const Rate& rate) {
  const auto per = std::chrono::duration<double>(rate.unit).count();
  if (name == "slidingWindow") return SlidingWindowConfig{.max = units, .interval = rate.unit};
  if (name == "window") return WindowConfig{.reservoir = units, .interval = rate.unit};
  if (name == "counter") return CounterConfig{.max = units, .period = rate.unit};
  if (name == "pacer") return PacerConfig{.qps = rate.count / per};
  if (name == "tokenBucket")
    return TokenBucketConfig{.capacity = units, .refill_amount = 1, .refill_frequency = rate.unit / std::max(1, units)};
  return std::nullopt;
}

std::string unknown_kind(std::string_view name) {
  const auto meant = config::nearest(name, kKinds);
  if (meant) return "'" + std::string(name) + "' is no kind of limit; did you mean '" + std::string(*meant) + "'?";
  std::string all;
  for (const auto kind : kKinds) all.append(all.empty() ? "" : ", ").append(kind);
  return "'" + std::string(name) + "' is no kind of limit; there are " + all;
}

/// The name, or with a number, if the upstream has one of that name.
std::string free_name(const std::vector<LimitConfig>& limits, const std::string& name) {
  auto free = name;
  for (int number = 2; std::ranges::find(limits, free, &LimitConfig::name) != limits.end(); ++number)
    free = name + std::to_string(number);
  return free;
}

/// The limits that an option adds to those that its upstream has.
std::expected<std::vector<LimitConfig>, std::string> read_limit(const Given& given, std::string_view text,
                                                                const std::vector<LimitConfig>& others) {
  const auto colon = text.find(':');
  const bool has_kind = colon != std::string_view::npos;
  const auto amount = has_kind ? text.substr(colon + 1) : text;
  const auto rate = config::parse_rate(amount);
  if (!rate) return given.wrong("'" + std::string(amount) + "' is not a rate, as in 15/s, 500/m, 5000/h or 300/15m");
  if (!has_kind) return limits_of(*rate, free_name(others, "rate"));
  const auto units = config::parse_count(amount.substr(0, amount.find('/')));
  const auto name = text.substr(0, colon);
  if (name != "pacer" && (!units || *units > 1'000'000'000))
    return given.wrong("a " + std::string(name) + " counts whole requests");
  const auto kind = kind_of(name, static_cast<int>(units.value_or(0)), *rate);
  if (!kind) return given.wrong(unknown_kind(name));
  return std::vector<LimitConfig>{{.kind = *kind, .name = free_name(others, std::string(limit_key(*kind)))}};
}

/// Characters that a name may not have are `_` in it.
std::string name_of(const std::string& pattern) {
  auto name = pattern;
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '_' && c != '.' && c != '-'; }, '_');
  return name;
}

/// A command waits as long as it wants to: its own time-outs hold, and no request is refused because others are slow.
UpstreamSettings patient() {
  UpstreamSettings settings;
  settings.https = Https::intercept;
  settings.queue.max_wait = 1h;
  settings.timeouts.first_byte = settings.timeouts.idle = 0s;
  return settings;
}

bool is_for(const UpstreamConfig& upstream, const Match& match) {
  return std::ranges::find(upstream.match, match) != upstream.match.end();
}

/// The upstream of a pattern, which is made if this is the first option with it.
std::expected<UpstreamConfig*, std::string> upstream_of(Config& config, const Given& given, std::string_view pattern) {
  const auto match = parse_match(pattern);
  if (!match) return given.wrong(match.error());
  const auto found = std::ranges::find_if(config.upstreams, [&](const auto& one) { return is_for(one, *match); });
  if (found != config.upstreams.end()) return &*found;
  const auto name = name_of(to_string(*match));
  if (std::ranges::find(config.upstreams, name, &UpstreamConfig::name) != config.upstreams.end())
    return given.wrong("another pattern is called " + name + " already; it needs a file, where upstreams have names");
  return &config.upstreams.emplace_back(UpstreamConfig{.name = name, .match = {*match}, .settings = patient()});
}

std::expected<void, std::string> add_limit(Config& config, const Given& given) {
  const auto halves = given.halves();
  if (!halves) return given.wrong("write PATTERN=RATE, as in api.example.com=25/s");
  const auto upstream = upstream_of(config, given, halves->first);
  if (!upstream) return Wrong(upstream.error());
  auto& limits = (*upstream)->settings.limits;
  const auto more = read_limit(given, halves->second, limits);
  if (!more) return Wrong(more.error());
  const auto of_routes = std::ranges::find_if(limits, [](const auto& one) { return !one.route.empty(); });
  limits.insert(of_routes, more->begin(), more->end());
  return {};
}

std::expected<void, std::string> add_most(Config& config, const Given& given) {
  const auto halves = given.halves();
  if (!halves) return given.wrong("write PATTERN=N, as in api.example.com=4");
  const auto upstream = upstream_of(config, given, halves->first);
  if (!upstream) return Wrong(upstream.error());
  const auto most = config::parse_count(halves->second);
  if (!most || *most < 1 || *most > 100'000)
    return given.wrong("'" + std::string(halves->second) + "' is not a number of requests in flight, at least 1");
  (*upstream)->settings.max_concurrent = static_cast<int>(*most);
  return {};
}

/// As a file of these presets has them, but opened for the command, which may be patient.
std::expected<void, std::string> add_presets(Config& config, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  auto read = read_config("version: 1\npresets: [" + list + "]\n", "--preset");
  if (!read) return Wrong("--preset: " + read.error()[0].message);
  config.upstreams = std::move(read->upstreams);
  for (auto& upstream : config.upstreams) {
    const auto settings = patient();
    upstream.settings.https = settings.https;
    upstream.settings.queue.max_wait = settings.queue.max_wait;
    upstream.settings.timeouts = settings.timeouts;
  }
  return {};
}

std::vector<std::string> hosts_of(const Config& config) {
  std::vector<std::string> hosts;
  for (const auto& upstream : config.upstreams) {
    for (const auto& match : upstream.match) hosts.push_back(match.host);
  }
  return hosts;
}

}  // namespace

std::expected<Config, std::string> config_of(const HostLimits& given) {
  Config config;
  if (auto added = add_presets(config, given.presets); !added) return Wrong(std::move(added.error()));
  for (const auto& text : given.limits) {
    if (auto added = add_limit(config, {"--limit", text}); !added) return Wrong(std::move(added.error()));
  }
  for (const auto& text : given.most) {
    if (auto added = add_most(config, {"--max", text}); !added) return Wrong(std::move(added.error()));
  }
  if (!given.redis.empty()) {
    auto redis = parse_redis_url(given.redis);
    if (!redis) return Wrong("--redis: " + redis.error());
    redis->timeout = kRedisTimeout;
    config.redis.push_back(*std::move(redis));
  }
  if (const auto issues = config::find_issues(config); !issues.empty()) return Wrong(issues[0].message);
  return config;
}

void make_own_authority(Config& config) {
  constexpr std::int64_t kHour = 3600, kDay = 24 * kHour;
  auto [certificate, key] =
      tls::make_authority("Penstock exec", loop::system_wall() / 1'000'000,
                          {.before = kHour, .lasts = 30 * kDay - kHour, .hosts = hosts_of(config)});
  config.intercept.ca_text = std::move(certificate);
  config.intercept.key_text = std::move(key);
}

}  // namespace penstock::app
