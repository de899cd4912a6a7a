// SPDX-License-Identifier: Apache-2.0
// Which departures Redis granted, read from its answers on their way to the daemons. They have Redis' own times: what
// is said of them is exact, however late a busy machine lets the requests themselves arrive.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "system/redis_stage.h"

struct redisReply;

namespace penstock::trial {

class Bookings {
 public:
  using Times = std::vector<Arrivals::Time>;

  /// Hears whoever connects to port() instead of Redis' own.
  explicit Bookings(std::uint16_t redis) : relay_(redis, [this] { return new_ear(); }) {}

  std::uint16_t port() const { return relay_.port(); }
  /// In order of time.
  Times times() const;
  /// How many were granted of each window.
  std::vector<std::size_t> per_window(Clock::duration length) const;
  /// In any stretch of time at most so many, and so many at once.
  void expect_paced(double a_second, double at_once) const;
  std::size_t count() const;
  bool await(std::size_t count) const;

 private:
  Relay::Ear new_ear();
  void note(const redisReply& reply);

  mutable std::mutex mutex_;
  Times granted_;
  Relay relay_;
};

/// A daemon that is late on a busy machine must not take Redis for dead: it would go on alone.
Shared patiently(std::string_view limits, std::string_view when_down = "share");

/// Daemons under full load, of which each knows of the others, and what Redis grants them.
struct AtWork : SharedStage {
  /// For each daemon by how many seconds its system clock is wrong.
  AtWork(Shared given, std::vector<int> clocks, int clients_each);

  /// One more, whose configuration may be another one.
  void join(Shared by);
  /// A window has begun, and so many departures of it are granted.
  void await_window(Clock::duration length, std::size_t count) const;
  /// All requests were answered by the origin, and none left before its time: the k-th came no sooner than the k-th
  /// departure was granted.
  void expect_all_served_in_their_time();

  Bookings bookings{redis.port()};
  std::unique_ptr<Load> load;
};

}  // namespace penstock::trial
