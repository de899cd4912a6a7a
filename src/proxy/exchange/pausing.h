// SPDX-License-Identifier: Apache-2.0
// The pauses that answers of one upstream ask for: which requests each stops and for how long, and what the limiter and
// other processes are told of it. A pause is of the upstream, or of a group where there are groups. Where the settings
// say so it is of the requests with the same credentials, whose quota is spent; while it lasts, these wait in a lane of
// their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "flow/group_hash.h"
#include "flow/limiter.h"
#include "flow/pauses.h"
#include "flow/scheduler.h"
#include "http/fields.h"
#include "http/rate_limit_fields.h"
#include "http/response_head.h"
#include "penstock/config.h"
#include "penstock/snapshot.h"
#include "proxy/exchange/learning.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

/// Whether the field counts by which an upstream serves a request and tells that nothing remains. The field is wrong if
/// a request that was sent later is served before the reset that the field named.
class SpentWords {
 public:
  bool counts(flow::Time now) const { return now >= ignored_until_; }
  void begin(flow::Time now, flow::Time reset) { since_ = now, reset_ = reset; }
  /// The answer to a request that took off then has the field again. True: it is wrong, and ignored for an hour.
  bool disproved(flow::Time now, flow::Time took_off) {
    const bool wrong = now < reset_ && took_off > since_;
    if (wrong) ignored_until_ = now + kIgnored;
    return wrong;
  }

 private:
  static constexpr flow::Time kIgnored = 3'600'000'000;
  flow::Time since_ = 0, reset_ = 0, ignored_until_ = 0;
};

class Pausing {
 public:
  /// All must outlive this.
  Pausing(const Services& services, std::string_view upstream, const UpstreamSettings& settings,
          flow::Scheduler& scheduler, const std::unique_ptr<flow::Limiter>& limiter);

  /// The final head of the answer to a request in flight.
  struct Answer {
    const http::ResponseHead& head;
    const http::Fields& request;
    const std::string& group;
    flow::Ticket ticket;
    const flow::Departure& departure;
  };
  enum class Found { nothing, something, paused_scope };
  /// `paused_scope`: waiting requests with the paused credentials are to be moved to their lane, see lane_of().
  Found observe(const Answer& answer, flow::Commands& commands);
  /// Other processes tell of a pause.
  Found hear(flow::Time now, const flow::PauseNews& news, flow::Commands& commands);

  /// All pauses end at `latest` at the latest, here and in other processes. True: some were to end later, as far as
  /// this process knows.
  bool shorten(flow::Time now, flow::Time latest, flow::Commands& commands);
  /// The settings have changed: those that this forbids end, those that are longer than they may be now get shorter.
  void change(flow::Time now, const UpstreamSettings& before, flow::Commands& commands);

  /// The lane in which a request waits: that of its group, or of its credentials while a pause of these lasts.
  std::string lane_of(const http::Fields& request, const std::string& group) const;

  /// There is a new limiter: it is told of the pauses that last.
  void tell_limiter(flow::Time now) const;
  std::size_t count(flow::Time now) const { return pauses_.count(now) + of_credentials_.count(now); }
  /// The pause that ends last, if any lasts.
  std::optional<PauseSnapshot> longest(flow::Time now) const;

 private:
  bool pauses_for_spent(const http::RateLimitWord& word, const Answer& answer);
  Found pause(const http::RateLimitWord& word, const Answer& answer);
  bool shorten_here(flow::Time now, flow::Time latest, flow::Commands& commands);
  std::string scope_of(const http::Fields& request) const;
  bool has_room_for(flow::Time now, std::string_view scope) const;
  bool by_credentials() const { return settings_.pause_scope == PauseScope::credentials && !settings_.group; }

  const Services& services_;
  const std::string upstream_;
  const UpstreamSettings& settings_;
  flow::Scheduler& scheduler_;
  const std::unique_ptr<flow::Limiter>& limiter_;
  const flow::GroupHash hash_;
  flow::Pauses pauses_, of_credentials_;  // that this process was asked for
  int status_ = 0;                        // of the answer that last asked for one
  SpentWords spent_;
  Learning learning_;
};

}  // namespace penstock::proxy
