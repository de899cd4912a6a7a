// SPDX-License-Identifier: Apache-2.0
// What it takes to send a request again: its body and its last answer are kept within caps.pendingMemory, and failures
// are repeated within their budget. Only for the dispatcher, which asks the scheduler.
#pragma once

#include <memory>

#include "proxy/exchange/exchange.h"
#include "proxy/exchange/kept_answer.h"
#include "proxy/exchange/pending_memory.h"
#include "proxy/exchange/retry_policy.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

class Resending {
 public:
  Resending(const Services& services, PendingMemory& memory) : services_(services), memory_(memory) {}

  /// The exchange takes off for the first time; it is charged nothing.
  void takes_off(Exchange& exchange);
  /// More of the body has come after the take-off.
  void body_came(Exchange& exchange);
  /// Whether more of the body may come while the request waits again.
  bool wants_body(const Exchange& exchange) const;
  /// The request will not be sent again: its body need not be kept.
  void forget_body(Exchange& exchange);

  /// True: the exchange waits again and has the answer, if there was one. False: nothing has changed, and what has come
  /// is the request's outcome.
  bool takes_back(Exchange& exchange, Again why, std::unique_ptr<KeptAnswer>& answer);
  /// It takes off again.
  void takes_off_again(Exchange& exchange);

 private:
  void keep_body(Exchange& exchange);
  bool has_room_for(Exchange& exchange, std::size_t bytes);

  const Services& services_;
  PendingMemory& memory_;
};

}  // namespace penstock::proxy
