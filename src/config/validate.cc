// SPDX-License-Identifier: Apache-2.0
// See validate.h.
#include "config/validate.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <set>
#include <variant>

#include "access/address.h"
#include "access/rule.h"
#include "config/checks.h"
#include "config/reading.h"
#include "config/suggestion.h"
#include "config/units.h"
#include "penstock/quotas.h"

namespace penstock::config {

namespace {

void check_timeout(Issues& issues, const std::string& path, Duration value) {
  if (value == 0s || (value >= 1ms && value <= 720h)) return;
  const auto given = value < 0s ? "negative" : write_duration(value);
  add(issues, path, " is " + given + "; it must be 0s, which means none, or between 1ms and 30d");
}

void check_via(Issues& issues, const std::string& via) {
  constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";  // RFC 9110 section 5.6.2
  if (all_of(via, kTokenMarks) && via.size() <= 64) return;
  add(issues, "proxy.via", " must be one word of at most 64 letters, digits and -._, as in penstock");
}

void check_listener(Issues& issues, const std::string& path, const Endpoint& endpoint) {
  if (!access::parse_address(endpoint.address)) add(issues, path, ": '" + endpoint.address + "' is not an address");
}

void check_listeners(Issues& issues, const Config& config) {
  check_listener(issues, "proxy.listen", config.proxy.listen);
  if (!config.admin.listen.address.empty()) check_listener(issues, "admin.listen", config.admin.listen);
  if (config.proxy.listen == config.admin.listen && config.proxy.listen.port != 0) {
    add(issues, "admin.listen", " is the same as proxy.listen");
  }
}

void check_servers(Issues& issues, const std::vector<std::string>& servers) {
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const auto endpoint = parse_endpoint(servers[i]);
    if (access::parse_address(servers[i]) || (endpoint && endpoint->port != 0)) continue;
    add(issues, "dns.servers[" + std::to_string(i) + "]",
        ": '" + servers[i] + "' is neither an address nor address:port, such as 9.9.9.9 or [2620:fe::fe]:53");
  }
}

void check_networks(Issues& issues, const std::string& path, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto networks = access::parse_networks(texts[i]);
    if (!networks) add(issues, path + "[" + std::to_string(i) + "]", ": " + networks.error());
  }
}

/// A misspelled word for networks would pass as a host.
std::string meant(const std::string& text) {
  constexpr std::string_view kWords[] = {"loopback", "private"};
  const auto word = nearest(text, kWords);
  return word ? ": '" + text + "' is no network; did you mean '" + std::string(*word) + "'?" : "";
}

void check_rules(Issues& issues, const std::string& path, const std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto rule = access::parse_rule(texts[i]);
    const bool host = rule && rule->networks.empty() && !rule->suffix && !rule->port;
    const std::string wrong = !rule ? ": " + rule.error() : host ? meant(texts[i]) : "";
    if (!wrong.empty()) add(issues, path + "[" + std::to_string(i) + "]", wrong);
  }
}

void check_names(Issues& issues, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto rule = access::parse_rule(names[i]);
    if (rule && rule->networks.empty() && !rule->port) continue;
    add(issues, "proxy.names[" + std::to_string(i) + "]",
        ": '" + names[i] + "' is not a name such as penstock.example.com or *.example.com");
  }
}

void check_ports(Issues& issues, const std::string& path, const std::vector<std::uint16_t>& ports) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    check_count(issues, path + "[" + std::to_string(i) + "]", ports[i], 1, 65535);
  }
}

