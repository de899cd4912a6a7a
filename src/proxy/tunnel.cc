// SPDX-License-Identifier: Apache-2.0
// From CONNECT to 200; the rest is passage.cc.
#include "proxy/tunnel.h"

#include <utility>

#include "proxy/dispatcher.h"
#include "proxy/judging.h"

namespace penstock::proxy {

Tunnel::Tunnel(const Services& services, Dispatcher& dispatcher, Exchange& exchange, TunnelTotals& all)
    : services_(services),
      dispatcher_(dispatcher),
      exchange_(exchange),
      dialling_(services, exchange, *this),
      passage_(services, dispatcher, exchange, all, Passage::After::connect) {}

void Tunnel::on_dialled(std::unique_ptr<loop::Stream> upstream) {
  std::string early;
  auto client = exchange_.requester.hand_over(early);
  exchange_.leaves(services_.loop.now());
  passage_.open(std::move(client), std::move(upstream));
  if (!early.empty()) passage_.pass_from_client(early);
}

void Tunnel::on_not_dialled(const http::Refusal& refusal) { break_off(of(exchange_.destination->name, refusal)); }

void Tunnel::break_off(const http::Refusal& refusal) {
  if (passage_.is_open()) return passage_.break_off(refusal);
  exchange_.requester.answer_refusal(refusal);
  dispatcher_.failed(exchange_, refusal.why, refusal.details);
}

}  // namespace penstock::proxy
