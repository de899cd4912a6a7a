// SPDX-License-Identifier: Apache-2.0
// Everything /metrics says, kept with prometheus-cpp. Children are resolved once per configured upstream, never per
// request: labels come from configured names only. record() and set() on the loop's thread, text() on any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "penstock/config.h"
#include "penstock/event.h"
#include "penstock/snapshot.h"

namespace penstock::observe {

class Metrics {
 public:
  /// One label per entry: "*" and then the configured names.
  explicit Metrics(const Config& config);
  ~Metrics();

  /// The configuration is another one. `snapshot` tells which name has which entry now: series stay with their name,
  /// and go with one that is not there any more.
  void change(const Config& config, const Snapshot& snapshot);

  void record(const Event& event);
  /// The gauges, from the state at the moment of a scrape. `at` is µs on the loop's monotonic clock, as in Event.
  void set(const Snapshot& snapshot, std::uint64_t events_dropped, std::int64_t at);
  /// Of a configuration that was to replace another.
  void reloaded(bool success);
  /// How late a 10 ms timer of the loop came.
  void loop_lag(Duration late);
  /// Of one call to Redis that was answered.
  void redis_round_trip(Duration took);
  /// Prometheus text format 0.0.4, with process_* read from /proc. May take milliseconds: call it off the loop.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::observe
