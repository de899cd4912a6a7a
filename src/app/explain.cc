// SPDX-License-Identifier: Apache-2.0
// `penstock explain`: says in words what routing, limits and access rules would do with a URL, by calling the very
// functions that do it.
#include <algorithm>
#include <cctype>
#include <iostream>
#include <utility>

#include "access/verdict.h"
#include "app/commands.h"
#include "app/how_limited.h"
#include "app/limit_words.h"
#include "app/reserved_endpoints.h"
#include "app/route_words.h"
#include "app/settings.h"
#include "app/url_trace.h"
#include "app/whole_url.h"
#include "config/units.h"
#include "http/redaction.h"
#include "http/target.h"
#include "penstock/quotas.h"
#include "proxy/route/grouping.h"
#include "proxy/route/router.h"
#include "proxy/route/routes.h"

namespace penstock::app {

namespace {

using config::write_duration;

void line(std::string_view label, const std::string& text) {
  std::cout << "  " << label << std::string(12 - label.size(), ' ') << text << '\n';
}

UpstreamSettings settings_of(const Config& config, std::size_t entry) {
  return entry == 0 ? config.unmatched : effective_settings(config, config.upstreams[entry - 1]);
}

std::string pattern_of(const Config& config, const proxy::Route& route) {
  return to_string(*route.pattern) + " of upstreams." + config.upstreams[route.entry - 1].name;
}

void print_nowhere(const std::string& why) {
  line("upstream", "none");
  line("why", why);
}

void print_upstream(const Config& config, const UpstreamConfig& upstream) {
  line("upstream", upstream.name);
  if (!upstream.quota.empty()) line("", quota_in_words(config, upstream) + ": one queue, and one set of limits");
  if (const auto preset = preset_of(upstream); !preset.empty())
    line("", preset + ": `penstock presets " + upstream.preset + "` has what it rests on");
}

void print_route(const Config& config, const proxy::Router& router, const UrlTrace& trace) {
  const auto& route = trace.route;
  if (trace.way == UrlTrace::Way::permit) {
    const auto& upstream = config.upstreams[route.entry - 1];
    print_upstream(config, upstream);
    return line("why", "/@" + upstream.name + " is a permit of it (permits: true)");
  }
  if (trace.way == UrlTrace::Way::gateway) {
    const auto& upstream = config.upstreams[route.entry - 1];
    print_upstream(config, upstream);
    return line("why", "/@" + upstream.name + " is its baseUrl " + to_string(*upstream.base_url));
  }
  if (!route.pattern) {
    line("upstream", trace.dialled.authority());
    return line("why", "no pattern fits: an upstream of its own after the entry \"*\"");
  }
  print_upstream(config, config.upstreams[route.entry - 1]);
  line("why", "pattern " + to_string(*route.pattern) + ": " + proxy::why(*route.pattern));
  const auto candidates = router.candidates(trace.asked);
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    line("", "wins over " + pattern_of(config, candidates[i]) + ": " + proxy::why(*candidates[i].pattern));
  }
}

/// What holds for such a request: of the limits those that govern it, and what its route has instead.
UpstreamSettings settings_for(UpstreamSettings settings, const proxy::RouteTerms& route) {
  std::erase_if(settings.limits, [&](const LimitConfig& limit) { return !governs(limit, route.limits); });
  if (route.max_wait) settings.queue.max_wait = *route.max_wait;
  if (route.timeouts) settings.timeouts = *route.timeouts;
  if (route.retry) settings.retry = *route.retry;
  if (route.obey) settings.obey = *route.obey;
  return settings;
}

void print_taken_route(const UpstreamSettings& settings, std::string_view method, const http::Target& target) {
  if (settings.routes.empty()) return;
  if (target.tunnel) return line("route", "none: a tunnel shows neither method nor path");
  std::string_view label = "route";
  for (const auto& text : route_lines(settings, method, target.path())) line(std::exchange(label, ""), text);
}

std::string in_words(Duration duration) { return duration == Duration{0} ? "none" : write_duration(duration); }

void print_group(const UpstreamSettings& settings, const http::Target& target) {
  if (!settings.group) return;
  const auto& rule = *settings.group;
  const auto by = " (" + to_string(rule) + ")";
  if (rule.by == GroupRule::By::header && !target.tunnel) return line("group", "the value of " + rule.pattern + by);
  if (rule.by == GroupRule::By::json && !target.tunnel)
    return line("group", "what a JSON body has under " + rule.pattern + by);
  std::string room;
  const std::string name{proxy::Grouping{rule, {"", ""}, nullptr, settings.redact}.name(target, {}, room)};
  if (name.starts_with(http::kHidden)) return line("group", "a hash, for its name is secret (redact)" + by);
  const auto* why = target.tunnel ? ": a tunnel shows neither path nor fields" : ": does not fit";
  line("group", name + by + (name == proxy::kNoGroup ? why : ""));
}

void print_timeouts(const TimeoutConfig& timeouts, bool tunnel) {
  const auto while_moving =
      tunnel ? "tunnelRest " + in_words(timeouts.tunnel_rest) + ", tunnelIdle " + in_words(timeouts.tunnel_idle)
             : "firstByte " + in_words(timeouts.first_byte) + ", idle " + in_words(timeouts.idle);
  line("timeouts",
       "connect " + in_words(timeouts.connect) + ", " + while_moving + ", total " + in_words(timeouts.total));
}

std::string pauses_of(const UpstreamSettings& settings, bool tunnel) {
  if (tunnel) return "none: what is answered in a tunnel is not seen";
  if (settings.obey == Obey::off) return "none";
  std::string text = "after";
  for (const auto status : settings.pause_on) text += (text == "after" ? " " : ", ") + std::to_string(status);
  if (settings.obey != Obey::automatic) text += ", as " + to_string(settings.obey) + " says";
  text += ", up to " + write_duration(settings.max_pause);
  if (settings.group) return text + ", of the group";
  return settings.pause_scope == PauseScope::credentials ? text + ", of the same credentials" : text;
}

std::string retry_of(const RetryConfig& retry, bool tunnel) {
  using Failures = RetryConfig::Failures;
  if (tunnel || retry.attempts == 1 || (!retry.refusals && retry.failures == Failures::off)) return "off";
  std::string what = retry.refusals ? "what is refused" : "";
  if (retry.failures != Failures::off) {
    what += (what.empty() ? "" : ", and ") + std::string("failures of ") + to_string(retry.failures) + " requests (" +
            std::to_string(retry.budget) + "%)";
  }
  return what + ", up to " + std::to_string(retry.attempts) + " attempts";
}

std::string breaker_of(const BreakerConfig& breaker) {
  if (breaker.failures == 0) return "off";
  return "after " + std::to_string(breaker.failures) + " failed connections in a row, up to " +
         write_duration(breaker.max_pause);
}

/// For what is sent to a host; a permit is not.
void print_answers(const UpstreamSettings& settings, bool tunnel) {
  line("pauses", pauses_of(settings, tunnel));
  line("retry", retry_of(settings.retry, tunnel));
  line("breaker", breaker_of(settings.breaker));
}

std::string joined(const std::vector<std::string>& entries) {
  std::string text;
  for (const auto& entry : entries) text += (text.empty() ? "" : ", ") + entry;
  return text;
}

void print_cost(const UpstreamSettings& settings, bool tunnel) {
  if (!counts_cost(settings)) return line("cost", "not read: no limit has unit: " + settings.cost->unit);
  if (tunnel) return line("cost", "1: a tunnel shows no body");
  const CostConfig& cost = *settings.cost;
  line("cost",
       cost.unit + ", at most " + std::to_string(most_cost(settings)) + ", estimated by " + joined(cost.estimate));
  if (cost.actual.empty()) return line("", "which is final: cost.actual is not set");
  line("", "settled by " + joined(cost.actual) + " of the answer, which comes with Accept-Encoding: identity");
  if (cost.stream_usage) line("", "streams are asked for their usage, which changes the body (streamUsage)");
}

void print_limits(const Config& config, const UpstreamSettings& settings, const http::Target& target) {
  const bool tunnel = target.tunnel, permit = target.permit != http::Target::Permit::none;
  const auto* const redis = redis_of(config, settings);
  const auto& queue = settings.queue;
  line("limits", "maxConcurrent " + std::to_string(settings.max_concurrent));
  if (tunnel) line("", "maxTunnels " + std::to_string(tunnels_of(settings)) + " open; those that rest hold no slot");
  for (const auto& limit : settings.limits) line("", limit_in_words(limit, redis != nullptr));
  if (settings.cost && !permit) print_cost(settings, tunnel);
  if (settings.learn == Learn::on && !tunnel) line("learn", "from answers, what others take of the same quota");
  const std::string which = redis && config.redis.size() > 1 ? redis->name + ", " : "";
  if (redis) line("redis", which + to_string(*redis) + ", prefix " + redis->prefix);
  if (!permit) print_answers(settings, tunnel);
  line("queue", "maxPending " + std::to_string(queue.max_pending) + ", maxWait " + write_duration(queue.max_wait));
}

std::string verdict_on(const Config& config, const http::Target& target) {
  const access::Verdict verdict{
      config, {config.proxy.listen, config.admin.listen}, reserved_endpoints_of(config.redis), addresses_here()};
  if (verdict.denies(target.host, target.port)) return "not looked up, as access.deny names the host: refused with 403";
  const auto literal = target.literal ? access::parse_address(target.host) : std::nullopt;
  if (!literal) return "resolved at take-off; each address is judged then, by access.allow and access.deny";
  const auto& address = *literal;
  const std::string special = access::is_special(address) ? "a special address" : "a plain address";
  switch (verdict.destination(address, target.port, target.host)) {
    case access::Destination::own: return "Penstock's own port: refused";
    case access::Destination::denied: return special + ", which access does not allow: refused with 403";
    case access::Destination::allowed: break;
  }
  return special + ", allowed";
}

bool has(const std::vector<std::uint16_t>& ports, std::uint16_t port) { return std::ranges::count(ports, port) > 0; }

std::string url_of_proxy(const Config& config) { return "http://" + to_string(from_here(config.proxy.listen)); }

void print_governed(const std::string& text) {
  const auto cut = std::min(text.find("; "), text.size() - 1) + 1;
  line("governed", text.substr(0, cut));
  if (cut < text.size()) line("", text.substr(cut + 1));
}

/// Some clients ask for a tunnel where others send a plain request.
std::string inside_connect(const AccessConfig& access, const UrlTrace& trace) {
  const auto port = trace.asked.port;
  const std::string text = "inside a CONNECT, as Node's undici sends it, ", named = "port " + std::to_string(port);
  if (!may_connect(access, port)) return text + "refused: " + named + " is not in access.connectPorts";
  if (trace.connect_opened) return text + "the same (https: intercept)";
  if (has(access.plain_ports, port)) return text + "the same (access.plainPorts)";
  return text + "it is a tunnel: " + named + " is not in access.plainPorts";
}

/// How the application would have to ask so that each request is limited.
std::string instead_of_tunnel(const Config& config, const UrlTrace& trace) {
  const auto entry = trace.route.entry;
  const auto& target = trace.dialled;
  if (const auto* upstream = entry != 0 ? &config.upstreams[entry - 1] : nullptr; upstream && upstream->base_url)
    return "for each on its own, let the application call " + url_of_proxy(config) + "/@" + upstream->name +
           " instead of " + to_string(*upstream->base_url);
  if (target.port == 80) return "for each on its own, give it a baseUrl: originating turns port 80 into 443";
  const bool originates = settings_of(config, entry).https == Https::originate;
  const auto port = target.port == 443 ? std::uint16_t{80} : target.port;
  const http::Target plain{.scheme = "http", .host = target.host, .port = port};
  return "for each on its own, " + std::string(originates ? "" : "set https: originate, and ") +
         "let the application call http://" + plain.host_field();
}

void print_tunnel(const Config& config, const UrlTrace& trace) {
  const auto& target = trace.dialled;
  const bool closed = !may_connect(config.access, target.port);
  line("travels", closed ? "not at all: its port is not in access.connectPorts, refused with 403"
                         : "as a tunnel to " + target.authority() + ", which is governed as a whole: one departure,");
  if (!closed) line("", "and a slot while it is busy, however many requests it carries (https.md);");
  line("", instead_of_tunnel(config, trace));
}

/// The path is not known before the CONNECT is answered, but the port is.
void print_opened(const Config& config, const UrlTrace& trace) {
  const auto& target = trace.dialled;
  if (!may_connect(config.access, target.port))
    return line("travels", "not at all: its port is not in access.connectPorts, refused with 403");
  line("travels", "as https to " + target.authority() + ", each request on its own, out of a CONNECT that is");
  line("", "opened with a certificate of our own authority (https: intercept)");
  if (config.intercept.bypass_on_pin)
    line("",
         "to a client that rejects it twice, or leaves four times: as a tunnel, for an hour (intercept.bypassOnPin)");
  if (config.intercept.h2_only == H2Only::tunnel)
    line("", "of a client that speaks HTTP/2 and not HTTP/1.1: as a tunnel (intercept.h2Only)");
}

void print_travel(const Config& config, const UrlTrace& trace) {
  const auto& target = trace.dialled;
  if (trace.way == UrlTrace::Way::permit) {
    const bool held = target.permit == http::Target::Permit::held;
    return line("travels", held ? "nowhere: it is answered when its turn comes, and held until the client leaves"
                                : "nowhere: it is answered when its turn comes, and holds nothing (hold=no)");
  }
  const auto secret = settings_of(config, trace.route.entry).redact;
  if (target.tunnel) {
    print_tunnel(config, trace);
  } else if (trace.way == UrlTrace::Way::opened) {
    print_opened(config, trace);
  } else {
    const auto as = target.secure() ? "as https to " : "plain http to ";
    const auto wire = trace.way == UrlTrace::Way::gateway ? ", for " + http::shown_url(target.resource, secret) : "";
    line("travels", as + target.authority() + wire + ", each request on its own");
  }
  const bool by_url = trace.way == UrlTrace::Way::plain || trace.way == UrlTrace::Way::secured;
  if (by_url) line("", inside_connect(config.access, trace));
  line("address", verdict_on(config, target));
}

/// Without a trace the upstream is not known: then the patterns of all upstreams.
std::vector<std::string> secrets_of(const Config& config, const std::expected<UrlTrace, http::Refusal>& trace) {
  if (trace) return settings_of(config, trace->route.entry).redact;
  auto all = config.unmatched.redact;
  for (const auto& upstream : config.upstreams)
    all.insert(all.end(), upstream.settings.redact.begin(), upstream.settings.redact.end());
  return all;
}

}  // namespace

