// SPDX-License-Identifier: Apache-2.0
// A permit between take-off and landing: the flight is the client's own work, of which nothing passes through here. The
// answer says that the permit is granted. A permit that is held has an answer without an end: it lands when the client
// closes the connection, or dies. One that is not held lands as soon as it is granted.
#pragma once

#include "proxy/exchange/attempt.h"
#include "proxy/exchange/attempt_events.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

class PermitFlight final : public Attempt {
 public:
  PermitFlight(const Services& services, AttemptEvents& events, Exchange& exchange)
      : services_(services), events_(events), exchange_(exchange) {}

  void take_off() override;
  /// No time-out applies: the work takes as long as it takes.
  void keep_time() override {}
  bool ends_with_client() const override { return true; }
  void abort(const http::Refusal& refusal) override;
  AttemptResult result() const override { return {.status = status_}; }

 private:
  const Services& services_;
  AttemptEvents& events_;
  Exchange& exchange_;
  int status_ = 0;  // 0: it is not granted yet
};

}  // namespace penstock::proxy
