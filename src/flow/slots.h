// SPDX-License-Identifier: Apache-2.0
// The slots of an upstream: which are taken by requests in flight, and which are held for departures that lanes expect.
// It also knows how long requests hold them, and for how long all were taken. Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "flow/mean_latency.h"
#include "flow/requests.h"

namespace penstock::flow {

class Slots {
 public:
  explicit Slots(std::size_t total) : total_(total) {}
  void resize(std::size_t total) { total_ = total; }

  /// Each request in flight holds a slot, also while it waits to be sent once more.
  std::size_t in_flight() const { return in_flight_; }
  std::size_t busy_tunnels() const { return busy_tunnels_; }
  std::size_t reserved() const { return reserved_; }
  std::size_t held() const { return in_flight_ + reserved_; }
  std::size_t total() const { return total_; }
  std::size_t free() const { return total_ - std::min(total_, held()); }
  /// How many requests fit beside those in flight, whatever is reserved; needs a free slot.
  std::size_t beside_flights() const { return total_ - in_flight_; }
  bool full() const { return in_flight_ >= total_; }

  /// The request takes off, or resumes.
  void take(Time now, Request& request) {
    request.took_off = now;
    took_off_ += now;
    ++in_flight_;
    busy_tunnels_ += request.tunnel ? 1 : 0;
  }
  void leave(const Request& request) {
    took_off_ -= request.took_off;
    --in_flight_;
    busy_tunnels_ -= request.tunnel ? 1 : 0;
  }
  /// Its flight counts in the mean latency. It still holds its slot.
  void landed(Time now, const Request& request) { latency_.landed(now, now - request.took_off); }
  /// A lane that reserved `before` slots reserves `after` now.
  void reserve(std::size_t before, std::size_t after) { reserved_ += after - before; }

  /// How long it takes, by the mean latency, until this many requests have been served.
  Time time_for(Time now, std::size_t requests) const {
    return static_cast<std::int64_t>(requests) * mean_flight(now) / static_cast<std::int64_t>(total_);
  }
  /// The mean latency of the last minute, which is assumed if none has landed.
  Time mean_flight(Time now) const {
    const auto flying = static_cast<std::int64_t>(in_flight_);
    return latency_.mean(now, flying, flying * now - took_off_);
  }
  bool knows_flight(Time now) const { return latency_.known(now); }

  // A clock that runs while all slots are taken and no limit of the upstream itself stops the lanes anyway. Neither
  // condition changes between two calls of the scheduler, but for the end of the stop at `stopped_until`.
  Time full_time(Time now, Time stopped_until) const {
    return full() ? full_time_ + std::max<Time>(0, now - std::max(last_call_, stopped_until)) : full_time_;
  }
  void time_passed(Time now, Time stopped_until) {
    full_time_ = full_time(now, stopped_until);
    last_call_ = now;
  }
  /// What it showed at the last time_passed(): what it shows within a call.
  Time full_time() const { return full_time_; }

 private:
  std::size_t total_;
  std::size_t in_flight_ = 0;
  std::size_t busy_tunnels_ = 0;
  std::size_t reserved_ = 0;
  Time took_off_ = 0;  // sum of the take-off times of those in flight
  MeanLatency latency_;
  Time full_time_ = 0;
  Time last_call_ = 0;
};

}  // namespace penstock::flow
