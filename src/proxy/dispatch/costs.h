// SPDX-License-Identifier: Apache-2.0
// Requests whose bodies say what they cost, or which group they are of: they enter their lane when enough of the body
// has come, and the limits learn afterwards what they have cost. Only for the dispatcher.
#pragma once

#include <functional>
#include <optional>

#include "http/forwarding.h"
#include "penstock/event.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/pending_memory.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

class Costs {
 public:
  /// Both must outlive this.
  Costs(const Services& services, PendingMemory& memory) : services_(services), memory_(memory) {}

  /// True: the exchange waits for its body, and `enter` is called later, from the loop, unless it ends before. False:
  /// it enters its lane at once.
  bool reads(Exchange& exchange, const http::RequestHints& hints, std::function<void()> enter) const;
  /// More of the body has come.
  void body_came(Exchange& exchange) const;
  /// It enters its lane: says what it costs, and names its group.
  void enters(Exchange& exchange) const;
  /// It ends. If it has taken off, the limits are told what it has cost; `whole`: its answer was not cut short.
  void ends(Exchange& exchange, bool whole);

 private:
  void complain(const Exchange& exchange);

  const Services& services_;
  PendingMemory& memory_;
  std::optional<std::int64_t> complained_;  // when last
};

}  // namespace penstock::proxy
