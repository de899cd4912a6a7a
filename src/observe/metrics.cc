// SPDX-License-Identifier: Apache-2.0
// See metrics.h. With upstream_metrics, families and process_metrics the only place that knows of prometheus-cpp.
#include "observe/metrics.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "observe/families.h"
#include "observe/process_metrics.h"
#include "observe/redis_metrics.h"
#include "observe/upstream_metrics.h"

namespace penstock::observe {

struct Metrics::Inside {
  explicit Inside(const Config& config);
  void set_tunnels(const TunnelTotals& now);
  UpstreamMetrics& labelled(std::size_t entry) { return upstreams[entry < upstreams.size() ? entry : 0]; }

  prometheus::Registry registry;
  Families families{registry};
  std::vector<UpstreamMetrics> upstreams;  // by entry: "*", then the configured ones
  prometheus::Histogram& loop_lag = families.loop_lag.Add({}, lag_bounds());
  prometheus::Counter& events_dropped = families.events_dropped.Add({});
  prometheus::Gauge& connections = families.connections.Add({});
  prometheus::Gauge& tunnels = families.tunnels.Add({});
  prometheus::Counter& tunnel_bytes_in = families.tunnel_bytes.Add({{"direction", "in"}});
  prometheus::Counter& tunnel_bytes_out = families.tunnel_bytes.Add({{"direction", "out"}});
  std::optional<RedisMetrics> redis;  // where one is configured
  std::uint64_t dropped_counted = 0;
  TunnelTotals tunnels_counted;
};

Metrics::Inside::Inside(const Config& config) {
  upstreams.reserve(config.upstreams.size() + 1);
  upstreams.emplace_back(families, "*", config.unmatched);
  for (const UpstreamConfig& one : config.upstreams) upstreams.emplace_back(families, one.name, one.settings);
  if (config.redis) redis.emplace(families);
  families.build_info.Add({{"version", PENSTOCK_VERSION}}).Set(1);
}

Metrics::Metrics(const Config& config) : inside_(std::make_unique<Inside>(config)) {}

Metrics::~Metrics() = default;

void Metrics::record(const Event& event) { inside_->labelled(event.upstream.empty() ? 0 : event.entry).record(event); }

void Metrics::loop_lag(Duration late) { inside_->loop_lag.Observe(std::chrono::duration<double>(late).count()); }

void Metrics::redis_round_trip(Duration took) {
  if (inside_->redis) inside_->redis->round_trip(took);
}

void Metrics::Inside::set_tunnels(const TunnelTotals& now) {
  const TunnelTotals before = std::exchange(tunnels_counted, now);
  tunnels.Set(static_cast<double>(now.open));
  tunnel_bytes_in.Increment(static_cast<double>(now.bytes_in - before.bytes_in));
  tunnel_bytes_out.Increment(static_cast<double>(now.bytes_out - before.bytes_out));
}

void Metrics::set(const Snapshot& snapshot, std::uint64_t events_dropped, std::int64_t at) {
  std::vector<Occupancy> occupancies(inside_->upstreams.size());
  for (const UpstreamSnapshot& one : snapshot.upstreams) {
    Occupancy& sum = occupancies[one.entry < occupancies.size() ? one.entry : 0];
    sum.pending += one.pending;
    sum.in_flight += one.in_flight;
    sum.fullest = std::max(sum.fullest, one.pending);
    sum.holds += one.holds;
  }
  for (std::size_t entry = 0; entry < occupancies.size(); ++entry)
    inside_->upstreams[entry].set(occupancies[entry], at);
  if (inside_->redis && snapshot.redis) inside_->redis->set(*snapshot.redis);
  inside_->connections.Set(static_cast<double>(snapshot.connections));
  inside_->set_tunnels(snapshot.tunnels);
  const std::uint64_t before = std::exchange(inside_->dropped_counted, events_dropped);
  inside_->events_dropped.Increment(static_cast<double>(events_dropped - before));
}

std::string Metrics::text() const {
  std::vector<prometheus::MetricFamily> families = inside_->registry.Collect();
  std::ranges::move(process_metrics(), std::back_inserter(families));
  // prometheus-cpp keeps series in a hash map; people read them better in order.
  for (prometheus::MetricFamily& family : families) {
    std::ranges::sort(family.metric, {}, &prometheus::ClientMetric::label);
  }
  return prometheus::TextSerializer{}.Serialize(families);
}

}  // namespace penstock::observe
