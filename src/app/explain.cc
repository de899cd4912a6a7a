// SPDX-License-Identifier: Apache-2.0
// `penstock explain`: says in words what routing, limits and access rules would do with a URL, by asking the very
// functions that do it.
#include <algorithm>
#include <iostream>

#include "access/verdict.h"
#include "app/commands.h"
#include "app/settings.h"
#include "config/units.h"
#include "http/target.h"
#include "proxy/grouping.h"
#include "proxy/router.h"

namespace penstock::app {

namespace {

using config::write_duration;
using config::write_rate;

void line(std::string_view label, const std::string& text) {
  std::cout << "  " << label << std::string(12 - label.size(), ' ') << text << '\n';
}

const UpstreamSettings& settings_of(const Config& config, std::size_t entry) {
  return entry == 0 ? config.unmatched : config.upstreams[entry - 1].settings;
}

std::string pattern_of(const Config& config, const proxy::Route& route) {
  return to_string(*route.pattern) + " of upstreams." + config.upstreams[route.entry - 1].name;
}

void print_route(const Config& config, const proxy::Router& router, const http::Target& target) {
  const auto route = router.route(target);
  if (!route.pattern) {
    line("upstream", route.denied ? "none" : target.authority());
    line("why", route.denied ? "no pattern fits, and unmatched is deny: refused with 403"
                             : "no pattern fits: an upstream of its own after the entry \"*\"");
    return;
  }
  line("upstream", config.upstreams[route.entry - 1].name);
  line("why", "pattern " + to_string(*route.pattern) + ": " + proxy::why(*route.pattern));
  const auto candidates = router.candidates(target);
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    line("", "wins over " + pattern_of(config, candidates[i]) + ": " + proxy::why(*candidates[i].pattern));
  }
}

std::string in_words(Duration duration) { return duration == Duration{0} ? "none" : write_duration(duration); }

struct InWords {
  std::string operator()(const PacerConfig& pacer) const {
    const auto burst = pacer.max_burst == 0 ? "" : ", after a burst of " + std::to_string(pacer.max_burst);
    return write_rate(pacer.qps) + " evenly spread" + burst;
  }
  std::string operator()(const WindowConfig& window) const {
    const auto spread = window.spread ? ", spread over it" : "";
    return std::to_string(window.reservoir) + " in each window of " + write_duration(window.interval) + spread;
  }
  std::string operator()(const SlidingWindowConfig& window) const {
    return std::to_string(window.max) + " in any " + write_duration(window.interval);
  }
  std::string operator()(const TokenBucketConfig& bucket) const {
    return std::to_string(bucket.capacity) + " at once, then " + std::to_string(bucket.refill_amount) + " every " +
           write_duration(bucket.refill_frequency);
  }
  std::string operator()(const SemaphoreConfig& semaphore) const {
    return std::to_string(semaphore.capacity) + " in flight, lease " + write_duration(semaphore.lease);
  }
  std::string operator()(const CounterConfig& counter) const {
    return std::to_string(counter.max) + " between resets, " + write_duration(counter.period) + " apart";
  }
};

std::string in_words(const LimitConfig& limit, bool redis) {
  std::string text{limit_name(limit)};
  if (text != limit_key(limit.kind)) text.append(" (").append(limit_key(limit.kind)).append(")");
  text += ": " + std::visit(InWords{}, limit.kind);
  if (limit.per == LimitConfig::Per::group) text += ", per group";
  text += redis && limit.shared ? ", shared" : ", this process";
  if (limit.mode == LimitConfig::Mode::refuse) text += ", refuses with 429";
  return text;
}

/// What the proxy is asked for: of an https URL its host and port, by CONNECT.
std::expected<http::Target, http::Refusal> asked_for(const std::string& url) {
  constexpr std::string_view kHttps = "https://";
  if (!url.starts_with(kHttps)) return http::parse_target("GET", url);
  const std::string rest = url.substr(kHttps.size());
  const auto as_http = http::parse_target("GET", "http://" + rest);
  if (!as_http) return as_http;
  const auto authority = http::parse_authority(rest.substr(0, rest.find_first_of("/?")));
  const auto port = authority->port != 0 ? authority->port : std::uint16_t{443};
  return http::Target{.host = as_http->host, .port = port, .literal = as_http->literal, .tunnel = true};
}

void print_group(const UpstreamSettings& settings, const http::Target& target) {
  if (!settings.group) return;
  const auto& rule = *settings.group;
  const auto by = " (" + to_string(rule) + ")";
  if (rule.by == GroupRule::By::header && !target.tunnel) return line("group", "the value of " + rule.pattern + by);
  std::string room;
  const std::string name{proxy::Grouping{rule, "", ""}.name(target, {}, room)};
  const auto* why = target.tunnel ? ": a tunnel shows neither path nor fields" : ": does not fit";
  line("group", name + by + (name == proxy::kNoGroup ? why : ""));
}

void print_timeouts(const TimeoutConfig& timeouts, bool tunnel) {
  const auto while_moving = tunnel ? "tunnelIdle " + in_words(timeouts.tunnel_idle)
                                   : "firstByte " + in_words(timeouts.first_byte) + ", idle " + in_words(timeouts.idle);
  line("timeouts",
       "connect " + in_words(timeouts.connect) + ", " + while_moving + ", total " + in_words(timeouts.total));
}

std::string pauses_of(const UpstreamSettings& settings, bool tunnel) {
  if (tunnel) return "none: what is answered in a tunnel is not seen";
  if (settings.obey == Obey::off) return "none";
  return "429 and 503 with Retry-After, up to " + write_duration(settings.max_pause);
}

void print_limits(const UpstreamSettings& settings, const std::optional<RedisConfig>& redis, bool tunnel) {
  const auto& queue = settings.queue;
  line("limits", "maxConcurrent " + std::to_string(settings.max_concurrent));
  for (const auto& limit : settings.limits) line("", in_words(limit, redis.has_value()));
  if (redis) line("redis", to_string(*redis) + ", prefix " + redis->prefix);
  line("pauses", pauses_of(settings, tunnel));
  line("queue", "maxPending " + std::to_string(queue.max_pending) + ", maxWait " + write_duration(queue.max_wait));
}

std::string verdict_on(const Config& config, const access::Address& address, std::uint16_t port) {
  const access::Verdict verdict{config.access, {config.proxy.listen, config.admin.listen}};
  const std::string special = access::is_special(address) ? "a special address" : "a plain address";
  switch (verdict.destination(address, port)) {
    case access::Destination::own: return "Penstock's own port: refused";
    case access::Destination::denied: return special + ", which access does not allow: refused with 403";
    case access::Destination::allowed: break;
  }
  return special + ", allowed";
}

void print_travel(const Config& config, const http::Target& target) {
  const bool closed = target.tunnel && std::ranges::count(config.access.connect_ports, target.port) == 0;
  if (closed) return line("travels", "not at all: its port is not in access.connectPorts, refused with 403");
  line("travels", target.tunnel
                      ? "as a tunnel to " + target.authority() + ", which is governed as a whole: one departure,"
                      : "plain http to " + target.authority() + ", each request on its own");
  if (target.tunnel) line("", "and a slot until it closes, however many requests it carries (https.md)");
  const auto address = target.literal ? access::parse_address(target.host) : std::nullopt;
  line("address", address ? verdict_on(config, *address, target.port)
                          : "resolved at take-off; each address is judged then, by access.allow and access.deny");
}

}  // namespace

int explain(const std::string& config_file, const std::string& url) {
  const auto config = settings(config_file);
  if (!config) return 1;
  const auto target = asked_for(url);
  if (!target) return complain(url + ": " + target.error().details);
  const proxy::Router router{*config};
  const auto route = router.route(*target);
  std::cout << url << '\n';
  print_route(*config, router, *target);
  if (route.denied) return 0;
  const auto& held_to = settings_of(*config, route.entry);
  print_group(held_to, *target);
  print_limits(held_to, config->redis, target->tunnel);
  print_timeouts(held_to.timeouts, target->tunnel);
  print_travel(*config, *target);
  return 0;
}

}  // namespace penstock::app
