// SPDX-License-Identifier: Apache-2.0
// See costs.h.
#include "proxy/dispatch/costs.h"

#include <algorithm>
#include <utility>

#include "cost/stream_usage.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

namespace {
constexpr std::int64_t kQuiet = 60'000'000;  // between two notices

/// Of other resources it is not known that they take it.
void ask_for_usage(Exchange& exchange) {
  if (!exchange.body.whole || !exchange.target.path().ends_with("/completions")) return;
  const auto place = cost::place_of_stream_options(exchange.body.next());
  if (!place) return;
  exchange.body.insert(*place, cost::kStreamOptions);
  if (exchange.head.body == http::BodyKind::length) exchange.head.content_length += cost::kStreamOptions.size();
}
}  // namespace

// What it holds meanwhile counts as of any request that waits. If there is no memory for bodies, its size must do.
bool Costs::reads(Exchange& exchange, const http::RequestHints& hints, std::function<void()> enter) const {
  Upstream& upstream = *exchange.upstream;
  const auto& terms = upstream.body_terms();
  if (!terms || exchange.may_rest() || exchange.is_permit()) return false;
  exchange.load.cost = std::make_unique<CostReading>(terms, exchange.head);
  if (!exchange.load.cost->needs_body() || !memory_.has_room_for_bodies()) return false;
  memory_.judge(exchange.memory, exchange.sink.held(), exchange.bytes());
  if (exchange.memory.full() != PendingMemory::Full::no) return false;
  memory_.charge(exchange.memory, exchange.sink.held(), exchange.bytes());
  const auto& caps = services_.config.caps;
  CostReading::Patience patience{.bytes = std::min(caps.replay_body, caps.pending_body_bytes), .until = std::nullopt};
  if (const Duration longest = exchange.timeouts().body; longest > Duration{0})
    patience.until = services_.loop.now() + longest.count();
  exchange.load.cost->wait(services_.loop, patience, hints, std::move(enter));
  return true;
}

// Whether there is memory for bodies is seen when the next bytes come: they may be one read too many.
void Costs::body_came(Exchange& exchange) const {
  if (!exchange.load.reads_body()) return;
  exchange.load.cost->body_came(exchange.body.next(), exchange.body.whole || !memory_.has_room_for_bodies());
}

void Costs::enters(Exchange& exchange) const {
  Upstream& upstream = *exchange.upstream;
  std::string_view name;
  if (auto* const cost = exchange.load.cost.get()) {
    cost->enter(services_.loop.now(), exchange.body.size(), exchange.body.whole);
    if (cost->adds_usage()) ask_for_usage(exchange);
    name = cost->group();
  }
  const auto& grouping = upstream.grouping();
  if (!grouping) return;
  exchange.group = upstream.group_of(exchange.target, exchange.head.fields, name);
  exchange.origin.group = grouping->label(exchange.group);
}

void Costs::changed(Exchange& exchange) {
  if (!exchange.load.reads_body()) return;
  exchange.load.weight = exchange.load.cost->hints().weight;
  exchange.take_place();
  exchange.load.cost->change(exchange.upstream->body_terms(), exchange.body.next());
}

void Costs::attempt_ends(Exchange& exchange, Answer answer) const {
  auto* const cost = exchange.load.cost.get();
  if (!cost || !exchange.flight || !cost->has_cost()) return;
  const bool was_sent = exchange.departure.has_left() && answer != Answer::nothing;
  const auto actual = was_sent ? cost->actual(answer == Answer::whole) : CostReading::Actual{.units = 0};
  cost->answer_ends();
  if (actual.implausible) complain(*exchange.upstream);
  if (actual.units == exchange.departure.taken().cost) return;
  exchange.queue->settle(exchange.lane(), exchange.departure.taken(), actual.units);
}

void Costs::complain(Upstream& upstream) const {
  const auto now = services_.loop.now();
  if (upstream.told_of_costs && now < *upstream.told_of_costs + kQuiet) return;
  upstream.told_of_costs = now;
  services_.notices(
      {.level = LogLevel::warn,
       .text = upstream.name + ": an answer tells a cost below 0 or beyond cost.max; its estimate counts instead"});
}

}  // namespace penstock::proxy
