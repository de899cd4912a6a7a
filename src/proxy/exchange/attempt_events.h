// SPDX-License-Identifier: Apache-2.0
// What an attempt reports: its end. The dispatcher listens; attempts know it only as this.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "http/refusal.h"
#include "penstock/event.h"
#include "proxy/exchange/attempt.h"
#include "proxy/exchange/kept_answer.h"
#include "proxy/exchange/retry_policy.h"

namespace penstock::proxy {

struct Exchange;

/// Why an attempt failed. `details` is for people.
struct AttemptFailure {
  http::Reason why;
  std::string_view details;
  Outcome outcome = Outcome::upstream_error;
};

class AttemptEvents {
 public:
  // The attempt's end: the exchange and the attempt are gone when these return, except that requeue() keeps the
  // exchange.
  virtual void completed(Exchange& exchange, const AttemptResult& result) = 0;
  virtual void failed(Exchange& exchange, const AttemptFailure& failure, const AttemptResult& result) = 0;
  /// The client moved no byte for too long.
  virtual void stalled(Exchange& exchange, std::string_view details, const AttemptResult& result) = 0;
  /// The request must be sent once more: it has not reached its upstream, or may be repeated.
  virtual void requeue(Exchange& exchange) = 0;
  /// There is a reason to send the request again later. True: it will be, and the attempt is gone. False: nothing has
  /// changed, and the attempt must end in another way. `answer`: what the client gets otherwise; null: what was kept
  /// before, or nothing.
  virtual bool send_again(Exchange& exchange, Again why, std::unique_ptr<KeptAnswer>& answer) = 0;
  /// An answer is held back, and so many bytes of it are in memory. False, and nothing has changed: there is no room.
  virtual bool holds(Exchange& exchange, std::size_t bytes) = 0;
  /// An answer is passed on, so nothing need be kept any more. Called only if Exchange::keeps() something.
  virtual void passes_on(Exchange& exchange) = 0;

 protected:
  ~AttemptEvents() = default;
};

}  // namespace penstock::proxy
