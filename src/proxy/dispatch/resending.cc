// SPDX-License-Identifier: Apache-2.0
// See resending.h.
#include "proxy/dispatch/resending.h"

#include <utility>

#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

namespace {
std::size_t bytes_of_waiting(const Exchange& exchange, const KeptAnswer* answer) {
  return exchange.bytes() + (answer ? answer->bytes() : 0);
}
}  // namespace

void Resending::takes_off(Exchange& exchange) {
  if (exchange.head.has_body()) keep_body(exchange);
  Upstream& upstream = *exchange.upstream;
  if (upstream.settings.retry.failures != RetryConfig::Failures::off) upstream.retries.came(services_.loop.now());
}

void Resending::keep_body(Exchange& exchange) {
  const auto& retry = exchange.upstream->settings.retry;
  const bool wanted = retry.attempts > 1 && (retry.refusals || retry.failures != RetryConfig::Failures::off);
  const std::size_t most = services_.config.caps.replay_body;
  const bool fits = exchange.body.held() <= most &&
                    (exchange.head.body == http::BodyKind::chunked || exchange.head.content_length <= most);
  if (!wanted || !fits || !exchange.body.from_start() || !memory_.has_room_for_bodies()) return forget_body(exchange);
  exchange.body.keep(most);
  if (exchange.body.held() > 0) memory_.charge(exchange.memory, exchange.sink.held(), exchange.body.held());
}

void Resending::forget_body(Exchange& exchange) {
  exchange.body.keep(0);
  memory_.release(exchange.memory);
}

void Resending::body_came(Exchange& exchange) {
  const auto& sendings = exchange.sendings;
  if (sendings.back_since != 0) {
    memory_.charge(exchange.memory, exchange.sink.held(), bytes_of_waiting(exchange, sendings.answer.get()));
  } else if (exchange.body.keeps()) {
    keep_body(exchange);
  }
}

bool Resending::wants_body(const Exchange& exchange) const {
  return exchange.body.held() < services_.config.caps.replay_body && memory_.has_room_for_bodies();
}

bool Resending::has_room_for(Exchange& exchange, std::size_t bytes) {
  memory_.release(exchange.memory);
  memory_.judge(exchange.memory, exchange.sink.held(), bytes);
  return exchange.memory.full() == PendingMemory::Full::no;
}

bool Resending::takes_back(Exchange& exchange, Again why, std::unique_ptr<KeptAnswer>& answer) {
  if (why == Again::no) return false;
  Upstream& upstream = *exchange.upstream;
  const auto& retry = upstream.settings.retry;
  const auto now = services_.loop.now();
  if (now >= exchange.sendings.deadline || !exchange.body.from_start()) return false;
  if (answer && answer->incurable()) return false;
  if (why == Again::failed && !upstream.retries.take(now, retry.budget)) return false;
  exchange.body.rewind();
  const std::size_t bytes = bytes_of_waiting(exchange, answer.get());
  if (!has_room_for(exchange, bytes)) return false;
  memory_.charge(exchange.memory, exchange.sink.held(), bytes);
  exchange.sendings.answer = std::move(answer);
  exchange.sendings.back_since = now;
  exchange.sendings.why = why;
  return true;
}

void Resending::takes_off_again(Exchange& exchange) {
  auto& sendings = exchange.sendings;
  auto& totals = exchange.upstream->totals;
  ++(sendings.why == Again::refused ? totals.again_refused : totals.again_failed);
  if (sendings.why == Again::failed) ++sendings.failures;
  const auto now = services_.loop.now();
  exchange.waited += now - std::exchange(sendings.back_since, 0);
  exchange.took_off = now;
  sendings.stale = false;
  ++sendings.attempts;
  sendings.answer.reset();
  memory_.release(exchange.memory);
  if (exchange.head.has_body()) keep_body(exchange);
}

}  // namespace penstock::proxy
