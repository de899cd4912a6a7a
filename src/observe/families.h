// SPDX-License-Identifier: Apache-2.0
// The names of all metrics kept in prometheus-cpp, with their help texts and histogram bounds, by what they are about.
// docs/metrics.md explains them. For this room only.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>

#include "penstock/duration.h"

namespace penstock::observe {

/// Metrics of time are in seconds.
inline double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

using Counters = prometheus::Family<prometheus::Counter>;
using Gauges = prometheus::Family<prometheus::Gauge>;
using Histograms = prometheus::Family<prometheus::Histogram>;

struct OutcomeFamilies {
  explicit OutcomeFamilies(prometheus::Registry& registry);

  Counters& requests;
  Counters& responses;
  Counters& refusals;
  Counters& upstream_refusals;
  Counters& unreadable;
  Counters& sent_again;
};

struct LimitFamilies {
  explicit LimitFamilies(prometheus::Registry& registry);

  Counters& departures;
  Counters& limit_waits;
  Gauges& limit_rate;
  Gauges& limit_used;
  Gauges& limit_capacity;
  Gauges& limit_resets;
  Counters& limit_units;
  Counters& would_wait;
  Counters& would_wait_seconds;
  Counters& tunnels_past_limits;
};

struct QueueFamilies {
  explicit QueueFamilies(prometheus::Registry& registry);

  Gauges& pending;
  Gauges& max_pending;
  Gauges& fullest_queue;
  Gauges& max_wait;
  Gauges& in_flight;
  Gauges& max_concurrent;
  Gauges& pauses;
  Gauges& unreachable;
  Gauges& resting_tunnels;
};

struct LatencyFamilies {
  explicit LatencyFamilies(prometheus::Registry& registry);

  Counters& busy;
  Gauges& rps;
  Gauges& mean_latency;
  Histograms& wait;
  Histograms& flight;
  Histograms& first_byte;
};

/// With the label `upstream`.
struct UpstreamFamilies {
  explicit UpstreamFamilies(prometheus::Registry& registry);

  OutcomeFamilies outcomes;
  LimitFamilies limits;
  QueueFamilies queue;
  LatencyFamilies latency;
  Counters& client_handshakes;
};

/// Of the whole process.
struct ProcessFamilies {
  explicit ProcessFamilies(prometheus::Registry& registry);

  Histograms& loop_lag;
  Counters& events_dropped;
  Counters& config_reloads;
  Gauges& connections;
  Counters& turned_away;
  Counters& accept_pauses;
  Counters& hints_dropped;
  Gauges& authority_end;
  Gauges& tunnels;
  Counters& tunnel_bytes;
  Gauges& build_info;
  Gauges& config_info;
  Gauges& config_loaded;
};

struct RedisFamilies {
  explicit RedisFamilies(prometheus::Registry& registry);

  Counters& calls;
  Counters& errors;
  Histograms& round_trip;
  Gauges& up;
  Gauges& node_up;
  Gauges& degraded;
  Gauges& limits_differ;
  Gauges& counters_led;
  Counters& counter_resets;
};

/// Bounds in seconds, from 0.6 ms to two and a half minutes, each √2 times the one before: a quantile is off by no
/// more. They lie beside the round values at which waits gather (1 s, 30 s): waits equal to a bound would be reported
/// as the middle of their bucket.
prometheus::Histogram::BucketBoundaries request_bounds();
/// Bounds in seconds, from a tenth of a millisecond to one second: for the loop's lag and round trips to Redis.
prometheus::Histogram::BucketBoundaries lag_bounds();

}  // namespace penstock::observe
