// SPDX-License-Identifier: Apache-2.0
// See permit_flight.h.
#include "proxy/flight/permit_flight.h"

#include <optional>
#include <string>

#include "http/fields.h"
#include "http/forwarding.h"
#include "loop/loop.h"

namespace penstock::proxy {

/// The body's first line is there for clients that cannot see the head, such as a shell.
void PermitFlight::take_off() {
  exchange_.leaves(services_.loop.now());
  const std::string line = std::string(exchange_.id()) + "\n";
  http::Fields fields;
  fields.add("Penstock-Permit", exchange_.id());
  fields.add("Content-Type", "text/plain");
  fields.add("Cache-Control", "no-store");
  fields.add("Server-Timing", http::server_timing(Duration{exchange_.waited}));
  const bool held = exchange_.target.permit == http::Target::Permit::held;
  status_ = 200;
  exchange_.sink.answer_head(status_, "OK", fields, held ? std::nullopt : std::optional(line.size()));
  exchange_.sink.answer_body(line);
  if (held) return;
  exchange_.sink.answer_end({});
  events_.completed(exchange_, result());
}

void PermitFlight::abort(const http::Refusal& refusal) {
  exchange_.sink.answer_broken();
  events_.failed(exchange_, {.why = refusal.why, .details = refusal.details}, result());
}

}  // namespace penstock::proxy
