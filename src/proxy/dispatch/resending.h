// SPDX-License-Identifier: Apache-2.0
// What it takes to send a request again: its body and its last answer are kept within caps.pendingMemory, and failures
// are repeated within their budget. Only for the dispatcher, which asks the scheduler.
#pragma once

#include <cstddef>
#include <memory>

#include "flow/limit.h"
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
  /// An answer is held back, and so many bytes of it are in memory. False, and nothing has changed: there is no room.
  bool holds(Exchange& exchange, std::size_t bytes);
  /// An answer is passed on: nothing need be kept.
  void passes_on(Exchange& exchange);

  /// True: the exchange waits again and has the answer, if there was one, instead of that which it had. False: nothing
  /// has changed, and what has come is the request's outcome.
  bool takes_back(Exchange& exchange, Again why, std::unique_ptr<KeptAnswer>& answer);
  /// It waits again; no: because its connection was dead already.
  void waits_again(Exchange& exchange, Again why);
  /// It waits no more. The limit made it wait; kNoLimit: it is not known which.
  void has_waited(Exchange& exchange, flow::LimitIndex limited_by) const;
  /// It takes off again. What it keeps it keeps until an answer is passed on.
  void takes_off_again(Exchange& exchange, flow::LimitIndex limited_by);

 private:
  void charge(Exchange& exchange);
  void keep_body(Exchange& exchange);
  void count_attempt(Exchange& exchange, Again why) const;

  const Services& services_;
  PendingMemory& memory_;
};

}  // namespace penstock::proxy
