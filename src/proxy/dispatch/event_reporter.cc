// SPDX-License-Identifier: Apache-2.0
// See event_reporter.h.
#include "proxy/dispatch/event_reporter.h"

#include <random>
#include <utility>

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
  event.sni = ending.result.sni;
  event.alpn = ending.result.alpn;
  event.tunnel = event.tunnel || ending.result.tunnel;
  services_.events(event);
  if (exchange.upstream) count(exchange.upstream->totals, ending.outcome);
}

Event EventReporter::describe(const Exchange& exchange, EventKind kind) const {
  Event event{.kind = kind, .wall = services_.loop.wall(), .at = services_.loop.now()};
  event.id = exchange.id();
  event.user = exchange.user;
  event.method = exchange.head.method;
  event.host = exchange.target.host;
  event.path = exchange.target.path();
  event.tunnel = exchange.target.tunnel;
  event.upgrade = exchange.head.upgrade;
  event.weight = exchange.weight;
  if (const auto* upstream = exchange.upstream) {
    event.entry = upstream->entry;
    event.upstream = upstream->name;
    event.group = exchange.group_label;
    event.limited_by = upstream->limit_name(exchange.limited_by);
    // The event is emitted before the scheduler is told, which still counts this exchange, unless it has refused it.
    const bool known = exchange.ticket != flow::Ticket{}, waits_again = exchange.sendings.back_since != 0;
    const bool ends = kind == EventKind::complete || kind == EventKind::error;
    const bool leaves = kind == EventKind::gone || (known && (kind == EventKind::refused || (ends && waits_again)));
    event.pending = upstream->scheduler().pending() - (leaves ? 1 : 0);
    const bool lands = ends && !exchange.rests && !waits_again;
    event.in_flight = upstream->scheduler().in_flight() - (lands ? 1 : 0);
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

void EventReporter::report_refused(const http::Refusal& why_not) {
  const auto wording = http::wording(why_not.why);
  Event event{.kind = EventKind::refused, .outcome = Outcome::refused};
  event.status = why_not.status_code();
  event.error = wording.token;
  event.detail = why_not.details;
  event.refusal = wording.kind;
  emit_nameless(event);
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
  event.method = "CONNECT";
  event.host = what.outside.host;
  event.tunnel = true;
  event.pending = upstream.scheduler().pending();
  event.in_flight = upstream.scheduler().in_flight();
  event.error = what.result == Handshake::rejected ? "tls_alert_received" : wording.token;
  event.detail = what.details;
  if (ours) event.refusal = wording.kind;
  count(upstream.totals, event.outcome);
  emit_nameless(event);
}

void EventReporter::emit_nameless(Event event) {
  const auto name = next_name();
  event.wall = services_.loop.wall();
  event.at = services_.loop.now();
  event.id = {name.data(), name.size()};
  services_.events(event);
}

}  // namespace penstock::proxy
