// SPDX-License-Identifier: Apache-2.0
// See event_reporter.h.
#include "proxy/dispatch/event_reporter.h"

#include <random>
#include <utility>
#include <vector>

#include "http/redaction.h"
#include "proxy/exchange/upstream_view.h"

namespace penstock::proxy {

namespace {
http::Reason why_of(Handshake result) {
  switch (result) {
    case Handshake::timed_out: return http::Reason::head_timeout;
    case Handshake::impossible: return http::Reason::unconfigured;
    case Handshake::overdue: return http::Reason::too_many_clients;
    default: return http::Reason::tls_protocol_error;
  }
}

/// Counts the result. False: it gets no event.
bool count_in(HandshakeTotals& totals, Handshake result) {
  switch (result) {
    case Handshake::done: ++totals.done; return false;
    case Handshake::bypassed: ++totals.bypassed; return false;
    case Handshake::rejected: ++totals.rejected; return true;
    case Handshake::left: ++totals.left; return true;
    case Handshake::timed_out: ++totals.timed_out; return true;
    case Handshake::impossible:
    case Handshake::overdue:
    case Handshake::failed: break;
  }
  ++totals.failed;
  return true;
}

void count(Totals& totals, Outcome outcome) {
  switch (outcome) {
    case Outcome::none: break;
    case Outcome::success: ++totals.success; break;
    case Outcome::http_error: ++totals.http_error; break;
    case Outcome::upstream_error: ++totals.upstream_error; break;
    case Outcome::client_gone: ++totals.client_gone; break;
    case Outcome::client_gone_pending: ++totals.client_gone_pending; break;
    case Outcome::refused: ++totals.refused; break;
  }
}

/// `10.0.0.7` of `10.0.0.7:41234`, `::1` of `[::1]:41234`.
std::string_view without_port(std::string_view client) {
  if (client.starts_with('[')) return client.substr(1, client.find(']') - 1);
  return client.substr(0, client.find(':'));
}
}  // namespace

EventReporter::EventReporter(const Services& services)
    : services_(services),
      serial_((static_cast<std::uint64_t>(std::random_device{}()) << 32) | std::random_device{}()) {}

EventReporter::Name EventReporter::next_name() {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  Name name;
  std::uint64_t rest = ++serial_;
  for (auto digit = name.rbegin(); digit != name.rend(); ++digit, rest >>= 6) *digit = kDigits[rest & 63];
  return name;
}

void EventReporter::report(const Exchange& exchange, const Ending& ending) {
  Event event = describe(exchange, ending.kind);
  event.outcome = ending.outcome;
  event.status = ending.status;
  event.error = ending.error;
  event.detail = ending.detail;
  event.refusal = ending.refusal;
  event.first_byte = ending.result.first_byte;
  event.bytes_in = ending.result.bytes_in;
  event.bytes_out = ending.result.bytes_out;
  event.would_wait = ending.would_wait.wait;
  event.would_wait_for = ending.would_wait.limit;
  event.sni = ending.result.sni;
  event.alpn = ending.result.alpn;
  event.tunnel = event.tunnel || ending.result.tunnel;
  services_.events(event);
  if (!exchange.upstream) return;
  count(exchange.upstream->totals, ending.outcome);
  exchange.upstream->last_minute.record(event);
}

std::string_view EventReporter::shown_client(std::string_view client) const {
  switch (services_.config.log.client) {
    case LogClient::address: return without_port(client);
    case LogClient::full: return client;
    case LogClient::off: break;
  }
  return {};
}

/// Of a request that has found no upstream nobody knows whose secrets its path has: those of all are hidden.
std::string_view EventReporter::shown_path_of(const Exchange& exchange) {
  const auto path = exchange.target.path();
  if (exchange.upstream) return http::shown_path(path, exchange.upstream->settings.redact, room_);
  const auto& config = services_.config;
  std::vector<std::string> all = config.unmatched.redact;
  for (const auto& upstream : config.upstreams)
    all.insert(all.end(), upstream.settings.redact.begin(), upstream.settings.redact.end());
  return http::shown_path(path, all, room_);
}

Event EventReporter::describe(const Exchange& exchange, EventKind kind) {
  Event event{.kind = kind, .wall = services_.loop.wall(), .at = services_.loop.now()};
  event.id = exchange.id();
  event.user = exchange.origin.user;
  event.client = shown_client(exchange.origin.client);
  event.trace_id = exchange.origin.trace;
  event.method = exchange.head.method;
  event.host = exchange.target.host;
  event.path = shown_path_of(exchange);
  event.tunnel = exchange.target.tunnel;
  event.permit = exchange.is_permit();
  if (!event.permit) event.upgrade = exchange.head.upgrade;
  event.weight = exchange.load.weight;
  if (const auto* cost = exchange.load.cost.get(); cost && cost->has_cost() && !cost->waits()) {
    event.estimated = cost->estimate();
    event.estimated_by = cost->estimated_by();
    const bool whole = kind == EventKind::complete;
    if (whole || kind == EventKind::error) event.cost = exchange.departure.has_left() ? cost->actual(whole).units : 0;
  }
  if (const auto* upstream = exchange.upstream) {
    event.entry = upstream->entry;
    event.upstream = upstream->name;
    event.group = exchange.origin.group;
    event.route = exchange.route().name;
    event.limited_by = upstream->own_name(name_of_limit(exchange.queue->settings, exchange.limited_by));
    // The event is emitted before the scheduler is told, which still counts this exchange, unless it has refused it.
    const bool known = exchange.ticket != flow::Ticket{}, waits_again = exchange.sendings.back_since != 0;
    const bool ends = kind == EventKind::complete || kind == EventKind::error;
    const bool leaves = kind == EventKind::gone || (known && (kind == EventKind::refused || (ends && waits_again)));
    event.pending = exchange.queue->scheduler().pending() - (leaves ? 1 : 0);
    const bool lands = ends && !exchange.rests && !waits_again;
    event.in_flight = exchange.queue->scheduler().in_flight() - (lands ? 1 : 0);
    event.wait = Duration{exchange.waited};
  }
  const auto& sendings = exchange.sendings;
  if (exchange.took_off != 0 && kind != EventKind::dispatch) {
    const auto landed = sendings.back_since != 0 ? sendings.back_since : event.at;
    event.flight = Duration{landed - exchange.took_off};
  }
  event.attempts = sendings.attempts;
  event.failures = sendings.failures;
  event.refusals = sendings.said.refusals;
  event.unreadable_fields = sendings.said.unreadable;
  event.waited_again = sendings.waited;
  return event;
}

EventReporter::Name EventReporter::report_refused(const http::Refusal& why_not, const Stranger& from) {
  const auto wording = http::wording(why_not.why);
  Event event{.kind = EventKind::refused, .outcome = Outcome::refused};
  event.status = why_not.status_code();
  event.error = wording.token;
  event.detail = why_not.details;
  event.refusal = wording.kind;
  event.client = shown_client(from.client);
  event.trace_id = from.trace;
  return emit_nameless(event);
}

/// The CONNECT has no outcome yet: either the client left, or we refused and closed.
void EventReporter::report_handshake(const HandshakeReport& what, Upstream& upstream) {
  if (!count_in(upstream.handshakes, what.result)) return;
  const auto why = why_of(what.result);
  const auto wording = http::wording(why);
  const bool ours = why != http::Reason::tls_protocol_error;
  Event event{.kind = ours ? EventKind::refused : EventKind::gone,
              .outcome = ours ? Outcome::refused : Outcome::client_gone_pending};
  event.entry = upstream.entry;
  event.upstream = upstream.name;
  event.user = what.user;
  event.client = shown_client(what.client);
  event.method = "CONNECT";
  event.host = what.outside.host;
  event.tunnel = true;
  event.pending = upstream.queue().scheduler().pending();
  event.in_flight = upstream.queue().scheduler().in_flight();
  event.error = what.result == Handshake::rejected ? "tls_alert_received" : wording.token;
  event.detail = what.details;
  if (ours) event.refusal = wording.kind;
  count(upstream.totals, event.outcome);
  event.at = services_.loop.now();
  upstream.last_minute.record(event);
  emit_nameless(event);
}

EventReporter::Name EventReporter::emit_nameless(Event event) {
  const auto name = next_name();
  event.wall = services_.loop.wall();
  event.at = services_.loop.now();
  event.id = {name.data(), name.size()};
  services_.events(event);
  return name;
}

}  // namespace penstock::proxy
