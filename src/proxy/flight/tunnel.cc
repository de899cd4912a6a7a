// SPDX-License-Identifier: Apache-2.0
// A tunnel from the CONNECT to the 200. relay.cc does the rest.
#include "proxy/flight/tunnel.h"

#include <utility>

#include "proxy/exchange/address_check.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

Tunnel::Tunnel(const Services& services, AttemptEvents& events, Exchange& exchange, OpenTunnels& tunnels)
    : services_(services),
      events_(events),
      exchange_(exchange),
      dialer_(services, exchange, *this),
      relay_(services, events, exchange, tunnels, Relay::After::connect) {}

void Tunnel::on_dialled(std::unique_ptr<loop::Stream> upstream) {
  std::string early;
  auto client = exchange_.sink.hand_over(early);
  exchange_.leaves(services_.loop.now());
  relay_.open(std::move(client), std::move(upstream));
  if (!early.empty()) relay_.pass_from_client(early);
}

void Tunnel::on_not_dialled(const http::Refusal& refusal) { abort(of(exchange_.upstream->name, refusal)); }

void Tunnel::abort(const http::Refusal& refusal) {
  if (relay_.is_open()) return relay_.abort(refusal);
  exchange_.sink.answer_refusal(refusal);
  events_.failed(exchange_, {.why = refusal.why, .details = refusal.details}, result());
}

}  // namespace penstock::proxy
