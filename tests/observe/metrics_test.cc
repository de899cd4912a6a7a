// SPDX-License-Identifier: Apache-2.0
// What /metrics says after given events and states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "observe/metrics_text.h"

namespace penstock::observe {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Metrics, outcomes_are_there_from_the_start_at_zero_for_every_label) {
  const std::string text = Metrics{two_upstreams()}.text();
  for (const char* upstream : {"*", "github", "discord"}) {
    for (const char* outcome :
         {"success", "http_error", "upstream_error", "client_gone", "client_gone_pending", "refused"}) {
      EXPECT_EQ(value_of(text, std::string{"penstock_requests_total{outcome=\""} + outcome + "\",upstream=\"" +
                                   upstream + "\"}"),
                0)
          << outcome << " " << upstream;
    }
  }
}

/// The entries that a proxy tells of, by their names.
Snapshot entries(std::initializer_list<std::pair<const char*, std::size_t>> all) {
  Snapshot snapshot;
  for (const auto& [name, entry] : all) snapshot.upstreams.push_back({.name = name, .entry = entry});
  return snapshot;
}

TEST(Metrics, of_an_upstream_stay_with_its_name_and_go_with_it) {
  Config config = two_upstreams();
  config.upstreams[0].settings.limits = {{PacerConfig{.qps = 5}}, {CounterConfig{.max = 5, .period = 1s}}};
  Metrics metrics{config};
  metrics.record(event(EventKind::complete, Outcome::success, 1));
  config.upstreams[0].settings.limits = {{PacerConfig{.qps = 7}}};
  config.upstreams[0].settings.max_concurrent = 3;
  config.upstreams[1].name = "new";
  metrics.change(config, entries({{"github", 2}, {"new", 1}, {"discord", 3}}));
  metrics.record(event(EventKind::complete, Outcome::success, 2));
  metrics.record(event(EventKind::complete, Outcome::success, 3));
  std::string text = metrics.text();
  EXPECT_EQ(value_of(text, "penstock_requests_total{outcome=\"success\",upstream=\"github\"}"), 2);
  EXPECT_EQ(value_of(text, "penstock_requests_total{outcome=\"success\",upstream=\"discord\"}"), 1) << "still there";
  EXPECT_EQ(value_of(text, "penstock_max_concurrent{upstream=\"github\"}"), 3);
  EXPECT_EQ(value_of(text, "penstock_limit_rate{limit=\"pacer\",upstream=\"github\"}"), 7);
  EXPECT_EQ(text.find("counter\",upstream"), std::string::npos);
  metrics.change(config, entries({{"github", 2}, {"new", 1}}));
  text = metrics.text();
  EXPECT_EQ(text.find("discord"), std::string::npos);
  EXPECT_EQ(value_of(text, "penstock_requests_total{outcome=\"success\",upstream=\"github\"}"), 2);
  config.upstreams.clear();
  metrics.change(config, {});
  EXPECT_EQ(metrics.text().find("github"), std::string::npos);
}

TEST(Metrics, count_reloads_by_their_result) {
  Metrics metrics{two_upstreams()};
  EXPECT_EQ(value_of(metrics.text(), "penstock_config_reloads_total{result=\"failed\"}"), 0);
  metrics.reloaded(true);
  metrics.reloaded(true);
  metrics.reloaded(false);
  EXPECT_EQ(value_of(metrics.text(), "penstock_config_reloads_total{result=\"success\"}"), 2);
  EXPECT_EQ(value_of(metrics.text(), "penstock_config_reloads_total{result=\"failed\"}"), 1);
}

TEST(Metrics, settings_are_gauges_of_their_own) {
  const std::string text = Metrics{two_upstreams()}.text();
  EXPECT_EQ(value_of(text, R"(penstock_max_concurrent{upstream="github"})"), 20);
  EXPECT_EQ(value_of(text, R"(penstock_max_concurrent{upstream="*"})"), 16);
  EXPECT_EQ(value_of(text, R"(penstock_max_pending{upstream="github"})"), 50);
  EXPECT_EQ(value_of(text, R"(penstock_max_wait_seconds{upstream="github"})"), 2);
}

TEST(Metrics, every_outcome_counts_as_itself) {
  Metrics metrics{two_upstreams()};
  metrics.record(event(EventKind::complete, Outcome::success));
  metrics.record(event(EventKind::complete, Outcome::http_error));
  metrics.record(event(EventKind::error, Outcome::upstream_error));
  metrics.record(event(EventKind::error, Outcome::client_gone));
  metrics.record(event(EventKind::gone, Outcome::client_gone_pending));
  metrics.record(event(EventKind::refused, Outcome::refused));
  metrics.record(event(EventKind::refused, Outcome::refused));
  metrics.record(event(EventKind::dispatch, Outcome::none));
  const std::string text = metrics.text();
  for (const char* outcome : {"success", "http_error", "upstream_error", "client_gone", "client_gone_pending"}) {
    EXPECT_EQ(value_of(text, std::string{"penstock_requests_total{outcome=\""} + outcome + "\",upstream=\"github\"}"),
              1)
        << outcome;
  }
  EXPECT_EQ(value_of(text, R"(penstock_requests_total{outcome="refused",upstream="github"})"), 2);
}

