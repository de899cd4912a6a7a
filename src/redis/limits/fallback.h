// SPDX-License-Identifier: Apache-2.0
// Answers asks without Redis, by `whenDown`: with `share` by this process's part of the limits, and with the permits
// that it holds. For shared_limiter.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "flow/limiter.h"
#include "flow/rehearsed_limiter.h"
#include "penstock/config.h"
#include "redis/limits/book_reply.h"
#include "redis/limits/fleet.h"
#include "redis/limits/semaphores.h"
#include "redis/limits/shadow.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class Fallback {
 public:
  /// All must outlive this.
  Fallback(const UpstreamCalls& calls, Shadow& shadow, Semaphores& semaphores, const Fleet& fleet);

  void answer(flow::Time now, const flow::Ask& ask, flow::Booking& booking);
  /// As Limiter::rehearsal(): one that answers by the same rule.
  std::unique_ptr<flow::RehearsedLimiter> rehearsal(flow::Time now, std::span<const std::string_view> groups) const;
  /// Notes what is left of each limit, by which it would go on. `lane` is that of the ask, which took so many units.
  /// Skipped while Redis has not been told of everything that was granted alone.
  void note_left(const BookReply& reply, flow::LaneKey lane, const flow::DepartureSearch::Taken& taken);
  /// Updates the number of processes by which the limits are divided. To be called when Redis goes; then divide().
  void count_sharers();
  /// From now on the limits are kept by this process's part. Only for `share`: by the other rules nothing leaves
  /// without Redis, or everything.
  void divide();
  /// Whether requests wait while this process recovers, by any rule.
  void hold_until_told(bool holds) { holds_ = holds; }
  /// How many flights may go on without a lease.
  std::int64_t permits_left(flow::LimitIndex semaphore) const;

 private:
  WhenDown rule() const;

  const UpstreamCalls& calls_;
  Shadow& shadow_;
  Semaphores& semaphores_;
  const Fleet& fleet_;
  bool holds_ = false;
  int parts_;  // into which limits are divided
};

}  // namespace penstock::redis
