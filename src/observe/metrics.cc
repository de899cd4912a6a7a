// SPDX-License-Identifier: Apache-2.0
// See metrics.h. Only this file, families, and the *_metrics files of this room use prometheus-cpp.
#include "observe/metrics.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "observe/families.h"
#include "observe/process_metrics.h"
#include "observe/redis_metrics.h"
#include "observe/upstream_metrics.h"
#include "penstock/quotas.h"

namespace penstock::observe {

struct Metrics::Impl {
  explicit Impl(const Config& config);
  void set_names_of_redis(const Config& config);
  void set_tunnels(const TunnelTotals& now);
  void set_turned_away(const Snapshot& now);
  void set_authority_end(std::optional<std::int64_t> now);
  void set_configuration(const Snapshot& now);
  void add(std::size_t entry, const std::string& label, const UpstreamSettings& settings);
  std::size_t place_of(std::size_t entry) const { return entry < upstreams.size() && upstreams[entry] ? entry : 0; }

  prometheus::Registry registry;
  UpstreamFamilies families{registry};
  ProcessFamilies of_process{registry};
  RedisFamilies of_redis{registry};
  std::vector<std::unique_ptr<UpstreamMetrics>> upstreams;  // by entry: "*", then the configured ones; null if unused
  prometheus::Histogram& loop_lag = of_process.loop_lag.Add({}, lag_bounds());
  prometheus::Counter& events_dropped = of_process.events_dropped.Add({});
  prometheus::Counter& reloads_good = of_process.config_reloads.Add({{"result", "success"}});
  prometheus::Counter& reloads_bad = of_process.config_reloads.Add({{"result", "failed"}});
  prometheus::Gauge& connections = of_process.connections.Add({});
  prometheus::Counter& refused_in_all = of_process.turned_away.Add({{"kind", "connections"}});
  prometheus::Counter& refused_of_client = of_process.turned_away.Add({{"kind", "connectionsPerClient"}});
  prometheus::Counter& accept_pauses = of_process.accept_pauses.Add({});
  prometheus::Counter& hints_dropped = of_process.hints_dropped.Add({});
  struct ConfigMetrics {
    prometheus::Gauge& loaded;
    prometheus::Gauge* info = nullptr;  // null until its hash is known
    std::string hash;                   // its label
  };
  ConfigMetrics configuration{.loaded = of_process.config_loaded.Add({})};
  prometheus::Gauge* authority_end = nullptr;  // null if there is none
  prometheus::Gauge& tunnels = of_process.tunnels.Add({});
  prometheus::Counter& tunnel_bytes_in = of_process.tunnel_bytes.Add({{"direction", "in"}});
  prometheus::Counter& tunnel_bytes_out = of_process.tunnel_bytes.Add({{"direction", "out"}});
  std::map<std::string, RedisMetrics, std::less<>> redis;  // by name
  std::uint64_t dropped_counted = 0;
  TunnelTotals tunnels_counted;
  TurnedAway turned_away_counted;
  std::uint64_t pauses_counted = 0, steering_counted = 0;
};

Metrics::Impl::Impl(const Config& config) {
  add(0, "*", config.unmatched);
  for (const UpstreamConfig& one : config.upstreams) add(upstreams.size(), one.name, effective_settings(config, one));
  set_names_of_redis(config);
  of_process.build_info.Add({{"version", PENSTOCK_VERSION}}).Set(1);
}

void Metrics::Impl::set_names_of_redis(const Config& config) {
  std::erase_if(redis, [&](const auto& known) {
    return std::ranges::find(config.redis, known.first, &RedisConfig::name) == config.redis.end();
  });
  for (const RedisConfig& one : config.redis) redis.try_emplace(one.name, of_redis, one.name);
}

void Metrics::Impl::add(std::size_t entry, const std::string& label, const UpstreamSettings& settings) {
  upstreams.resize(std::max(upstreams.size(), entry + 1));
  upstreams[entry] = std::make_unique<UpstreamMetrics>(families, label, settings);
}

Metrics::Metrics(const Config& config) : impl_(std::make_unique<Impl>(config)) {}

Metrics::~Metrics() = default;

void Metrics::change(const Config& config, const Snapshot& snapshot) {
  impl_->set_names_of_redis(config);
  auto& upstreams = impl_->upstreams;
  std::unordered_map<std::string_view, UpstreamSettings> settings;
  for (const UpstreamConfig& one : config.upstreams) settings[one.name] = effective_settings(config, one);
  std::unordered_map<std::string_view, std::unique_ptr<UpstreamMetrics>> known;
  for (auto& one : std::exchange(upstreams, {})) {
    if (!one) continue;
    const std::string_view label = one->label();
    known[label] = std::move(one);
  }
  upstreams.push_back(std::move(known["*"]));
  upstreams[0]->change(config.unmatched);
  for (const UpstreamSnapshot& one : snapshot.upstreams) {
    if (one.entry == 0) continue;
    const auto its_settings = settings.find(one.name);  // none: the name is gone, but still serves open requests
    const auto before = known.find(one.name);
    if (before == known.end()) {
      if (its_settings != settings.end()) impl_->add(one.entry, one.name, its_settings->second);
      continue;
    }
    upstreams.resize(std::max(upstreams.size(), one.entry + 1));
    upstreams[one.entry] = std::move(before->second);
    if (its_settings != settings.end()) upstreams[one.entry]->change(its_settings->second);
  }
}

void Metrics::record(const Event& event) {
  impl_->upstreams[impl_->place_of(event.upstream.empty() ? 0 : event.entry)]->record(event);
}

void Metrics::reloaded(bool success) { (success ? impl_->reloads_good : impl_->reloads_bad).Increment(); }

void Metrics::loop_lag(Duration late) { impl_->loop_lag.Observe(seconds(late)); }

void Metrics::redis_round_trip(const std::string& redis, Duration took) {
  if (const auto known = impl_->redis.find(redis); known != impl_->redis.end()) known->second.round_trip(took);
}

void Metrics::Impl::set_tunnels(const TunnelTotals& now) {
  const TunnelTotals before = std::exchange(tunnels_counted, now);
  tunnels.Set(static_cast<double>(now.open));
  tunnel_bytes_in.Increment(static_cast<double>(now.bytes_in - before.bytes_in));
  tunnel_bytes_out.Increment(static_cast<double>(now.bytes_out - before.bytes_out));
}

void Metrics::Impl::set_turned_away(const Snapshot& now) {
  const TurnedAway before = std::exchange(turned_away_counted, now.turned_away);
  refused_in_all.Increment(static_cast<double>(now.turned_away.in_all - before.in_all));
  refused_of_client.Increment(static_cast<double>(now.turned_away.of_client - before.of_client));
  const std::uint64_t pauses_before = std::exchange(pauses_counted, now.accept_pauses);
  accept_pauses.Increment(static_cast<double>(now.accept_pauses - pauses_before));
  const std::uint64_t steering_before = std::exchange(steering_counted, now.hints_dropped);
  hints_dropped.Increment(static_cast<double>(now.hints_dropped - steering_before));
}

void Metrics::Impl::set_authority_end(std::optional<std::int64_t> now) {
  if (!now && authority_end) of_process.authority_end.Remove(std::exchange(authority_end, nullptr));
  if (!now) return;
  if (!authority_end) authority_end = &of_process.authority_end.Add({});
  authority_end->Set(static_cast<double>(*now));
}

void Metrics::Impl::set_configuration(const Snapshot& now) {
  configuration.loaded.Set(static_cast<double>(now.loaded_at));
  if (configuration.info && configuration.hash == now.config_hash) return;
  if (configuration.info) of_process.config_info.Remove(configuration.info);
  configuration.hash = now.config_hash;
  configuration.info = &of_process.config_info.Add({{"hash", configuration.hash}});
  configuration.info->Set(1);
}

void Metrics::set(const Snapshot& snapshot, std::uint64_t events_dropped, std::int64_t at) {
  std::vector<Occupancy> occupancies(impl_->upstreams.size());
  for (const UpstreamSnapshot& one : snapshot.upstreams) {
    Occupancy& sum = occupancies[impl_->place_of(one.entry)];
    sum.pending += one.pending;
    sum.in_flight += one.in_flight;
    sum.resting_tunnels += one.resting_tunnels;
    sum.fullest = std::max({sum.fullest, one.pending, one.pending_in_quota});
    sum.pauses += one.pauses;
    sum.unreachable += one.unreachable ? 1 : 0;
    if (one.entry != 0) sum.handshakes = one.handshakes;
    impl_->upstreams[impl_->place_of(one.entry)]->note(one);
  }
  for (std::size_t entry = 0; entry < occupancies.size(); ++entry) {
    if (impl_->upstreams[entry]) impl_->upstreams[entry]->set(occupancies[entry], at);
  }
  for (const RedisSnapshot& one : snapshot.redis) {
    if (const auto known = impl_->redis.find(one.name); known != impl_->redis.end()) known->second.set(one);
  }
  impl_->connections.Set(static_cast<double>(snapshot.connections));
  impl_->set_tunnels(snapshot.tunnels);
  impl_->set_turned_away(snapshot);
  impl_->set_authority_end(snapshot.authority_end);
  impl_->set_configuration(snapshot);
  const std::uint64_t before = std::exchange(impl_->dropped_counted, events_dropped);
  impl_->events_dropped.Increment(static_cast<double>(events_dropped - before));
}

std::string Metrics::text() const {
  std::vector<prometheus::MetricFamily> families = impl_->registry.Collect();
  std::ranges::move(process_metrics(), std::back_inserter(families));
  // prometheus-cpp keeps series in a hash map; in order they are easier to read.
  for (prometheus::MetricFamily& family : families) {
    std::ranges::sort(family.metric, {}, &prometheus::ClientMetric::label);
  }
  return prometheus::TextSerializer{}.Serialize(families);
}

}  // namespace penstock::observe
