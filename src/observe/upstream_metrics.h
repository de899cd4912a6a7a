// SPDX-License-Identifier: Apache-2.0
// The metrics of one `upstream` label: a configured name, or "*" for all hosts that no entry names. The children are
// looked up once, here, so that an event costs only additions. For metrics.cc only.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/families.h"
#include "observe/stopwatch.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "penstock/snapshot.h"

namespace penstock::observe {

/// The present load of all upstreams with one label.
struct Occupancy {
  std::size_t pending = 0;
  std::size_t in_flight = 0;
  std::size_t resting_tunnels = 0;
  std::size_t fullest = 0;  ///< the longest of their queues
  std::size_t pauses = 0;
  HandshakeTotals handshakes;
};

class UpstreamMetrics {
 public:
  UpstreamMetrics(Families& families, std::string label, const UpstreamSettings& settings);
  ~UpstreamMetrics();  ///< removes its series
  UpstreamMetrics(const UpstreamMetrics&) = delete;
  UpstreamMetrics& operator=(const UpstreamMetrics&) = delete;

  const std::string& label() const { return label_; }
  /// Removes the series of limits that are gone.
  void change(const UpstreamSettings& settings);

  void record(const Event& event);
  void set(const Occupancy& occupancy, std::int64_t at);

 private:
  static constexpr std::size_t kOutcomes = 6;
  static constexpr std::size_t kHandshakes = 6;
  static constexpr std::array kRefusing = {429, 503, 529};  // too many requests, unavailable, overloaded
  static constexpr int kFirstCode = 100;
  static constexpr int kCodes = 900;

  void took_off(const Event& event);
  void landed(const Event& event);
  void ended(const Event& event);
  void waited(const Event& event);
  void show(const std::vector<LimitConfig>& limits);
  void show_tunnels(bool limited);
  void show_rates(const std::vector<LimitConfig>& limits);
  void show_handshakes(bool intercepted);
  void count(const HandshakeTotals& now);
  void refused_there(const Event& event);
  prometheus::Counter& response(int code);
  prometheus::Counter& refusal(std::string_view kind);

  Families& families_;
  std::string label_;
  std::size_t max_pending_ = 0;

  std::array<prometheus::Counter*, kOutcomes> requests_{};
  std::array<prometheus::Counter*, kRefusing.size()> upstream_refusals_{};
  std::array<prometheus::Counter*, kCodes> responses_{};                // made when a code is first seen
  std::vector<std::pair<std::string, prometheus::Counter*>> refusals_;  // made when a kind is first seen; a handful
  std::vector<std::pair<std::string, prometheus::Counter*>> limit_waits_;
  std::vector<prometheus::Gauge*> limit_rates_;
  prometheus::Counter* tunnels_past_limits_ = nullptr;          // null without limits
  std::array<prometheus::Counter*, kHandshakes> handshakes_{};  // null unless TLS is intercepted
  prometheus::Gauge& max_pending_shown_;
  prometheus::Gauge& max_wait_;
  prometheus::Gauge& max_concurrent_;
  prometheus::Counter& departures_;
  prometheus::Counter& busy_;
  prometheus::Gauge& pending_;
  prometheus::Gauge& in_flight_;
  prometheus::Gauge& fullest_queue_;
  prometheus::Gauge& pauses_;
  prometheus::Gauge& resting_tunnels_;
  prometheus::Gauge& rps_;
  prometheus::Gauge& mean_latency_;
  prometheus::Histogram& wait_;
  prometheus::Histogram& flight_;
  prometheus::Histogram& first_byte_;

  Stopwatch stopwatch_;
  Duration busy_counted_{0};
  HandshakeTotals handshakes_counted_;
};

}  // namespace penstock::observe
