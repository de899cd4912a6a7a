// SPDX-License-Identifier: Apache-2.0
// See resending.h.
#include "proxy/dispatch/resending.h"

#include <utility>

#include "http/refusal.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

// What is kept in memory.

/// A request that waits again holds all of itself, one in flight only what is kept to send it again.
void Resending::charge(Exchange& exchange) {
  const auto& sendings = exchange.sendings;
  std::size_t bytes = sendings.holding + (sendings.answer ? sendings.answer->bytes() : 0);
  if (sendings.back_since != 0) {
    bytes += exchange.bytes();
  } else if (exchange.body.keeps()) {
    bytes += exchange.body.held();
  }
  memory_.charge(exchange.memory, exchange.sink.held(), bytes);
}

void Resending::keep_body(Exchange& exchange) {
  const auto& retry = exchange.retry();
  const bool wanted = retry.attempts > 1 && (retry.refusals || retry.failures != RetryConfig::Failures::off);
  const std::size_t most = services_.config.caps.replay_body;
  const bool fits = exchange.body.held() <= most &&
                    (exchange.head.body == http::BodyKind::chunked || exchange.head.content_length <= most);
  const bool keeps = wanted && fits && exchange.body.from_start() && memory_.has_room_for_bodies();
  exchange.body.keep(keeps ? most : 0);
  charge(exchange);
}

void Resending::passes_on(Exchange& exchange) {
  exchange.body.keep(0);
  exchange.sendings.answer.reset();
  exchange.sendings.holding = 0;
  memory_.release(exchange.memory);
}

void Resending::body_came(Exchange& exchange) {
  exchange.sendings.back_since == 0 && exchange.body.keeps() ? keep_body(exchange) : charge(exchange);
}

bool Resending::wants_body(const Exchange& exchange) const {
  return exchange.body.held() < services_.config.caps.replay_body && memory_.has_room_for_bodies();
}

bool Resending::holds(Exchange& exchange, std::size_t bytes) {
  auto& sendings = exchange.sendings;
  const std::size_t kept =
      (exchange.body.keeps() ? exchange.body.held() : 0) + (sendings.answer ? sendings.answer->bytes() : 0);
  if (!memory_.has_room_for(exchange.memory, exchange.sink.held(), kept + bytes)) return false;
  sendings.holding = bytes;
  charge(exchange);
  return true;
}

// The course of a request.

void Resending::takes_off(Exchange& exchange) {
  if (exchange.head.has_body()) keep_body(exchange);
  Upstream& upstream = *exchange.upstream;
  if (exchange.retry().failures != RetryConfig::Failures::off) upstream.retries.came(services_.loop.now());
}

bool Resending::takes_back(Exchange& exchange, Again why, std::unique_ptr<KeptAnswer>& answer) {
  if (why == Again::no) return false;
  Upstream& upstream = *exchange.upstream;
  auto& sendings = exchange.sendings;
  const auto& retry = exchange.retry();
  const auto now = services_.loop.now();
  if (now >= sendings.deadline || !exchange.body.from_start()) return false;
  if (answer && answer->incurable()) return false;
  const auto& kept = answer ? answer : sendings.answer;
  const std::size_t sent_already = exchange.body.held() - exchange.body.size();
  const std::size_t bytes = exchange.bytes() + sent_already + (kept ? kept->bytes() : 0);
  if (!memory_.has_room_for(exchange.memory, exchange.sink.held(), bytes)) return false;
  if (why == Again::failed && !upstream.retries.take(now, retry.budget)) return false;
  exchange.body.rewind();
  if (answer) sendings.answer = std::move(answer);
  sendings.stale = false;
  waits_again(exchange, why);
  return true;
}

/// What was sent over a dead connection is charged whether there is room for it or not: it has been accepted.
void Resending::waits_again(Exchange& exchange, Again why) {
  auto& sendings = exchange.sendings;
  sendings.holding = 0;
  sendings.why = why;
  sendings.back_since = services_.loop.now();
  charge(exchange);
}

void Resending::has_waited(Exchange& exchange, flow::LimitIndex limited_by) const {
  exchange.waited += services_.loop.now() - exchange.sendings.back_since;
  if (limited_by == flow::kNoLimit) return;
  exchange.limited_by = limited_by;
  exchange.sendings.waited = true;
}

void Resending::takes_off_again(Exchange& exchange, flow::LimitIndex limited_by) {
  has_waited(exchange, limited_by);
  auto& sendings = exchange.sendings;
  sendings.back_since = 0;
  exchange.took_off = services_.loop.now();
  count_attempt(exchange, std::exchange(sendings.why, Again::no));
  exchange.head.has_body() ? keep_body(exchange) : charge(exchange);
}

void Resending::count_attempt(Exchange& exchange, Again why) const {
  if (why == Again::no) return;
  auto& sendings = exchange.sendings;
  auto& totals = exchange.upstream->totals;
  ++(why == Again::refused ? totals.again_refused : totals.again_failed);
  if (why == Again::failed) ++sendings.failures;
  ++sendings.attempts;
  if (sendings.answer)
    sendings.answer->tell_attempts(http::proxy_status(sendings.attempts, services_.config.proxy.via));
}

}  // namespace penstock::proxy
