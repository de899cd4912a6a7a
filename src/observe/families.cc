// SPDX-License-Identifier: Apache-2.0
// See families.h. One line per metric.
#include "observe/families.h"

#include <string>

namespace penstock::observe {
namespace {

Counters& counters(prometheus::Registry& registry, const std::string& name, const std::string& help) {
  return prometheus::BuildCounter().Name("penstock_" + name).Help(help).Register(registry);
}

Gauges& gauges(prometheus::Registry& registry, const std::string& name, const std::string& help) {
  return prometheus::BuildGauge().Name("penstock_" + name).Help(help).Register(registry);
}

Histograms& histograms(prometheus::Registry& registry, const std::string& name, const std::string& help) {
  return prometheus::BuildHistogram().Name("penstock_" + name).Help(help).Register(registry);
}

}  // namespace

OutcomeFamilies::OutcomeFamilies(prometheus::Registry& r)
    : requests(counters(r, "requests_total", "Requests by how they ended.")),
      responses(counters(r, "responses_total", "Answers by the status that the client got.")),
      refusals(counters(r, "refusals_total", "Requests answered by Penstock before dispatch, by reason.")),
      upstream_refusals(counters(r, "upstream_refusals_total", "Answers by which the upstream turned a request away.")),
      unreadable(counters(r, "rate_limit_fields_unreadable_total",
                          "Fields of answers that are about limits, and could not be read.")),
      sent_again(counters(r, "requests_sent_again_total",
                          "Attempts after the first, by why the one before was not enough.")) {}

LimitFamilies::LimitFamilies(prometheus::Registry& r)
    : departures(counters(r, "departures_total", "Units that left for the upstream: of each request its weight.")),
      limit_waits(counters(r, "limit_waits_total", "Requests that a limit made wait.")),
      limit_rate(gauges(r, "limit_rate", "Units a second that the limit allows in the long run.")),
      limit_used(gauges(r, "limit_used", "Units of the limit that the next departures cannot have.")),
      limit_capacity(gauges(r, "limit_capacity", "Units of the limit in all.")),
      limit_resets(
          gauges(r, "limit_resets_seconds", "Until the limit's window or period ends, or its bucket is full.")),
      limit_units(counters(r, "limit_units_total", "Units that left in the limit.")),
      would_wait(counters(r, "limit_would_wait_total", "Requests that a limit in shadow mode would have made wait.")),
      would_wait_seconds(counters(r, "limit_would_wait_seconds_total", "For how long it would have, in all.")),
      tunnels_past_limits(counters(r, "tunnels_past_limits_total", "Tunnels of upstreams with limits.")) {}

QueueFamilies::QueueFamilies(prometheus::Registry& r)
    : pending(gauges(r, "pending_requests", "Requests that wait in the queue.")),
      max_pending(gauges(r, "max_pending", "Setting queue.maxPending; for * it holds per host.")),
      fullest_queue(gauges(r, "fullest_queue_ratio", "Pending / maxPending of the fullest upstream of this label.")),
      max_wait(gauges(r, "max_wait_seconds", "Setting queue.maxWait.")),
      in_flight(gauges(r, "in_flight_requests", "Requests dispatched and not yet landed.")),
      max_concurrent(gauges(r, "max_concurrent", "Setting maxConcurrent; for * it holds per host.")),
      pauses(gauges(r, "pauses", "Pauses that the upstream asked for, for itself or a group, and that are not over.")),
      unreachable(gauges(r, "unreachable", "1 once breaker.failures connections failed, until one comes about.")),
      resting_tunnels(gauges(r, "resting_tunnels", "Tunnels open that hold no slot.")) {}

LatencyFamilies::LatencyFamilies(prometheus::Registry& r)
    : busy(counters(r, "busy_seconds_total", "Time with at least one request in flight.")),
      rps(gauges(r, "rps", "Successes per busy second, over the last minute.")),
      mean_latency(gauges(r, "mean_latency_seconds", "Mean flight of successes, over the last minute.")),
      wait(histograms(r, "wait_seconds", "From arrival to take-off, or to leaving the queue.")),
      flight(histograms(r, "flight_seconds", "From take-off to landing.")),
      first_byte(histograms(r, "first_byte_seconds", "From take-off to the final response head.")) {}

UpstreamFamilies::UpstreamFamilies(prometheus::Registry& r)
    : outcomes(r),
      limits(r),
      queue(r),
      latency(r),
      client_handshakes(
          counters(r, "client_handshakes_total", "TLS with clients in the upstream's place, by result.")) {}

ProcessFamilies::ProcessFamilies(prometheus::Registry& r)
    : loop_lag(histograms(r, "loop_lag_seconds", "How late a 10 ms timer of the event loop came.")),
      events_dropped(counters(r, "events_dropped_total", "Lines of the event log that were lost.")),
      config_reloads(counters(r, "config_reloads_total", "Reloads of the configuration, by result.")),
      connections(gauges(r, "connections", "Clients connected, those of tunnels included.")),
      turned_away(counters(r, "connections_refused_total", "Connections of clients beyond a cap, by the cap.")),
      accept_pauses(counters(r, "accept_pauses_total", "Times that file descriptors ran short, and clients waited.")),
      hints_dropped(counters(r, "steering_dropped_total", "Requests whose Penstock-* fields did not count.")),
      authority_end(gauges(r, "intercept_authority_end_timestamp_seconds",
                           "Until when the authority of interception is good, in seconds since 1970.")),
      tunnels(gauges(r, "tunnels", "Tunnels open.")),
      tunnel_bytes(counters(r, "tunnel_bytes_total", "Bytes through tunnels; in: from upstreams, out: to them.")),
      build_info(gauges(r, "build_info", "Always 1; the version is in the label.")),
      config_info(gauges(r, "config_info", "Always 1; the label names the settings in force.")),
      config_loaded(gauges(r, "config_loaded_timestamp_seconds", "When the settings in force came into force.")) {}

RedisFamilies::RedisFamilies(prometheus::Registry& r)
    : calls(counters(r, "redis_calls_total", "Calls to Redis.")),
      errors(counters(r, "redis_errors_total", "Calls to Redis that brought no answer of use, by kind.")),
      round_trip(histograms(r, "redis_round_trip_seconds", "From a call to Redis to its answer.")),
      up(gauges(r, "redis_up", "1 while all of that Redis that is needed answers.")),
      node_up(gauges(r, "redis_node_up", "1 while that Redis or sentinel answers.")),
      degraded(gauges(r, "degraded", "1 while limits go on without Redis, as whenDown says.")),
      limits_differ(gauges(r, "limits_differ", "Upstreams whose limits are others in other processes.")),
      counters_led(gauges(r, "counters_led", "Shared counters that this process resets.")),
      counter_resets(counters(r, "counter_resets_total", "Resets of shared counters by this process.")) {}

prometheus::Histogram::BucketBoundaries request_bounds() {
  // 2^(n/2 + 1/4) ms, to three digits
  return {0.000581, 0.000821, 0.00116, 0.00164, 0.00232, 0.00328, 0.00465, 0.00657, 0.00929, 0.0131,
          0.0186,   0.0263,   0.0372,  0.0526,  0.0743,  0.105,   0.149,   0.21,    0.297,   0.42,
          0.595,    0.841,    1.19,    1.68,    2.38,    3.36,    4.76,    6.73,    9.51,    13.5,
          19,       26.9,     38.1,    53.8,    76.1,    108,     152};
}

prometheus::Histogram::BucketBoundaries lag_bounds() {
  return {0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1};
}

}  // namespace penstock::observe
