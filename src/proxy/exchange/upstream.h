// SPDX-License-Identifier: Apache-2.0
// One upstream: its scheduler with its limiter and timers, its groups, its settings and its totals. Starts nothing by
// itself; the dispatcher does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "flow/late_departures.h"
#include "flow/pauses.h"
#include "flow/scheduler.h"
#include "http/refusal.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "penstock/snapshot.h"
#include "proxy/exchange/queue_shares.h"
#include "proxy/exchange/services.h"
#include "proxy/exchange/taken_departure.h"
#include "proxy/route/grouping.h"

namespace penstock::proxy {

class Upstream;

/// Which requests a pause holds back: all, or only those without credentials.
enum class Pausing : std::uint8_t { all, anonymous };

class UpstreamOwner {
 public:
  using Change = std::function<void(flow::Time now, flow::Commands&)>;
  /// Applies `change` to the upstream's scheduler at the current time; the commands are then to be carried out.
  virtual void move(Upstream& upstream, const Change& change) = 0;
  /// Ends `count` flights: of the whole upstream, or of the group.
  virtual void cut(Upstream& upstream, flow::Booking::Scope scope, std::string_view group, std::size_t count) = 0;

 protected:
  ~UpstreamOwner() = default;
};

class Upstream final : public flow::LimiterEvents {
 public:
  Upstream(const Services& services, std::string its_name, std::size_t its_entry, const UpstreamSettings& its_settings,
           UpstreamOwner& owner);

  /// Applies new settings, and the pool that the services have for them. Afterwards call renumber() for each of the
  /// upstream's exchanges, then renumbered(), then carry out `commands`.
  void change(flow::Time now, const UpstreamSettings& its_settings);
  /// The refusal if a request may not cost `weight` units; nullopt: it may.
  std::optional<http::Refusal> judge_weight(int weight) const;
  /// Adapts limit numbers and epoch to the last change, which may have renumbered the limits.
  void renumber(flow::LimitIndex& limited_by, TakenDeparture& departure) const;
  /// To be called after renumber() was called for every exchange; later ones have the new numbers.
  void renumbered();

  /// A request has departed. Until it leaves, limits that look back count it as if it left now.
  void watch_late() {
    if (looks_back_ == 0) return;
    const flow::Time due = late.due_for_newest(looks_back_, *limiter);
    if (!late_timer_.running() || late_timer_.at() > due) late_timer_.start(due);
  }
  /// To be called before the scheduler is called: after a standstill that may be before the timer fires.
  void count_late(flow::Time now) {
    if (late_timer_.running() && late_timer_.at() <= now) count_late_anew(now);
  }

  /// By how much the limit's times may move because requests have departed and not left yet, in microseconds.
  flow::Time lateness(flow::LimitIndex limit, flow::Time now) const {
    const bool looks_back = limit >= 0 && std::holds_alternative<SlidingWindowConfig>(
                                              settings.limits[static_cast<std::size_t>(limit)].kind);
    return looks_back ? late.to_expect(now) : 0;
  }

  /// Sets the timer for the scheduler's next wake-up.
  void sleep() {
    const auto next = scheduler.wake_at();
    if (!next) return wake_.stop();
    if (!wake_.running() || wake_.at() != *next) wake_.start(*next);
  }

  /// A limit's name for people; empty: no limit.
  std::string_view limit_name(flow::LimitIndex index) const {
    if (index >= 0) return penstock::limit_name(settings.limits[static_cast<std::size_t>(index)]);
    switch (index) {
      case flow::kPause: return "pause";
      case flow::kRedis: return "redis";
      case flow::kSlots: return "maxConcurrent";
      case flow::kTunnels: return "maxTunnels";
      default: return "";
    }
  }

  /// For example "2 slots: busy tunnels; 4 tunnels rest without one"; empty: no tunnels.
  std::string tunnels_in_words() const;

  void answer(std::string_view group, const flow::Booking& booking) override {
    with_scheduler([&](auto& its_scheduler, auto now, auto& into) { its_scheduler.answer(now, group, booking, into); });
  }
  void retry(flow::Booking::Scope scope, std::string_view group) override {
    with_scheduler([&](auto& its_scheduler, auto now, auto& into) { its_scheduler.retry(now, scope, group, into); });
  }

  void cut(flow::Booking::Scope scope, std::string_view group, std::size_t count) override {
    owner_.cut(*this, scope, group, count);
  }

  /// The group of a request, or kOtherGroups if the limiter has no room for another group. Only for upstreams with
  /// groups.
  std::string group_of(const http::Target& target, const http::Fields& fields);

  /// A response asked for a pause: of the group, or of all requests if there are no groups.
  void pause(flow::Time now, const std::string& group, flow::Time until, Pausing whom);
  /// The number of pauses that this process was asked for and that are not over.
  std::size_t pauses(flow::Time now) const { return pauses_.count(now) + anonymous_pauses_.count(now); }

  const std::string name;   ///< the entry's name, or host:port
  const std::size_t entry;  ///< as in Event
  UpstreamSettings settings;
  UpstreamPools::Pool connections;  ///< the pool that all clients share
  std::optional<Grouping> grouping;
  using Limits = std::unique_ptr<const std::vector<LimitConfig>>;
  Limits limits;  ///< the settings' limits; the limiter refers to this copy
  std::unique_ptr<flow::Limiter> limiter;
  flow::Scheduler scheduler;
  flow::LateDepartures late;
  flow::Commands commands, carrying;
  bool being_served = false;  ///< `commands` are being carried out
  QueueShares shares;         ///< used if there are no groups
  Totals totals;
  HandshakeTotals handshakes;
  std::int64_t last_used = 0;

 private:
  template <typename Call>
  void with_scheduler(Call call) {
    owner_.move(*this, [&](flow::Time now, flow::Commands& into) { std::invoke(call, scheduler, now, into); });
  }

  void group();
  void count_late_anew(flow::Time now);
  flow::Settings scheduler_settings() const;
  void change_limiter(flow::Time now, Limits its_limits);

  const Services& services_;
  UpstreamOwner& owner_;
  flow::Pauses pauses_, anonymous_pauses_;
  std::vector<flow::LimitIndex> moved_;  // limit remap of the last change; empty: none moved
  bool other_limiter_ = false;           // the last change replaced the limiter
  bool others_told_ = false;
  flow::Time looks_back_;  // shortest interval of the sliding windows; 0: there is none
  loop::Timer wake_, late_timer_;
};

}  // namespace penstock::proxy