void check_caps(Issues& issues, const CapsConfig& caps) {
  constexpr std::size_t kKib = 1024, kMib = 1024 * kKib, kGib = 1024 * kMib;
  // libcurl sends no head of more than 1 MiB and no trailers of more than 64 KiB; a line may grow by a byte on its way.
  constexpr std::size_t kLongestHead = 512 * kKib, kLongestTrailers = 48 * kKib;
  check_size(issues, "caps.headerBytes", caps.header_bytes, 256, kLongestHead);
  check_count(issues, "caps.headerCount", static_cast<std::int64_t>(caps.header_count), 1, 100'000);
  check_size(issues, "caps.targetBytes", caps.target_bytes, 64, kLongestHead);
  check_size(issues, "caps.trailerBytes", caps.trailer_bytes, 64, kLongestTrailers);
  check_size(issues, "caps.chunkLineBytes", caps.chunk_line_bytes, 32, kMib);
  check_count(issues, "caps.pipelined", static_cast<std::int64_t>(caps.pipelined), 1, 1000);
  check_size(issues, "caps.pendingBodyBytes", caps.pending_body_bytes, 256, kGib);
  check_size(issues, "caps.pendingMemory", caps.pending_memory, 4 * kKib, 1024 * kGib);
  check_size(issues, "caps.replayBody", caps.replay_body, 0, kGib);
  check_count(issues, "caps.connections", static_cast<std::int64_t>(caps.connections), 1, 1'000'000);
  check_count(issues, "caps.connectionsPerClient", static_cast<std::int64_t>(caps.connections_per_client), 1,
              1'000'000);
}

void check_authority(Issues& issues, const InterceptConfig& intercept) {
  if (intercept.ca.empty() == intercept.key.empty()) return;
  const bool key_only = intercept.ca.empty();
  add(issues, key_only ? "intercept.key" : "intercept.ca",
      key_only ? " has no ca beside it" : " has no key beside it; `penstock ca init` makes both");
}

/// Interception, which lets Penstock read the traffic, must be asked for in the upstreams of the hosts concerned.
void check_interception(Issues& issues, const Config& config) {
  const char* const kNamed = " cannot be intercept: say it in the upstreams whose hosts are meant";
  if (config.defaults.https == Https::intercept) return add(issues, "defaults.https", kNamed);
  if (config.unmatched.https == Https::intercept) add(issues, "upstreams.*.https", kNamed);
}

void check_codes(Issues& issues, const std::string& path, const std::vector<std::string>& codes) {
  constexpr std::size_t kMostCodes = 16, kLongestCode = 64;
  if (codes.size() > kMostCodes) add(issues, path, " has more than 16 codes");
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (all_of(codes[i], "_.-") && codes[i].size() <= kLongestCode) continue;
    add(issues, path + "[" + std::to_string(i) + "]",
        ": '" + codes[i] + "' is no code; it may have up to 64 letters, digits and _.-, as in insufficient_quota");
  }
}

void check_refusals(Issues& issues, const std::string& path, const UpstreamSettings& settings) {
  for (std::size_t i = 0; i < settings.pause_on.size(); ++i)
    check_count(issues, path + ".pauseOn[" + std::to_string(i) + "]", settings.pause_on[i], 400, 599);
  check_retry(issues, path + ".retry", settings.retry);
  check_count(issues, path + ".breaker.failures", settings.breaker.failures, 0, 1000);
  check_duration(issues, path + ".breaker.maxPause", settings.breaker.max_pause, 100ms, 1h);
}

