// SPDX-License-Identifier: Apache-2.0
// The limiter of one upstream whose limits all processes share: an ask is one script call, whose reply becomes the
// answer through LimiterEvents, within the time-out, whatever happens to Redis. The reply is one value, which is handed
// to those that learn from it, one after the other. Made by limiter_hub.
//
//   ask ─▶ semaphores: permits at hand start it ─▶ kept_limits: those of this process allow it ─▶ pending_asks
//       ─▶ calls: the call ─▶ book_reply ─▶ clock, fleet, semaphores, pauses, … ─▶ grants: the answer
//
// Beside this path: recovery says whether Redis is asked at all, and answers say what leaves where it is not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/weak_self.h"
#include "flow/limiter.h"
#include "penstock/limits.h"
#include "redis/limits/answers.h"
#include "redis/limits/book_reply.h"
#include "redis/limits/counter_resets.h"
#include "redis/limits/departure_reports.h"
#include "redis/limits/fallback.h"
#include "redis/limits/fleet.h"
#include "redis/limits/grants.h"
#include "redis/limits/handover.h"
#include "redis/limits/kept_limits.h"
#include "redis/limits/limiter_owner.h"
#include "redis/limits/pause_messages.h"
#include "redis/limits/pending_asks.h"
#include "redis/limits/permit_calls.h"
#include "redis/limits/quarantine.h"
#include "redis/limits/recovery.h"
#include "redis/limits/seen_limits.h"
#include "redis/limits/semaphores.h"
#include "redis/limits/shadow.h"
#include "redis/limits/shared_redis.h"
#include "redis/limits/sharing_notices.h"
#include "redis/limits/upstream_calls.h"
#include "redis/limits/upstream_pauses.h"
#include "redis/limits/wait_list.h"

namespace penstock::redis {

class SharedLimiter final : public flow::Limiter, RecoveryEvents {
 public:
  SharedLimiter(SharedRedis& shared, LimiterOwner& owner, std::string name, const std::vector<LimitConfig>& limits,
                flow::LimiterEvents& events, Handover former = {});
  ~SharedLimiter() override;
  SharedLimiter(const SharedLimiter&) = delete;
  SharedLimiter& operator=(const SharedLimiter&) = delete;

  bool ask(flow::Time now, const flow::Ask& ask, flow::Booking& booking) override;
  flow::Time patience() const override { return calls_.shared().config().timeout.count(); }
  flow::Time lead() const override;
  flow::LimitIndex forbids(const flow::Load& load, std::string_view route) const override {
    return fleet_.forbids(load, route);
  }
  flow::Time ahead(flow::Time now, flow::LaneKey lane, std::int64_t units,
                   const flow::OtherUnits& others) const override;
  std::unique_ptr<flow::RehearsedLimiter> rehearsal(flow::Time now,
                                                    std::span<const std::string_view> groups) const override;
  void give_back(flow::Time now, flow::LaneKey lane, const flow::Departure& departure) override;
  flow::Departure report_late(flow::LaneKey lane, flow::Departure departure, flow::Time at) override;
  bool settle(flow::Time now, flow::LaneKey lane, const flow::Departure& departure, int cost) override;
  void refused(flow::Time now, flow::LaneKey lane, const flow::Departure& departure) override;
  void learned(flow::Time now, flow::LaneKey lane, const flow::Departure& departure,
               const flow::Report& report) override;
  bool landed(flow::Time now, flow::LaneKey lane) override;
  flow::Time expected(flow::Time now, flow::LaneKey lane, const flow::Load& load, std::int64_t units,
                      const flow::OtherUnits& others) const override;
  void cancel_wait(flow::Time now, flow::Booking::Scope scope, flow::LaneKey lane) override;
  void pause(flow::Time now, std::string_view group, flow::Time until) override;
  bool shorten_pauses(flow::Time now, flow::Time latest) override;
  flow::PauseSharing* pauses_shared() override { return &messages_; }
  bool has_room_for(std::string_view group) const override;
  /// What the limits have counted elsewhere is in Redis; this process's own departures are needed in case Redis loses
  /// it.
  bool forgettable(flow::Time now) const override;
  void change(flow::Time now, const std::vector<LimitConfig>& limits) override;
  void count_existing(flow::Time now, flow::LaneKey lane, std::size_t departures) override;

  SeenLimits* reader() override { return &seen_; }

  // For the hub.
  Recovery& recovery() { return recovery_; }
  /// The first try to reach Redis has failed.
  void starts_alone() { wait_list_.wake(events_); }
  /// From another process, or from a script.
  void message(std::string_view words);
  void set_subscribed(bool subscribed);

 private:
  /// It is told nothing of this in Redis, as its flights go on. Only the destructor may be called afterwards.
  friend Handover take_over(std::unique_ptr<flow::Limiter> former);
  bool send(flow::Time now, PendingAsks::Id id);
  void answered(PendingAsks::Id id, const Outcome& outcome, flow::Time sent);
  const BookReply* read(const Outcome& outcome, std::size_t count, std::size_t semaphores, flow::Time sent) override;
  void apply_reply(const Asking& asking);
  void ask_without(PendingAsks::Id id);
  void left_redis() override;
  void joined_redis() override;
  void memory_lost() override { pauses_.tell_all(); }

  LimiterOwner& owner_;
  flow::LimiterEvents& events_;
  std::vector<LimitConfig> limits_;
  UpstreamCalls calls_;
  Fleet fleet_{limits_};
  std::unique_ptr<Shadow> shadow_;  // null: it was handed over
  WaitList wait_list_;
  SharingNotices notices_{calls_};
  PendingAsks pending_asks_;
  Semaphores semaphores_;
  UpstreamPauses pauses_{calls_, *shadow_, semaphores_};
  PauseMessages messages_;
  PermitCalls permit_calls_{calls_, semaphores_.leases(), pauses_, fleet_};
  Quarantine quarantine_;
  SeenLimits seen_{calls_, *shadow_, quarantine_, limits_};
  KeptLimits kept_{calls_, *shadow_, quarantine_, limits_};
  DepartureReports reports_{calls_, quarantine_, shadow_->recent(), limits_};
  Grants grants_{calls_, *shadow_, kept_, reports_, semaphores_};
  CounterResets counter_resets_{calls_, quarantine_, wait_list_, limits_};
  Fallback fallback_{calls_, *shadow_, semaphores_, fleet_};
  Answers answers_{calls_, fallback_, kept_, wait_list_, events_};
  Recovery recovery_{calls_, *shadow_, semaphores_, fleet_, quarantine_, fallback_, wait_list_, notices_, *this};

  // Reused, to save allocations.
  std::vector<std::string> permits_;
  BookReply reply_;
  base::WeakSelf<SharedLimiter> self_{this};
};

}  // namespace penstock::redis
