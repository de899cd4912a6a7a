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
#include "proxy/exchange/said_of_limits.h"
#include "proxy/exchange/services.h"
#include "proxy/exchange/spent_words.h"

namespace penstock::proxy {

class Pausing {
 public:
  /// All must outlive this.
  Pausing(const Services& services, std::string_view upstream, const UpstreamSettings& settings,
          flow::Scheduler& scheduler, const std::unique_ptr<flow::Limiter>& limiter);

  /// What is known of an answer that may be a refusal.
  enum class Known : std::uint8_t {
    head,       ///< whether waiting cures it, its body will show: observe() is to be called once more
    curable,    ///< or the body is not asked
    incurable,  ///< it pauses nothing
  };
  /// The final head of the answer to a request in flight.
  struct Answer {
    Known known;
    const http::ResponseHead& head;
    const http::Fields& request;
    const std::string& group;
    std::string_view route;  ///< whose limits it counted in
    const Obey& obey;        ///< what counts of the answer
    flow::Ticket ticket;
    const flow::Departure& departure;
    flow::Time took_off;
    SaidOfLimits& said;  ///< by all answers to the request; what this one says is added

    flow::LaneKey lane() const { return flow::LaneKey(group, route); }
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
  /// The pause that ends last; or one that is over and is being probed.
  std::optional<PauseSnapshot> longest(flow::Time now) const;

 private:
  Found pass(const Answer& answer, flow::Commands& commands);
  void await_judgement(const Answer& answer);
  bool pauses_for_spent(const http::RateLimitWord& word, const Answer& answer);
  Found pause(const http::RateLimitWord& word, const Answer& answer);
  void note(flow::Time until, int status, std::string_view group);
  bool shorten_here(flow::Time now, flow::Time latest, flow::Commands& commands);
  std::string scope_of(const http::Fields& request) const;
  bool has_room_for(flow::Time now, std::string_view scope) const;
  bool by_credentials() const { return settings_.pause_scope == PauseScope::credentials && !settings_.group; }

  const Services& services_;
  const std::string upstream_;
  const UpstreamSettings& settings_;
  flow::Scheduler& scheduler_;
  const std::unique_ptr<flow::Limiter>& limiter_;
  flow::GroupHash hash_;
  flow::Pauses pauses_, of_credentials_;  // that this process was asked for
  struct Last {
    flow::Time until = 0;
    int status = 0;     // of the answer that asked for it
    std::string group;  // empty: of all, or of requests with the same credentials
  };
  Last last_;  // of these, the one that ends last
  SpentWords spent_;
  Learning learning_;
};

}  // namespace penstock::proxy
