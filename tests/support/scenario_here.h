// SPDX-License-Identifier: Apache-2.0
// The limits kept in this process, as scenarios ask them; shared limits are compared with these.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "flow/local_limiter.h"
#include "support/scenario_run.h"

namespace penstock::scenarios {

class AskedHere final : public Asked {
 public:
  explicit AskedHere(const std::vector<LimitConfig>& limits) : limiter_(limits, kStart) {}
  flow::Booking ask(Time now, const flow::Ask& ask) override {
    flow::Booking booking;
    EXPECT_TRUE(limiter_.ask(now, ask, booking));
    return booking;
  }
  void give_back(Time now, std::string_view group, const flow::Departure& departure) override {
    limiter_.give_back(now, flow::LaneKey(group), departure);
  }
  void left(Time now, std::string_view group, const flow::Departure& departure) override {
    limiter_.report_late(flow::LaneKey(group), departure, now);
  }
  void refused(Time now, std::string_view group, const flow::Departure& departure) override {
    limiter_.refused(now, flow::LaneKey(group), departure);
  }
  void learned(Time now, std::string_view group, const flow::Departure& departure,
               const flow::Report& report) override {
    limiter_.learned(now, flow::LaneKey(group), departure, report);
  }
  void settle(Time now, std::string_view group, const flow::Departure& departure, int cost) override {
    limiter_.settle(now, flow::LaneKey(group), departure, cost);
  }
  void pause(Time now, std::string_view group, Time until) override { limiter_.pause(now, group, until); }
  /// As in Redis, a changed interval is noticed by the next ask.
  void change(Time now, const std::vector<LimitConfig>& limits) override { limiter_.set_limits(limits, now); }

 private:
  flow::LocalLimiter limiter_;
};

}  // namespace penstock::scenarios