TEST(Metrics, responses_are_counted_by_code_and_refusals_by_kind) {
  Metrics metrics{two_upstreams()};
  Event answered = event(EventKind::complete, Outcome::success);
  answered.status = 204;
  metrics.record(answered);
  metrics.record(answered);
  Event refused = event(EventKind::refused, Outcome::refused);
  refused.status = 503;
  refused.refusal = "queue_full";
  metrics.record(refused);
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, R"(penstock_responses_total{code="204",upstream="github"})"), 2);
  EXPECT_EQ(value_of(text, R"(penstock_responses_total{code="503",upstream="github"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_refusals_total{kind="queue_full",upstream="github"})"), 1);
}

TEST(Metrics, count_what_the_upstream_turned_away_apart_from_what_we_did) {
  Metrics metrics{two_upstreams()};
  const auto turned_away = [&](int code) {
    return value_of(metrics.text(),
                    "penstock_upstream_refusals_total{code=\"" + std::to_string(code) + "\",upstream=\"github\"}");
  };
  for (const int code : {429, 503, 529}) EXPECT_EQ(turned_away(code), 0) << "a rate needs a value before the first";
  Event answered = event(EventKind::complete, Outcome::http_error);
  for (const std::uint16_t status : {429, 503, 529, 500, 404}) {
    answered.status = status;
    answered.refusals = std::span(&status, status == 429 || status > 500 ? 1 : 0);
    metrics.record(answered);
  }
  Event served = event(EventKind::complete, Outcome::success);  // in the end: its client saw none of these
  const std::uint16_t before[]{429, 403};
  served.refusals = before;
  served.unreadable_fields = 2;
  metrics.record(served);
  Event broken = event(EventKind::error, Outcome::client_gone);  // amid the body
  broken.refusals = std::span(before, 1);
  metrics.record(broken);
  Event ours = event(EventKind::error, Outcome::upstream_error);  // no descriptors, say
  ours.status = 503;
  metrics.record(ours);
  Event refused = event(EventKind::refused, Outcome::refused);
  refused.status = 429;
  refused.refusal = "limit_refused";
  metrics.record(refused);
  for (const auto& [code, count] : {std::pair{429, 3}, {503, 1}, {529, 1}, {403, 1}})
    EXPECT_EQ(turned_away(code), count);
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, R"(penstock_rate_limit_fields_unreadable_total{upstream="github"})"), 2);
  EXPECT_THAT(text, Not(HasSubstr(R"(penstock_upstream_refusals_total{code="500")")));
}

TEST(Metrics, count_attempts_after_the_first_by_why_they_were_needed) {
  Metrics metrics{two_upstreams()};
  Event landed = event(EventKind::complete, Outcome::success);
  metrics.record(landed);
  landed.attempts = 4;
  landed.failures = 1;
  metrics.record(landed);
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, R"(penstock_requests_sent_again_total{upstream="github",why="refusal"})"), 2);
  EXPECT_EQ(value_of(text, R"(penstock_requests_sent_again_total{upstream="github",why="failure"})"), 1);
}

TEST(Metrics, departures_are_units_that_left_whether_they_have_landed_or_not) {
  Metrics metrics{two_upstreams()};
  Event off = event(EventKind::dispatch, Outcome::none);
  metrics.record(off);
  off.weight = 5;
  metrics.record(off);
  metrics.record(event(EventKind::complete, Outcome::success));
  metrics.record(event(EventKind::gone, Outcome::client_gone_pending));
  metrics.record(event(EventKind::refused, Outcome::refused));
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_departures_total{upstream="github"})"), 6);
}

TEST(Metrics, a_queue_is_as_full_as_all_upstreams_of_its_quota_make_it) {
  Metrics metrics{two_upstreams()};
  metrics.set({.upstreams = {{.name = "github", .entry = 1, .quota = "q", .pending_in_quota = 40, .pending = 10}}}, 0,
              0);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_fullest_queue_ratio{upstream="github"})"), 0.8);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_pending_requests{upstream="github"})"), 10);
}

TEST(Metrics, whatever_reached_no_upstream_counts_under_the_star) {
  Metrics metrics{two_upstreams()};
  Event malformed = event(EventKind::refused, Outcome::refused, 2);
  malformed.upstream = {};
  malformed.refusal = "malformed";
  metrics.record(malformed);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_refusals_total{kind="malformed",upstream="*"})"), 1);
}

