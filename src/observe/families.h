// SPDX-License-Identifier: Apache-2.0
// The names of all metrics kept in prometheus-cpp, with their help texts and histogram bounds. docs/metrics.md explains
// them. For this room only.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace penstock::observe {

struct Families {
  using Counters = prometheus::Family<prometheus::Counter>;
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Histograms = prometheus::Family<prometheus::Histogram>;

  explicit Families(prometheus::Registry& registry);

  // Per upstream
  Counters& requests;
  Counters& responses;
  Counters& refusals;
  Counters& departures;
  Counters& upstream_refusals;
  Counters& busy;
  Counters& limit_waits;
  Gauges& resting_tunnels;
  Counters& tunnels_past_limits;
  Counters& client_handshakes;
  Gauges& pending;
  Gauges& max_pending;
  Gauges& fullest_queue;
  Gauges& max_wait;
  Gauges& in_flight;
  Gauges& max_concurrent;
  Gauges& limit_rate;
  Gauges& pauses;
  Gauges& rps;
  Gauges& mean_latency;
  Histograms& wait;
  Histograms& flight;
  Histograms& first_byte;
  // For the whole process
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
  Counters& redis_calls;
  Counters& redis_errors;
  Histograms& redis_round_trip;
  Gauges& redis_up;
  Gauges& degraded;
  Gauges& limits_differ;
  Gauges& build_info;
};

/// Bounds in seconds, from 0.6 ms to two and a half minutes, each √2 times the one before: a quantile is off by no
/// more. They lie beside the round values at which waits gather (1 s, 30 s): waits equal to a bound would be reported
/// as the middle of their bucket.
prometheus::Histogram::BucketBoundaries request_bounds();
/// Bounds in seconds, from a tenth of a millisecond to one second: for the loop's lag and round trips to Redis.
prometheus::Histogram::BucketBoundaries lag_bounds();

}  // namespace penstock::observe
