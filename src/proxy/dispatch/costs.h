// SPDX-License-Identifier: Apache-2.0
// Requests whose bodies say what they cost, or which group they are of: they enter their lane when enough of the body
// has come, and the limits learn afterwards what they have cost. Only for the dispatcher.
#pragma once

#include <cstdint>
#include <functional>

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
  /// The settings have changed. If it is in no queue yet, it is read by the new ones.
  static void changed(Exchange& exchange);
  /// How much of an answer has come.
  enum class Answer : std::uint8_t { nothing, in_part, whole };
  /// Its attempt ends, and it may be sent once more: the limits are told what that attempt has cost. One that has not
  /// left has cost nothing.
  void attempt_ends(Exchange& exchange, Answer answer) const;

 private:
  void complain(Upstream& upstream) const;

  const Services& services_;
  PendingMemory& memory_;
};

}  // namespace penstock::proxy