TEST(Metrics, hosts_that_no_entry_names_never_become_labels) {
  Metrics metrics{two_upstreams()};
  metrics.record(event(EventKind::complete, Outcome::success, 0));
  metrics.set({.upstreams = {{.name = "a.example:80"}}}, 0, 0);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("a.example")));
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_requests_total{outcome="success",upstream="*"})"), 1);
}

TEST(Metrics, gauges_of_the_star_are_sums_over_its_upstreams) {
  Metrics metrics{two_upstreams()};
  Snapshot snapshot;
  snapshot.connections = 9;
  snapshot.upstreams = {{.name = "a.example:80", .entry = 0, .pending = 500, .in_flight = 16},
                        {.name = "b.example:80", .entry = 0, .pending = 250, .in_flight = 4},
                        {.name = "github", .entry = 1, .pending = 40, .in_flight = 20}};
  metrics.set(snapshot, 3, 0);
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, R"(penstock_pending_requests{upstream="*"})"), 750);
  EXPECT_EQ(value_of(text, R"(penstock_in_flight_requests{upstream="*"})"), 20);
  EXPECT_EQ(value_of(text, R"(penstock_fullest_queue_ratio{upstream="*"})"), 0.5);
  EXPECT_EQ(value_of(text, R"(penstock_fullest_queue_ratio{upstream="github"})"), 0.8);
  EXPECT_EQ(value_of(text, R"(penstock_pending_requests{upstream="discord"})"), 0);
  EXPECT_EQ(value_of(text, "penstock_connections"), 9);
  EXPECT_EQ(value_of(text, "penstock_events_dropped_total"), 3);
  metrics.set({}, 5, 1);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_pending_requests{upstream="*"})"), 0);
  EXPECT_EQ(value_of(metrics.text(), "penstock_events_dropped_total"), 5);
}

TEST(Metrics, busy_time_rps_and_mean_latency_follow_the_events) {
  Metrics metrics{two_upstreams()};
  for (const std::int64_t second : {100, 110}) {
    Event off = event(EventKind::dispatch, Outcome::none);
    off.at = second * 1'000'000;
    metrics.record(off);
    Event landed = event(EventKind::complete, Outcome::success);
    landed.at = off.at + 250'000;
    landed.flight = 250ms;
    metrics.record(landed);
  }
  metrics.set({}, 0, 120'000'000);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_busy_seconds_total{upstream="github"})"), 0.5);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_rps{upstream="github"})"), 4);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_mean_latency_seconds{upstream="github"})"), 0.25);
  metrics.set({}, 0, 130'000'000);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_busy_seconds_total{upstream="github"})"), 0.5);
}

TEST(Metrics, a_wait_is_observed_once_and_not_for_a_refusal_on_arrival) {
  Metrics metrics{two_upstreams()};
  Event off = event(EventKind::dispatch, Outcome::none);
  off.wait = 1ms;
  metrics.record(off);
  Event landed = event(EventKind::complete, Outcome::success);
  landed.wait = 1ms;
  landed.flight = 40ms;
  landed.first_byte = 30ms;
  metrics.record(landed);
  Event gone = event(EventKind::gone, Outcome::client_gone_pending);
  gone.wait = 20ms;
  metrics.record(gone);
  Event expired = event(EventKind::refused, Outcome::refused);
  expired.wait = 2s;
  metrics.record(expired);
  expired.wait = 0s;
  metrics.record(expired);
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, R"(penstock_wait_seconds_count{upstream="github"})"), 3);
  EXPECT_NEAR(*value_of(text, R"(penstock_wait_seconds_sum{upstream="github"})"), 2.021, 1e-9);
  EXPECT_EQ(value_of(text, R"(penstock_flight_seconds_sum{upstream="github"})"), 0.04);
  EXPECT_EQ(value_of(text, R"(penstock_first_byte_seconds_sum{upstream="github"})"), 0.03);
}

/// As Prometheus reckons it: the bucket that the quantile falls into is filled evenly.
double histogram_quantile(double quantile, const std::string& text, const std::string& series) {
  const std::string start = "\n" + series + "_bucket{upstream=\"github\",le=\"";
  std::vector<std::pair<double, double>> buckets;  // up to, how many
  for (auto at = text.find(start); at != std::string::npos; at = text.find(start, at + 1)) {
    const std::string_view bound = std::string_view(text).substr(at + start.size(), 4);
    buckets.emplace_back(bound == "+Inf" ? HUGE_VAL : std::atof(text.c_str() + at + start.size()),
                         std::atof(text.c_str() + text.find("} ", at) + 2));
  }
  const double rank = quantile * buckets.back().second;
  const auto found = std::ranges::find_if(buckets, [&](const auto& bucket) { return bucket.second >= rank; });
  const auto [lower, before] = found == buckets.begin() ? std::pair(0.0, 0.0) : *std::prev(found);
  return lower + (found->first - lower) * (rank - before) / (found->second - before);
}

