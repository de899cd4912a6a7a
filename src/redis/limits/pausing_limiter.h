// SPDX-License-Identifier: Apache-2.0
// The limiter of an upstream without shared limits: its limits, if any, are kept in this process, so no ask waits for
// Redis. Only pauses that the upstream asks for are shared: a process that is asked for one tells all others. Made by
// limiter_hub.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "flow/limiter.h"
#include "flow/local_limiter.h"
#include "redis/limits/limiter_owner.h"
#include "redis/limits/pause_messages.h"
#include "redis/limits/shared_pauses.h"
#include "redis/limits/shared_redis.h"

namespace penstock::redis {

class PausingLimiter final : public flow::Limiter {
 public:
  /// `local` keeps the limits; pauses that it has are dropped.
  PausingLimiter(SharedRedis& shared, LimiterOwner& owner, std::string name, flow::LimiterEvents& events,
                 std::unique_ptr<flow::LocalLimiter> local);
  ~PausingLimiter() override;
  PausingLimiter(const PausingLimiter&) = delete;
  PausingLimiter& operator=(const PausingLimiter&) = delete;

  bool ask(flow::Time now, const flow::Ask& ask, flow::Booking& booking) override;
  flow::LimitIndex forbids(const flow::Load& load, std::string_view route) const override {
    return local_->forbids(load, route);
  }
  flow::Time ahead(flow::Time now, flow::LaneKey lane, std::int64_t units,
                   const flow::OtherUnits& others) const override;
  std::unique_ptr<flow::RehearsedLimiter> rehearsal(flow::Time now,
                                                    std::span<const std::string_view> groups) const override;
  void give_back(flow::Time now, flow::LaneKey lane, const flow::Departure& departure) override {
    local_->give_back(now, lane, departure);
  }
  bool settle(flow::Time now, flow::LaneKey lane, const flow::Departure& departure, int cost) override {
    return local_->settle(now, lane, departure, cost);
  }
  void refused(flow::Time now, flow::LaneKey lane, const flow::Departure& departure) override {
    local_->refused(now, lane, departure);
  }
  void learned(flow::Time now, flow::LaneKey lane, const flow::Departure& departure,
               const flow::Report& report) override {
    local_->learned(now, lane, departure, report);
  }
  flow::Departure report_late(flow::LaneKey lane, flow::Departure departure, flow::Time at) override {
    return local_->report_late(lane, departure, at);
  }
  bool landed(flow::Time now, flow::LaneKey lane) override { return local_->landed(now, lane); }
  void cancel_wait(flow::Time now, flow::Booking::Scope scope, flow::LaneKey lane) override {
    local_->cancel_wait(now, scope, lane);
  }
  void pause(flow::Time now, std::string_view group, flow::Time until) override {
    pauses_.extend(now, group, until);
    messages_.tell_begun(group, until - now);
  }
  bool shorten_pauses(flow::Time, flow::Time latest) override { return pauses_.shorten(latest); }
  flow::PauseSharing* pauses_shared() override { return &messages_; }
  flow::LimitReader* reader() override { return local_->reader(); }
  bool has_room_for(std::string_view group) const override;
  bool forgettable(flow::Time now) const override { return pauses_.none(now) && local_->forgettable(now); }
  void change(flow::Time now, const std::vector<LimitConfig>& limits) override { local_->change(now, limits); }
  void count_existing(flow::Time now, flow::LaneKey lane, std::size_t departures) override {
    local_->count_existing(now, lane, departures);
  }

  /// Gives up what its limits have counted. Only the destructor may be called afterwards.
  std::unique_ptr<flow::LocalLimiter> release() { return std::move(local_); }

  /// A message about pauses, from any process.
  void message(std::string_view words);

 private:
  SharedRedis& shared_;
  LimiterOwner& owner_;
  const std::string name_;
  SharedPauses pauses_;
  PauseMessages messages_;
  std::unique_ptr<flow::LocalLimiter> local_;
};

}  // namespace penstock::redis
