// SPDX-License-Identifier: Apache-2.0
// Everything that /metrics says, kept with prometheus-cpp. Children are resolved once per configured upstream, never
// per request: labels come from configured names only. record() and set() on the loop's thread, text() on any.
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

  /// Adopts a new configuration. `snapshot` tells which entry each name has now: a series stays with its name, and is
  /// removed if the name is gone.
  void change(const Config& config, const Snapshot& snapshot);

  void record(const Event& event);
  /// Sets the gauges from the state at a scrape. `at` is µs on the loop's monotonic clock, as in Event.
  void set(const Snapshot& snapshot, std::uint64_t events_dropped, std::int64_t at);
  /// Counts an attempt to reload the configuration.
  void reloaded(bool success);
  /// How late a 10 ms timer of the loop came.
  void loop_lag(Duration late);
  /// Records an answered call to the Redis of that name.
  void redis_round_trip(const std::string& redis, Duration took);
  /// Prometheus text format 0.0.4, with process_* read from /proc. May take milliseconds: call it off the loop.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::observe