Issues settings_issues(const std::string& path, const UpstreamSettings& settings) {
  Issues issues;
  const auto& queue = settings.queue;
  check_count(issues, path + ".maxConcurrent", settings.max_concurrent, 1, 100'000);
  check_count(issues, path + ".maxTunnels", settings.max_tunnels, 0, 100'000);
  check_count(issues, path + ".maxWeight", settings.max_weight, 1, 1'000'000);
  check_count(issues, path + ".queue.maxPending", static_cast<std::int64_t>(queue.max_pending), 0, 1'000'000);
  check_duration(issues, path + ".queue.maxWait", queue.max_wait, 0s, 24h);
  check_timeouts(issues, path + ".timeouts", settings.timeouts);
  check_tls(issues, path + ".tls", settings.tls);
  check_limits(issues, path, settings);
  check_cost(issues, path, settings);
  check_routes(issues, path, settings);
  check_refusals(issues, path, settings);
  check_redaction(issues, path + ".redact", settings.redact);
  return issues;
}

void check_settings(Issues& issues, const std::string& path, const UpstreamSettings& settings,
                    const UpstreamSettings& defaults) {
  const Issues of_defaults = settings_issues(path, defaults);
  for (auto& issue : settings_issues(path, settings)) {
    const auto same = [&](const Issue& other) { return other.message == issue.message; };
    issue.inherited = std::any_of(of_defaults.begin(), of_defaults.end(), same);
    issues.push_back(std::move(issue));
  }
}

using Taken = std::map<std::string, std::string>;  // pattern → the upstream that has it

void check_match(Issues& issues, const std::string& path, const UpstreamConfig& upstream, const Match& match,
                 Taken& taken) {
  const std::string text = to_string(match);
  const auto read_again = parse_match(text);
  if (!read_again || *read_again != match) {
    return add(issues, path,
               ": '" + text + "'" + (read_again ? " is not in its plain form" : ": " + read_again.error()));
  }
  const auto [other, first] = taken.try_emplace(text, upstream.name);
  if (first) return;
  const std::string gateway = "; write match: [] where only /@" + upstream.name + " leads here";
  add(issues, path,
      ": '" + text + "' is already a pattern of upstreams." + other->second + (upstream.base_url ? gateway : ""));
}

void check_base_url(Issues& issues, const std::string& path, const BaseUrl& url) {
  const auto read_again = parse_base_url(to_string(url));
  if (!read_again) return add(issues, path, ": " + read_again.error());
  if (*read_again != url) add(issues, path, ": '" + to_string(url) + "' is not in its plain form");
}

// `match` may be left out, or be empty, if there is a baseUrl; beside permits there is none.
void check_match_list(Issues& issues, const std::string& path, const UpstreamConfig& upstream, Taken& taken) {
  if (upstream.match.empty() && !upstream.base_url && !upstream.permits)
    issues.push_back(
        {path + ".match", path + " has no match: say which hosts are its own, as in match: api.example.com"});
  for (std::size_t i = 0; i < upstream.match.size(); ++i) {
    check_match(issues, path + ".match[" + std::to_string(i) + "]", upstream, upstream.match[i], taken);
  }
}

/// An application calls all paths of one host by one scheme. If the paths belong to several upstreams, and one of these
/// does not originate https, its requests would leave unencrypted.
void check_https(Issues& issues, const Config& config) {
  std::map<std::string, const UpstreamConfig*> first;  // by the pattern without its path
  for (const auto& upstream : config.upstreams) {
    for (auto pattern : upstream.match) {
      pattern.path.clear();
      const auto [other, is_first] = first.try_emplace(to_string(pattern), &upstream);
      if (is_first || other->second->settings.https == upstream.settings.https) continue;
      const std::string path = "upstreams." + upstream.name;
      issues.push_back({path + ".https", path + ".https must be that of upstreams." + other->second->name +
                                             ", which has paths of " + to_string(pattern) + " too"});
      break;
    }
  }
}

/// A permit has no host, no path and no answer: what is decided by these cannot be.
void check_permits(Issues& issues, const Config& config, const std::string& path, const UpstreamConfig& upstream) {
  const char* const kBeside = " stands beside permits: true, which leads to no host";
  if (upstream.base_url) {
    add(issues, path + ".baseUrl", kBeside);
  } else if (!upstream.match.empty()) {
    add(issues, path + ".match", kBeside);
  }
  const auto settings = effective_settings(config, upstream);
  if (settings.group && settings.group->by != GroupRule::By::header)
    add(issues, path + ".group",
        " must be header:NAME, as in header:Penstock-Group: a permit has neither path nor host");
  for (std::size_t i = 0; i < settings.limits.size(); ++i) {
    if (!std::holds_alternative<AdaptiveConfig>(settings.limits[i].kind)) continue;
    add(issues, path + ".limits[" + std::to_string(i) + "].adaptive",
        " learns from what an API refuses; permits are not answered by one");
  }
}

void check_upstreams(Issues& issues, const Config& config) {
  Taken taken;
  std::set<std::string> names;
  for (const auto& upstream : config.upstreams) {
    const auto& name = upstream.name;
    const std::string path = "upstreams." + name;
    if (!all_of(name, "_.-"))
      issues.push_back({path, "the name '" + name + "' may have only letters, digits and _.-", false});
    if (!names.insert(name).second) issues.push_back({path, "there are two upstreams named '" + name + "'", false});
    check_match_list(issues, path, upstream, taken);
    if (upstream.base_url) check_base_url(issues, path + ".baseUrl", *upstream.base_url);
    if (upstream.permits) check_permits(issues, config, path, upstream);
    const auto* const quota = quota_of(config, upstream);
    check_settings(issues, path, effective_settings(config, upstream), quota ? quota->settings : config.defaults);
  }
}

}  // namespace

void check_timeouts(Issues& issues, const std::string& path, const TimeoutConfig& timeouts) {
  check_timeout(issues, path + ".connect", timeouts.connect);
  check_timeout(issues, path + ".firstByte", timeouts.first_byte);
  check_timeout(issues, path + ".idle", timeouts.idle);
  check_timeout(issues, path + ".total", timeouts.total);
  check_timeout(issues, path + ".body", timeouts.body);
  check_timeout(issues, path + ".tunnelIdle", timeouts.tunnel_idle);
  check_timeout(issues, path + ".tunnelRest", timeouts.tunnel_rest);
}

void check_retry(Issues& issues, const std::string& path, const RetryConfig& retry) {
  check_count(issues, path + ".attempts", retry.attempts, 1, 100);
  check_count(issues, path + ".budget", retry.budget, 0, 100);
  check_codes(issues, path + ".except", retry.except);
}

std::vector<Issue> find_issues(const Config& config) {
  Issues issues;
  check_listeners(issues, config);
  check_names(issues, config.proxy.names);
  check_via(issues, config.proxy.via);
  check_duration(issues, "proxy.grace", config.proxy.grace, 0s, 24h);
  if (config.log.events.empty()) add(issues, "log.events", " must be stdout, stderr, off or a file's path");
  check_servers(issues, config.dns.servers);
  check_duration(issues, "dns.timeout", config.dns.timeout, 1ms, 5min);
  check_settings(issues, "defaults", config.defaults, UpstreamSettings{});
  check_timeout(issues, "defaults.timeouts.header", config.connection.header);
  check_timeout(issues, "defaults.timeouts.keepAlive", config.connection.keep_alive);
  check_caps(issues, config.caps);
  check_networks(issues, "access.clients", config.access.clients);
  check_networks(issues, "access.steering", config.access.hints.value_or(std::vector<std::string>{}));
  check_rules(issues, "access.allow", config.access.allow.value_or(std::vector<std::string>{}));
  check_rules(issues, "access.deny", config.access.deny);
  check_ports(issues, "access.connectPorts", config.access.connect_ports);
  check_ports(issues, "access.plainPorts", config.access.plain_ports);
  check_redis(issues, config);
  check_settings(issues, "upstreams.*", config.unmatched, config.defaults);
  for (const auto& quota : config.quotas)
    check_settings(issues, "quotas." + quota.name, quota.settings, config.defaults);
  check_quotas(issues, config);
  check_upstreams(issues, config);
  check_https(issues, config);
  check_authority(issues, config.intercept);
  check_interception(issues, config);
  return issues;
}

std::string in_one_line(std::string_view message) {
  std::string line;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7f) {
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\x%02x", static_cast<unsigned>(byte));
      line += escape;
    }
  }
  return line;
}

}  // namespace penstock::config

namespace penstock {

std::vector<ConfigError> validate(const Config& config) {
  std::vector<ConfigError> errors;
  for (auto& issue : config::find_issues(config)) {
    if (!issue.inherited) errors.push_back({"", 0, 0, config::in_one_line(issue.message)});
  }
  return errors;
}

}  // namespace penstock
