// SPDX-License-Identifier: Apache-2.0
// One process before a Redis of its own, in virtual time: its limiter hub, without a scheduler. For tests of what it
// says to Redis.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "loop/resolver.h"
#include "redis/limits/limiter_hub.h"
#include "simulation/machine.h"
#include "simulation/network.h"
#include "simulation/plan.h"
#include "simulation/redis_server.h"

namespace penstock::simulation {

class OneOffice : public testing::Test, protected flow::LimiterEvents {
 protected:
  static constexpr Time kToday = 1'748'736'000 * kSecond;

  OneOffice() : OneOffice({.round_trip = 200}, 7) {}
  /// `ahead`: how far the machine's wall clock is ahead.
  OneOffice(Network::Delay delay, std::uint64_t seed, Time ahead = 0)
      : world_(seed),
        machine_(world_, kToday + ahead, 0, 0),
        network_(world_, machine_, hosts_, delay, [this](bool is_presence) {
          if (!is_presence) on_call_();
        }) {}

  void run_for(Time time) { world_.run_until(world_.now() + time); }

  void answer(flow::LaneKey, const flow::Booking&) override {}
  void retry(flow::Booking::Scope, flow::LaneKey) override {}
  void cut(flow::Booking::Scope, flow::LaneKey, std::size_t) override {}

  World world_;
  RedisServer server_{[this] { return kToday + world_.now(); }, "id"};
  Hosts hosts_{.all = {Host{server_}}};
  Machine machine_;
  std::function<void()> on_call_ = [] {};          ///< on each script call but the one for presence
  std::function<void(bool)> on_up_ = [](bool) {};  ///< Redis is reached, or no longer
  Network network_;
  std::vector<std::string> notices_;
  loop::Loop unused_;
  loop::Resolver resolver_{unused_, DnsConfig{}};
  const RedisConfig config_{.path = "/simulated", .prefix = "p"};
  std::unique_ptr<redis::LimiterHub> hub_ = std::make_unique<redis::LimiterHub>(
      machine_.loop(), resolver_, config_, redis::HubWatch{.on_up = [this](bool up) { on_up_(up); }},
      [this](const Notice& notice) { notices_.push_back(notice.text); }, network_);
};

}  // namespace penstock::simulation
