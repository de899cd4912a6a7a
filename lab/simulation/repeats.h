// SPDX-License-Identifier: Apache-2.0
// Which refused requests of a simulated process are sent again: the proxy's own policy and its own budget.
#pragma once

#include "http/request_head.h"
#include "http/response_head.h"
#include "penstock/config.h"
#include "proxy/exchange/retry_budget.h"
#include "simulation/plan.h"

namespace penstock::simulation {

class Repeats {
 public:
  explicit Repeats(const Plan& plan);

  /// A request takes off for the first time. Times are the process' own.
  void came(Time now) { budget_.came(now); }
  /// Whether a request that was refused is sent again, after so many attempts.
  bool judge(Time now, Time wall, int attempts, Time deadline);
  Time longest_pause() const { return settings_.max_pause.count(); }

 private:
  UpstreamSettings settings_;
  http::RequestHead request_;
  http::ResponseHead refusal_;
  bool keeps_bodies_ = true;
  proxy::RetryBudget budget_;
};

}  // namespace penstock::simulation
