// SPDX-License-Identifier: Apache-2.0
// Resting tunnels: the dispatcher tells the scheduler when a tunnel rests or wants a slot again, and closes tunnels to
// make room for others.
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