int explain(const std::string& config_file, const std::vector<std::string>& wanted) {
  const auto url = whole_url(wanted.back());
  std::string method = wanted.size() > 1 ? wanted.front() : "GET";
  std::ranges::transform(method, method.begin(), [](unsigned char c) { return std::toupper(c); });
  const auto config = settings(config_file);
  if (!config) return 1;
  const proxy::Router router{*config};
  const auto trace = trace_of(*config, router, url);
  const auto shown = http::shown_url(url, secrets_of(*config, trace));
  const bool unknown = !trace && trace.error().why == http::Reason::gateway_unknown;
  if (!trace && !unknown) return complain(shown + ": " + trace.error().details);
  std::cout << shown << '\n';
  if (unknown) return print_nowhere(trace.error().details + ": refused with 404"), 0;
  if (trace->route.denied) return print_nowhere("no pattern fits, and unmatched is deny: refused with 403"), 0;
  print_route(*config, router, *trace);
  const auto all = settings_of(*config, trace->route.entry);
  const bool tunnel = trace->dialled.tunnel;
  const proxy::Routes routes(all);
  const auto terms = tunnel ? proxy::RouteTerms{} : routes.terms_of(method, trace->dialled.path(), {});
  const auto held_to = settings_for(all, terms);
  print_group(held_to, trace->dialled);
  print_taken_route(all, method, trace->dialled);
  print_limits(*config, held_to, trace->dialled);
  if (trace->way != UrlTrace::Way::permit) print_timeouts(held_to.timeouts, tunnel);
  print_governed(how_limited(*config, trace->route.entry, url_of_proxy(*config)));
  print_travel(*config, *trace);
  return 0;
}

}  // namespace penstock::app
