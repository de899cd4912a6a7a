// SPDX-License-Identifier: Apache-2.0
// A limiter for tests: the limits of this process, with a record of what was booked through them and which pauses were
// asked for.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "proxy/exchange/local_limiters.h"

namespace penstock::proxy {

struct Record {
  struct Pause {
    std::string group;
    flow::Time length;
    bool operator==(const Pause&) const = default;
  };
  std::vector<flow::Time> departures;  ///< in the order of booking
  std::vector<Pause> pauses;
  std::vector<flow::Time> shortened;  ///< how much of its pauses is left at most
  struct Late {
    flow::LaneName lane;
    flow::Time booked, left;
  };
  std::vector<Late> late;  ///< one for each departure that was late
  struct Learned {
    std::string group;
    flow::LimitIndex limit;
    std::int64_t count;
    flow::Time resets;  ///< from when it was told
    std::string route = {};
    bool operator==(const Learned&) const = default;
  };
  std::vector<Learned> learned;
  struct Settled {
    std::string group;
    int reserved, cost;
    bool operator==(const Settled&) const = default;
  };
  std::vector<Settled> settled;
  bool room = true;          ///< for more groups
  flow::Time backdated = 0;  ///< so much earlier than they were granted are departures told; later if negative
  flow::LimiterEvents* events = nullptr;  ///< of the upstream made last: what a limiter may tell it
};

class RecordingLimiter final : public flow::Limiter {
 public:
  RecordingLimiter(std::unique_ptr<flow::Limiter> limits, Record& record)
      : limits_(std::move(limits)), record_(record) {}

  /// What it remembers, for another. Only the destructor may be called afterwards.
  std::unique_ptr<flow::Limiter> release() { return std::move(limits_); }
  bool ask(flow::Time now, const flow::Ask& ask, flow::Booking& booking) override {
    const bool answered = limits_->ask(now, ask, booking);
    for (auto& departure : booking.departures) record_.departures.push_back(departure.at -= record_.backdated);
    return answered;
  }
  flow::Departure report_late(flow::LaneKey lane, flow::Departure departure, flow::Time at) override {
    tell_late({flow::LaneName(lane), departure.at, at});
    return limits_->report_late(lane, departure, at);
  }
  void learned(flow::Time now, flow::LaneKey lane, const flow::Departure&, const flow::Report& report) override {
    record_.learned.push_back(
        {std::string(lane.group), report.limit, report.count, report.resets - now, std::string(lane.route)});
  }
  bool settle(flow::Time now, flow::LaneKey lane, const flow::Departure& departure, int cost) override {
    record_.settled.push_back({std::string(lane.group), departure.cost, cost});
    return limits_->settle(now, lane, departure, cost);
  }
  void pause(flow::Time now, std::string_view group, flow::Time until) override {
    record_.pauses.push_back({std::string(group), until - now});
    limits_->pause(now, group, until);
  }
  bool shorten_pauses(flow::Time now, flow::Time latest) override {
    record_.shortened.push_back(latest - now);
    return limits_->shorten_pauses(now, latest);
  }
  bool has_room_for(std::string_view group) const override { return record_.room && limits_->has_room_for(group); }
  bool forgettable(flow::Time now) const override { return limits_->forgettable(now); }
  flow::LimitIndex forbids(const flow::Load& load, std::string_view route) const override {
    return limits_->forbids(load, route);
  }
  flow::Time ahead(flow::Time now, flow::LaneKey lane, std::int64_t units,
                   const flow::OtherUnits& others) const override {
    return limits_->ahead(now, lane, units, others);
  }
  void give_back(flow::Time now, flow::LaneKey lane, const flow::Departure& told) override {
    flow::Departure granted = told;
    granted.at += record_.backdated;
    limits_->give_back(now, lane, granted);
  }
  bool landed(flow::Time now, flow::LaneKey lane) override { return limits_->landed(now, lane); }
  flow::LimitReader* reader() override { return limits_->reader(); }
  void cancel_wait(flow::Time now, flow::Booking::Scope scope, flow::LaneKey lane) override {
    limits_->cancel_wait(now, scope, lane);
  }
  void change(flow::Time now, const std::vector<LimitConfig>& limits) override { limits_->change(now, limits); }
  void count_existing(flow::Time now, flow::LaneKey lane, std::size_t departures) override {
    limits_->count_existing(now, lane, departures);
  }

 private:
  /// A slow machine is late twice: it takes a departure late, and then sends the bytes later than it said.
  void tell_late(Record::Late late) {
    const auto same = std::ranges::find_if(
        record_.late, [&](const Record::Late& told) { return told.lane == late.lane && told.left == late.booked; });
    if (same == record_.late.end()) return record_.late.push_back(std::move(late));
    same->left = late.left;
  }

  std::unique_ptr<flow::Limiter> limits_;
  Record& record_;
};

inline MakeLimiter recording_limiters(const loop::Loop& loop, Record& record) {
  return [make = local_limiters(loop), &record](const LimiterOf& of, flow::LimiterEvents& events,
                                                std::unique_ptr<flow::Limiter> former) {
    record.events = &events;
    auto* const recording = dynamic_cast<RecordingLimiter*>(former.get());
    return std::make_unique<RecordingLimiter>(make(of, events, recording ? recording->release() : nullptr), record);
  };
}

}  // namespace penstock::proxy