TEST(Metrics, a_quantile_of_waits_that_gather_at_one_value_is_near_it) {
  const double widest = std::sqrt(2) * 1.01;  // bounds have three digits
  for (const auto wait : {1ms, 10ms, 100ms, 250ms, 500ms, 1000ms, 2000ms, 5000ms, 10000ms, 29960ms, 30000ms, 60000ms}) {
    Metrics metrics{two_upstreams()};
    Event off = event(EventKind::dispatch, Outcome::none);
    const double truth = std::chrono::duration<double>(wait).count();
    for (int i = 0; i < 100; ++i) {
      off.wait = Duration{wait} * (10'000 + i) / 10'000;  // up to 1 % late
      metrics.record(off);
    }
    for (const double quantile : {0.5, 0.95, 0.99}) {
      const double told = histogram_quantile(quantile, metrics.text(), "penstock_wait_seconds");
      EXPECT_LE(told, truth * widest * 1.01) << wait.count() << " ms " << quantile;
      EXPECT_GE(told, truth / widest) << wait.count() << " ms " << quantile;
    }
  }
}

TEST(Metrics, pauses_and_unreachable_hosts_are_sums_over_the_upstreams_of_a_label) {
  Metrics metrics{two_upstreams()};
  Snapshot snapshot;
  snapshot.upstreams = {{.name = "a.example:80", .pauses = 2},
                        {.name = "b.example:80", .pauses = 1, .unreachable = true}};
  metrics.set(snapshot, 0, 0);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_pauses{upstream="*"})"), 3);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_pauses{upstream="github"})"), 0);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_unreachable{upstream="*"})"), 1);
  EXPECT_EQ(value_of(metrics.text(), R"(penstock_unreachable{upstream="github"})"), 0);
}

TEST(Metrics, tunnels_count_as_requests_but_say_nothing_of_the_upstreams_speed) {
  Metrics metrics{two_upstreams()};
  Event off = event(EventKind::dispatch, Outcome::none);
  off.tunnel = true;
  off.wait = 1ms;
  metrics.record(off);
  Event landed = event(EventKind::complete, Outcome::success);
  landed.tunnel = true;
  landed.at = 60'000'000;
  landed.flight = 60s;
  landed.status = 200;
  metrics.record(landed);
  metrics.set({.tunnels = {.open = 2, .bytes_in = 70, .bytes_out = 30}}, 0, 60'000'000);
  metrics.set({.tunnels = {.open = 1, .bytes_in = 100, .bytes_out = 30}}, 0, 60'000'000);
  const std::string text = metrics.text();
  EXPECT_EQ(value_of(text, R"(penstock_requests_total{outcome="success",upstream="github"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_wait_seconds_count{upstream="github"})"), 1);
  for (const char* none :
       {"flight_seconds_count", "first_byte_seconds_count", "busy_seconds_total", "rps", "mean_latency_seconds"})
    EXPECT_EQ(value_of(text, "penstock_" + std::string(none) + "{upstream=\"github\"}"), 0) << none;
  EXPECT_EQ(value_of(text, "penstock_tunnels"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_tunnel_bytes_total{direction="in"})"), 100);
  EXPECT_EQ(value_of(text, R"(penstock_tunnel_bytes_total{direction="out"})"), 30);
}

TEST(Metrics, requests_for_another_protocol_say_nothing_of_it_either_whatever_became_of_them) {
  for (const bool became_a_tunnel : {true, false}) {
    Metrics metrics{two_upstreams()};
    Event off = event(EventKind::dispatch, Outcome::none);
    off.upgrade = "websocket";
    metrics.record(off);
    Event landed = event(EventKind::complete, Outcome::success);
    landed.upgrade = "websocket";
    landed.tunnel = became_a_tunnel;
    landed.at = 60'000'000;
    landed.flight = 60s;
    landed.status = became_a_tunnel ? 101 : 200;
    metrics.record(landed);
    metrics.set({}, 0, 120'000'000);
    const std::string text = metrics.text();
    EXPECT_EQ(value_of(text, R"(penstock_requests_total{outcome="success",upstream="github"})"), 1);
    for (const char* none : {"flight_seconds_count", "busy_seconds_total", "rps"})
      EXPECT_EQ(value_of(text, "penstock_" + std::string(none) + "{upstream=\"github\"}"), 0) << none;
  }
}

}  // namespace
}  // namespace penstock::observe
