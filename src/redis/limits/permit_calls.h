// SPDX-License-Identifier: Apache-2.0
// What the semaphores of one upstream say to Redis between asks, and hear from it: renewals of leases, and messages
// about permits. For shared_limiter.
#pragma once

#include <string>
#include <string_view>

#include "redis/limits/fleet.h"
#include "redis/limits/permit_leases.h"
#include "redis/limits/upstream_calls.h"
#include "redis/limits/upstream_pauses.h"

namespace penstock::redis {

class PermitCalls {
 public:
  static constexpr std::string_view kMessage = "permits";  ///< begins a message about permits

  /// All must outlive this.
  PermitCalls(UpstreamCalls& calls, PermitLeases& leases, UpstreamPauses& pauses, const Fleet& fleet)
      : calls_(calls), leases_(leases), pauses_(pauses), fleet_(fleet) {}

  /// Also renews a semaphore that is gone, with its former parameters.
  void renew(const SemaphoreName& which, const std::string& told);
  /// " <word> <number> <key>"
  void message(std::string_view words);

 private:
  void renewed(const SemaphoreName& which, const Outcome& outcome, flow::Time told_at);

  UpstreamCalls& calls_;
  PermitLeases& leases_;
  UpstreamPauses& pauses_;
  const Fleet& fleet_;
};

}  // namespace penstock::redis
