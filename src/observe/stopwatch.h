// SPDX-License-Identifier: Apache-2.0
// Computes how busy one upstream was, its requests per busy second and its mean latency over a sliding minute. Pure:
// time is an argument, in µs on any monotonic clock. For this room only.
#pragma once

#include <array>
#include <cstdint>

#include "penstock/duration.h"

namespace penstock::observe {

class Stopwatch {
 public:
  /// Over the last 60 seconds, the current one included. Zero if nothing succeeded.
  struct Minute {
    double rps = 0;           ///< successes ÷ seconds with at least one request in flight
    double mean_latency = 0;  ///< seconds: Σ flight of successes ÷ successes
  };

  void took_off(std::int64_t at);
  void landed(std::int64_t at);
  /// Call after landed().
  void succeeded(std::int64_t at, Duration flight);

  /// Total time with at least one request in flight.
  Duration busy(std::int64_t at);
  Minute last_minute(std::int64_t at);

 private:
  static constexpr std::int64_t kSecond = 1'000'000;
  static constexpr std::int64_t kSeconds = 60;

  struct Bucket {
    std::int64_t second = -1;
    std::int64_t busy = 0;
    std::int64_t flight = 0;
    std::uint64_t successes = 0;
  };

  void advance(std::int64_t at);
  Bucket& bucket(std::int64_t second);

  std::array<Bucket, kSeconds> buckets_{};
  std::uint64_t in_flight_ = 0;
  std::int64_t reckoned_to_ = 0;
  std::int64_t busy_ = 0;
};

}  // namespace penstock::observe
