// SPDX-License-Identifier: Apache-2.0
// One event as one JSON object: its fields and their order.
#include "observe/event_log.h"
#include "observe/line_text.h"

namespace penstock::observe {
namespace {

bool landed(const Event& event) { return event.kind == EventKind::complete || event.kind == EventKind::error; }

void text(std::string& out, std::string_view key, std::string_view value) {
  out += key;
  append_json_string(out, value);
}

void text_if_any(std::string& out, std::string_view key, std::string_view value) {
  if (!value.empty()) text(out, key, value);
}

void number(std::string& out, std::string_view key, std::uint64_t value) {
  out += key;
  append_number(out, value);
}

void milliseconds_if_known(std::string& out, std::string_view key, std::optional<Duration> value) {
  if (!value) return;
  out += key;
  append_milliseconds(out, *value);
}

void append_what_every_event_has(std::string& out, const Event& event) {
  out += R"({"ts":")";
  append_timestamp(out, event.wall);
  out += R"(","event":")";
  out += name_of(event.kind);
  text(out, R"(","id":)", event.id);
  text(out, R"(,"upstream":)", event.upstream);
  text(out, R"(,"group":)", event.group);
  text(out, R"(,"method":)", event.method);
  text(out, R"(,"host":)", event.host);
  text(out, R"(,"path":)", event.path);
  number(out, R"(,"pending":)", event.pending);
  number(out, R"(,"inFlight":)", event.in_flight);
}

void append_what_is_known(std::string& out, const Event& event) {
  text_if_any(out, R"(,"route":)", event.route);
  text_if_any(out, R"(,"client":)", event.client);
  text_if_any(out, R"(,"user":)", event.user);
  text_if_any(out, R"(,"traceId":)", event.trace_id);
  text_if_any(out, R"(,"upgrade":)", event.upgrade);
  if (event.weight != 1) number(out, R"(,"weight":)", static_cast<std::uint64_t>(event.weight));
  if (event.estimated > 0) number(out, R"(,"estimated":)", static_cast<std::uint64_t>(event.estimated));
  text_if_any(out, R"(,"estimatedBy":)", event.estimated_by);
  if (event.cost) number(out, R"(,"cost":)", static_cast<std::uint64_t>(*event.cost));
  if (event.tunnel) out += R"(,"tunnel":true)";
  if (event.permit) out += R"(,"permit":true)";
  if (event.status > 0) number(out, R"(,"status":)", static_cast<std::uint64_t>(event.status));
  milliseconds_if_known(out, R"(,"waitMs":)", event.wait);
  milliseconds_if_known(out, R"(,"flightMs":)", event.flight);
  if (landed(event)) {
    number(out, R"(,"bytesIn":)", event.bytes_in);
    number(out, R"(,"bytesOut":)", event.bytes_out);
    number(out, R"(,"attempts":)", static_cast<std::uint64_t>(event.attempts));
  }
  text_if_any(out, R"(,"sni":)", event.sni);
  text_if_any(out, R"(,"alpn":)", event.alpn);
  text_if_any(out, R"(,"limitedBy":)", event.limited_by);
  if (!event.would_wait_for.empty()) {
    text_if_any(out, R"(,"wouldWait":)", event.would_wait_for);
    milliseconds_if_known(out, R"(,"wouldWaitMs":)", event.would_wait);
  }
  if (event.kind == EventKind::refused) text_if_any(out, R"(,"refusal":)", event.refusal);
  text_if_any(out, R"(,"error":)", event.error);
  text_if_any(out, R"(,"detail":)", event.detail);
}

}  // namespace

void write_json(std::string& out, const Event& event) {
  append_what_every_event_has(out, event);
  append_what_is_known(out, event);
  out += "}\n";
}

}  // namespace penstock::observe
