// SPDX-License-Identifier: Apache-2.0
// Resting tunnels: the dispatcher tells the scheduler when a tunnel rests or wants a slot again, and closes tunnels to
// make room for others.
#include <algorithm>

#include "proxy/dispatch/dispatcher.h"

namespace penstock::proxy {

void Dispatcher::park(Exchange& exchange) {
  exchange.rests = true;
  move(*exchange.upstream, [&exchange](flow::Time now, flow::Commands& commands) {
    exchange.upstream->scheduler.park(now, exchange.ticket, commands);
  });
}

void Dispatcher::wants_slot(Exchange& exchange) {
  move(*exchange.upstream, [&exchange](flow::Time now, flow::Commands& commands) {
    exchange.upstream->scheduler.resume(now, exchange.ticket, commands);
  });
}

void Dispatcher::mark_spare(Exchange& exchange) {
  move(*exchange.upstream, [&exchange](flow::Time now, flow::Commands& commands) {
    exchange.upstream->scheduler.mark_spare(now, exchange.ticket, commands);
  });
}

bool Dispatcher::make_room(const std::optional<access::Address>& client) {
  const auto first = std::ranges::find_if(
      half_closed_, [&](const HalfClosedTunnel* one) { return one->may_make_room() && one->is_of(client); });
  if (first == half_closed_.end()) return false;
  (*first)->make_room("closed to let others in: its client had closed its side");
  return true;
}

void Dispatcher::go_on(ExchangeTable::Id number) {
  Exchange* exchange = exchanges_.find(number);
  if (!exchange) return;
  exchange->rests = false;
  exchange->flight->go_on();
}

void Dispatcher::make_room(ExchangeTable::Id number) {
  Exchange* exchange = exchanges_.find(number);
  if (!exchange) return;
  exchange->ticket = {};  // the scheduler has forgotten it
  exchange->flight->make_room();
}

}  // namespace penstock::proxy
