// SPDX-License-Identifier: Apache-2.0
// See upstream_metrics.h: what each event counts towards.
#include "observe/upstream_metrics.h"

#include <algorithm>

namespace penstock::observe {
namespace {

constexpr std::array kOutcomeNames = {
    std::pair{Outcome::success, "success"},
    std::pair{Outcome::http_error, "http_error"},
    std::pair{Outcome::upstream_error, "upstream_error"},
    std::pair{Outcome::client_gone, "client_gone"},
    std::pair{Outcome::client_gone_pending, "client_gone_pending"},
    std::pair{Outcome::refused, "refused"},
};

constexpr std::array kHandshakeResults = {
    std::pair{&HandshakeTotals::done, "done"},           std::pair{&HandshakeTotals::rejected, "rejected"},
    std::pair{&HandshakeTotals::left, "left"},           std::pair{&HandshakeTotals::failed, "failed"},
    std::pair{&HandshakeTotals::timed_out, "timed_out"}, std::pair{&HandshakeTotals::bypassed, "bypassed"},
};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void observe(prometheus::Histogram& histogram, std::optional<Duration> duration) {
  if (duration) histogram.Observe(seconds(*duration));
}

/// Units a second in the long run; null for limits on requests in flight.
struct Rate {
  std::optional<double> operator()(const PacerConfig& pacer) const { return pacer.qps; }
  std::optional<double> operator()(const WindowConfig& w) const { return w.reservoir / seconds(w.interval); }
  std::optional<double> operator()(const SlidingWindowConfig& w) const { return w.max / seconds(w.interval); }
  std::optional<double> operator()(const TokenBucketConfig& bucket) const {
    return std::min(bucket.refill_amount, bucket.capacity) / seconds(bucket.refill_frequency);
  }
  std::optional<double> operator()(const SemaphoreConfig&) const { return std::nullopt; }
  std::optional<double> operator()(const CounterConfig& counter) const { return counter.max / seconds(counter.period); }
};

/// A tunnel's duration says nothing of the upstream's speed; and at take-off it is unknown whether an upgrade will
/// become a tunnel.
bool measured(const Event& event) { return !event.tunnel && event.upgrade.empty(); }

std::size_t place_of(Outcome outcome) { return static_cast<std::size_t>(outcome) - 1; }

}  // namespace

UpstreamMetrics::UpstreamMetrics(Families& families, std::string label, const UpstreamSettings& settings)
    : families_(families),
      label_(std::move(label)),
      max_pending_shown_(families.max_pending.Add({{"upstream", label_}})),
      max_wait_(families.max_wait.Add({{"upstream", label_}})),
      max_concurrent_(families.max_concurrent.Add({{"upstream", label_}})),
      departures_(families.departures.Add({{"upstream", label_}})),
      busy_(families.busy.Add({{"upstream", label_}})),
      pending_(families.pending.Add({{"upstream", label_}})),
      in_flight_(families.in_flight.Add({{"upstream", label_}})),
      fullest_queue_(families.fullest_queue.Add({{"upstream", label_}})),
      pauses_(families.pauses.Add({{"upstream", label_}})),
      resting_tunnels_(families.resting_tunnels.Add({{"upstream", label_}})),
      rps_(families.rps.Add({{"upstream", label_}})),
      mean_latency_(families.mean_latency.Add({{"upstream", label_}})),
      wait_(families.wait.Add({{"upstream", label_}}, request_bounds())),
      flight_(families.flight.Add({{"upstream", label_}}, request_bounds())),
      first_byte_(families.first_byte.Add({{"upstream", label_}}, request_bounds())) {
  static_assert(kOutcomeNames.size() == kOutcomes);
  for (const auto& [outcome, name] : kOutcomeNames) {
    requests_[place_of(outcome)] = &families.requests.Add({{"upstream", label_}, {"outcome", name}});
  }
  for (std::size_t i = 0; i < kRefusing.size(); ++i) {
    upstream_refusals_[i] =
        &families.upstream_refusals.Add({{"upstream", label_}, {"code", std::to_string(kRefusing[i])}});
  }
  change(settings);
}

UpstreamMetrics::~UpstreamMetrics() {
  show({});
  show_handshakes(false);
  for (const auto& [name, waits] : limit_waits_) families_.limit_waits.Remove(waits);
  for (auto* outcome : requests_) families_.requests.Remove(outcome);
  for (auto* code : upstream_refusals_) families_.upstream_refusals.Remove(code);
  for (auto* code : responses_) {
    if (code) families_.responses.Remove(code);
  }
  for (const auto& [kind, refused] : refusals_) families_.refusals.Remove(refused);
  for (auto [family, gauge] : {std::pair{&families_.max_pending, &max_pending_shown_},
                               {&families_.max_wait, &max_wait_},
                               {&families_.max_concurrent, &max_concurrent_},
                               {&families_.pending, &pending_},
                               {&families_.in_flight, &in_flight_},
                               {&families_.fullest_queue, &fullest_queue_},
                               {&families_.pauses, &pauses_},
                               {&families_.resting_tunnels, &resting_tunnels_},
                               {&families_.rps, &rps_},
                               {&families_.mean_latency, &mean_latency_}}) {
    family->Remove(gauge);
  }
  families_.departures.Remove(&departures_);
  families_.busy.Remove(&busy_);
  families_.wait.Remove(&wait_);
  families_.flight.Remove(&flight_);
  families_.first_byte.Remove(&first_byte_);
}

void UpstreamMetrics::change(const UpstreamSettings& settings) {
  max_pending_ = settings.queue.max_pending;
  max_pending_shown_.Set(static_cast<double>(max_pending_));
  max_wait_.Set(seconds(settings.queue.max_wait));
  max_concurrent_.Set(settings.max_concurrent);
  show(settings.limits);
  show_handshakes(settings.https == Https::intercept);
}

void UpstreamMetrics::show(const std::vector<LimitConfig>& limits) {
  std::vector<std::string> names;
  for (const LimitConfig& limit : limits) names.emplace_back(limit_name(limit));
  for (const char* of_nobody : {"pause", "redis", "maxConcurrent", "maxTunnels"}) names.emplace_back(of_nobody);
  for (const auto& [name, waits] : std::exchange(limit_waits_, {})) {
    if (std::ranges::count(names, name) == 0) families_.limit_waits.Remove(waits);
  }
  for (const auto& name : names) {
    limit_waits_.emplace_back(name, &families_.limit_waits.Add({{"upstream", label_}, {"limit", name}}));
  }
  for (auto* rate : std::exchange(limit_rates_, {})) families_.limit_rate.Remove(rate);
  show_rates(limits);
  show_tunnels(!limits.empty());
}

void UpstreamMetrics::show_tunnels(bool limited) {
  auto*& shown = tunnels_past_limits_;
  if (!limited && shown) families_.tunnels_past_limits.Remove(std::exchange(shown, nullptr));
  if (limited && !shown) shown = &families_.tunnels_past_limits.Add({{"upstream", label_}});
}

void UpstreamMetrics::show_rates(const std::vector<LimitConfig>& limits) {
  for (const LimitConfig& limit : limits) {
    const auto rate = std::visit(Rate{}, limit.kind);
    if (!rate || limit.per != LimitConfig::Per::upstream) continue;
    auto& gauge = families_.limit_rate.Add({{"upstream", label_}, {"limit", std::string{limit_name(limit)}}});
    gauge.Set(*rate);
    limit_rates_.push_back(&gauge);
  }
}

void UpstreamMetrics::show_handshakes(bool intercepted) {
  static_assert(kHandshakeResults.size() == kHandshakes);
  for (std::size_t i = 0; i < kHandshakes; ++i) {
    auto*& shown = handshakes_[i];
    if (!intercepted && shown) families_.client_handshakes.Remove(std::exchange(shown, nullptr));
    if (!intercepted || shown) continue;
    shown = &families_.client_handshakes.Add({{"upstream", label_}, {"result", kHandshakeResults[i].second}});
  }
}

void UpstreamMetrics::count(const HandshakeTotals& now) {
  const HandshakeTotals before = std::exchange(handshakes_counted_, now);
  for (std::size_t i = 0; i < kHandshakes; ++i) {
    const auto result = kHandshakeResults[i].first;
    const auto more = now.*result - (now.*result < before.*result ? 0 : before.*result);  // less: counted again
    if (handshakes_[i]) handshakes_[i]->Increment(static_cast<double>(more));
  }
}

void UpstreamMetrics::record(const Event& event) {
  waited(event);
  switch (event.kind) {
    case EventKind::dispatch: return took_off(event);
    case EventKind::complete:
    case EventKind::error: landed(event); break;
    case EventKind::gone: observe(wait_, event.wait); break;
    case EventKind::refused: refusal(event.refusal).Increment(); break;
  }
  ended(event);
}

/// Counts each request once, where it leaves the queue. A refusal on arrival never waited.
void UpstreamMetrics::waited(const Event& event) {
  const bool left_queue = event.kind == EventKind::dispatch || event.kind == EventKind::gone ||
                          (event.kind == EventKind::refused && event.wait > Duration{0});
  if (!left_queue || event.limited_by.empty()) return;
  const auto limit =
      std::ranges::find(limit_waits_, event.limited_by, [](const auto& one) -> std::string_view { return one.first; });
  if (limit != limit_waits_.end()) limit->second->Increment();
}

void UpstreamMetrics::took_off(const Event& event) {
  if (measured(event)) stopwatch_.took_off(event.at);
  departures_.Increment(event.weight);
  observe(wait_, event.wait);
  if (event.tunnel && tunnels_past_limits_) tunnels_past_limits_->Increment();
}

void UpstreamMetrics::landed(const Event& event) {
  refused_there(event);
  if (!measured(event)) return;
  stopwatch_.landed(event.at);
  observe(flight_, event.flight);
  observe(first_byte_, event.first_byte);
  if (event.outcome == Outcome::success) stopwatch_.succeeded(event.at, event.flight.value_or(Duration{0}));
}

/// Only an answer of the upstream has a first byte: a 503 without one is our own.
void UpstreamMetrics::refused_there(const Event& event) {
  if (!event.first_byte) return;
  const auto code = std::ranges::find(kRefusing, event.status);
  if (code != kRefusing.end()) upstream_refusals_[static_cast<std::size_t>(code - kRefusing.begin())]->Increment();
}

void UpstreamMetrics::ended(const Event& event) {
  // A refusal on arrival never waited: it would make waits look shorter than they are.
  if (event.kind == EventKind::refused && event.wait > Duration{0}) observe(wait_, event.wait);
  if (event.outcome != Outcome::none) requests_[place_of(event.outcome)]->Increment();
  if (event.status >= kFirstCode && event.status < kFirstCode + kCodes) response(event.status).Increment();
}

prometheus::Counter& UpstreamMetrics::response(int code) {
  prometheus::Counter*& counter = responses_[static_cast<std::size_t>(code - kFirstCode)];
  if (!counter) counter = &families_.responses.Add({{"upstream", label_}, {"code", std::to_string(code)}});
  return *counter;
}

prometheus::Counter& UpstreamMetrics::refusal(std::string_view kind) {
  const auto known = std::ranges::find(refusals_, kind, [](const auto& one) -> std::string_view { return one.first; });
  if (known != refusals_.end()) return *known->second;
  prometheus::Counter& made = families_.refusals.Add({{"upstream", label_}, {"kind", std::string{kind}}});
  refusals_.emplace_back(kind, &made);
  return made;
}

void UpstreamMetrics::set(const Occupancy& occupancy, std::int64_t at) {
  count(occupancy.handshakes);
  pending_.Set(static_cast<double>(occupancy.pending));
  in_flight_.Set(static_cast<double>(occupancy.in_flight));
  pauses_.Set(static_cast<double>(occupancy.pauses));
  resting_tunnels_.Set(static_cast<double>(occupancy.resting_tunnels));
  fullest_queue_.Set(max_pending_ == 0 ? 0
                                       : static_cast<double>(occupancy.fullest) / static_cast<double>(max_pending_));
  const Duration busy = stopwatch_.busy(at);
  busy_.Increment(seconds(busy - std::exchange(busy_counted_, busy)));
  const auto [rps, mean_latency] = stopwatch_.last_minute(at);
  rps_.Set(rps);
  mean_latency_.Set(mean_latency);
}

}  // namespace penstock::observe
