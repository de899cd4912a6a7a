// SPDX-License-Identifier: Apache-2.0
// The dispatcher's events about what never became an exchange: requests that were refused before, and TLS takeovers.
#include <utility>

#include "http/refusal.h"
#include "proxy/dispatch/dispatcher.h"

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
}  // namespace

void Dispatcher::report_refused(const http::Refusal& why_not) {
  const auto wording = http::wording(why_not.why);
  Event event{.kind = EventKind::refused, .outcome = Outcome::refused};
  event.status = why_not.status_code();
  event.error = wording.token;
  event.detail = why_not.details;
  event.refusal = wording.kind;
  tell(std::move(event));
}

void Dispatcher::report_handshake(const HandshakeReport& what) {
  const auto entry = admission_.intercepting_entry(what.outside);
  Upstream& upstream = upstreams_.find_or_make(what.outside, entry);
  if (count_in(upstream.handshakes, what.result)) tell_of(what, upstream);
}

/// The CONNECT has no outcome yet: either the client left, or we refused and closed.
void Dispatcher::tell_of(const HandshakeReport& what, Upstream& upstream) {
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
  event.pending = upstream.scheduler.pending();
  event.in_flight = upstream.scheduler.in_flight();
  event.error = what.result == Handshake::rejected ? "tls_alert_received" : wording.token;
  event.detail = what.details;
  if (ours) event.refusal = wording.kind;
  count(upstream.totals, event.outcome);
  tell(std::move(event));
}

void Dispatcher::tell(Event event) {
  const auto name = next_name();
  event.wall = services_.loop.wall();
  event.at = services_.loop.now();
  event.id = {name.data(), name.size()};
  services_.events(event);
}

}  // namespace penstock::proxy
