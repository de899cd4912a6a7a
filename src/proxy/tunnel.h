// SPDX-License-Identifier: Apache-2.0
// A CONNECT between take-off and landing: dial, say 200, then pass bytes both ways until both sides have closed. Reads
// along until the end of the client's hello, and changes nothing.
#pragma once

#include <memory>

#include "loop/stream.h"
#include "penstock/snapshot.h"
#include "proxy/dialling.h"
#include "proxy/exchange.h"
#include "proxy/journey.h"
#include "proxy/passage.h"
#include "proxy/services.h"

namespace penstock::proxy {

class Dispatcher;

class Tunnel final : public Journey, private DiallingEvents {
 public:
  /// Counts itself and its bytes in `all`.
  Tunnel(const Services& services, Dispatcher& dispatcher, Exchange& exchange, TunnelTotals& all);

  void take_off() override { dialling_.start(); }
  void go_on() override { passage_.go_on(); }
  void make_room() override { passage_.make_room(Passage::kRested); }
  void keep_time() override { passage_.is_open() ? passage_.keep_time() : dialling_.keep_time(); }
  void break_off(const http::Refusal& refusal) override;
  bool answered() const override { return passage_.is_open(); }
  int status() const override { return answered() ? 200 : 0; }
  void describe(Event& event) const override { passage_.describe(event); }

 private:
  void on_dialled(std::unique_ptr<loop::Stream> upstream) override;
  void on_not_dialled(const http::Refusal& refusal) override;

  const Services& services_;
  Dispatcher& dispatcher_;
  Exchange& exchange_;
  Dialling dialling_;
  Passage passage_;
};

}  // namespace penstock::proxy
