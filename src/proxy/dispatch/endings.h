// SPDX-License-Identifier: Apache-2.0
// What is known of an exchange that ends from outside, or whose last answer was kept. Only for the dispatcher.
#pragma once

#include <string_view>

#include "proxy/dispatch/event_reporter.h"
#include "proxy/dispatch/resending.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/upstream_queue.h"

namespace penstock::proxy {

/// Notes how long the exchange was pending until now, or has waited again, and which limit made it wait.
inline void note_wait(const Resending& resending, Exchange& exchange, flow::Time now) {
  const auto limited_by = exchange.queue->scheduler().limited_by(now, exchange.ticket);
  if (exchange.sendings.back_since != 0) return resending.has_waited(exchange, limited_by);
  exchange.waited = now - exchange.arrived;
  exchange.limited_by = limited_by;
}

/// Of an exchange that has taken off and ends from outside.
inline AttemptResult done_so_far(const Exchange& exchange) {
  if (exchange.flight) return exchange.flight->result();
  const auto& sendings = exchange.sendings;
  auto result = sendings.back_since != 0 && sendings.answer ? sendings.answer->result() : AttemptResult{};
  result.status = 0;  // its client has not got it
  return result;
}

/// The client got the answer that was kept. `error` and `detail`: why none came later.
inline Ending last_answer(const Exchange& exchange, std::string_view error = {}, std::string_view detail = {}) {
  const AttemptResult& result = exchange.sendings.answer->result();
  return {.kind = EventKind::complete,
          .outcome = Outcome::http_error,
          .status = result.status,
          .error = error,
          .detail = detail,
          .result = result};
}

}  // namespace penstock::proxy
