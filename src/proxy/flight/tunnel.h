// SPDX-License-Identifier: Apache-2.0
// A CONNECT between take-off and landing: dial the upstream, answer 200, then copy bytes both ways until both sides
// have closed. Parses the client's TLS hello as it passes, and changes no byte.
#pragma once

#include <memory>

#include "loop/stream.h"
#include "proxy/exchange/attempt.h"
#include "proxy/exchange/attempt_events.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/open_tunnels.h"
#include "proxy/exchange/services.h"
#include "proxy/flight/dialer.h"
#include "proxy/flight/relay.h"

namespace penstock::proxy {

class Tunnel final : public Attempt, private DialerEvents {
 public:
  /// The tunnel is one of `tunnels` once it is open.
  Tunnel(const Services& services, AttemptEvents& events, Exchange& exchange, OpenTunnels& tunnels);

  void take_off() override { dialer_.start(); }
  void go_on() override { relay_.go_on(); }
  void make_room() override { relay_.make_room(Relay::kRested); }
  void keep_time() override { relay_.is_open() ? relay_.keep_time() : dialer_.keep_time(); }
  void abort(const http::Refusal& refusal) override;
  AttemptResult result() const override { return relay_.result(); }

 private:
  void on_dialled(std::unique_ptr<loop::Stream> upstream) override;
  void on_not_dialled(const http::Refusal& refusal) override;

  const Services& services_;
  AttemptEvents& events_;
  Exchange& exchange_;
  Dialer dialer_;
  Relay relay_;
};

}  // namespace penstock::proxy
