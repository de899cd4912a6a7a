// SPDX-License-Identifier: Apache-2.0
// Makes the booking for a lane from Redis' reply to its ask: maps times to the loop's clock, remembers departures, and
// gives back those that limits of this process do not allow. For shared_limiter.
#pragma once

#include "flow/limiter.h"
#include "redis/limits/book_reply.h"
#include "redis/limits/departure_reports.h"
#include "redis/limits/kept_limits.h"
#include "redis/limits/pending_asks.h"
#include "redis/limits/semaphores.h"
#include "redis/limits/shadow.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class Grants {
 public:
  /// All must outlive this.
  Grants(const UpstreamCalls& calls, Shadow& shadow, KeptLimits& kept, DepartureReports& reports,
         Semaphores& semaphores);

  /// If only permits are needed, permits of flights that landed start waiting lanes of this process: true.
  bool at_hand(flow::Time now, const flow::Ask& ask, flow::Booking& booking);
  /// To be called first with each reply, with its limits named.
  void take_permits(const Asking& asking, const BookReply& reply);
  /// Fills `booking`.
  void book(const Asking& asking, const BookReply& reply, flow::Booking& booking);
  /// The lane no longer waits for this reply: all is given back.
  void take_back(const Asking& asking, const BookReply& reply);
  /// The limits have changed since the ask was sent: the lane keeps what it was granted, and asks again at once where
  /// it was told to wait, or was refused, by limits that no longer exist.
  static void forget_wait(const Asking& asking, flow::Time now, flow::Booking& booking);

 private:
  void decline(const Asking& asking, std::int64_t at, flow::Booking& booking);
  void ask_in_time(flow::Booking& booking) const;

  const UpstreamCalls& calls_;
  Shadow& shadow_;
  KeptLimits& kept_;
  DepartureReports& reports_;
  Semaphores& semaphores_;
};

}  // namespace penstock::redis
