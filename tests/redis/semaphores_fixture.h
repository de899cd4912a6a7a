// SPDX-License-Identifier: Apache-2.0
// The shared semaphores of one process, with the test in Redis' place.

#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/limits/semaphores.h"
#include "support/test_loop.h"

namespace penstock::redis {

using flow::LimitIndex;
using Scope = flow::Booking::Scope;

inline constexpr flow::Time kLease = 1'000'000;
inline constexpr LimitIndex kOfUpstream = 0, kOfGroup = 2;  // a pacer stands between them

inline LimitConfig semaphore(std::string name, LimitConfig::Per per) {
  return {.kind = SemaphoreConfig{.capacity = 4, .lease = Duration{kLease}}, .name = std::move(name), .per = per};
}

class SemaphoresTest : public testing::Test, public flow::LimiterEvents {
 protected:
  void answer(flow::LaneKey, const flow::Booking&) override {}
  void retry(Scope scope, flow::LaneKey lane) override {
    const std::string what = scope == Scope::group ? "group " : scope == Scope::route ? "route " : "upstream ";
    called_.push_back(what + std::string(lane.group) + std::string(lane.route));
    on_call_();
  }
  void cut(Scope, flow::LaneKey lane, std::size_t count) override {
    cuts_.push_back(std::string(lane.group) + std::string(lane.route) + std::to_string(count));
  }

  flow::Time now() const { return run_.loop.now(); }
  /// An ask of a lane that is granted so much, and then waits for so many at `awaits`.
  void ask(flow::LaneKey lane, std::vector<std::int64_t> permits, std::size_t departures,
           LimitIndex awaits = flow::kNoLimit, std::size_t awaited = 0) {
    std::vector<std::string> told;
    const auto claims = semaphores_.claim(lane, told);
    semaphores_.answered(lane, claims, permits, now(), departures, awaits, awaited);
  }
  /// Redis answers each renewal with what it granted before.
  void keep_renewing(std::int64_t granted) {
    on_renewal_ = [this, granted](const auto& which) {
      semaphores_.leases().renewed(which, now(), {.granted = granted});
    };
  }

  test::TestLoop run_;
  const std::vector<LimitConfig> limits_{semaphore("wide", LimitConfig::Per::upstream),
                                         {.kind = PacerConfig{.qps = 1}, .name = "pacer"},
                                         semaphore("narrow", LimitConfig::Per::group)};
  std::vector<std::string> told_;  // of renewals: place, hash, words
  std::vector<std::string> called_, cuts_;
  std::function<void()> on_call_ = [] {};
  std::function<void(const SemaphoreName&)> on_renewal_ = [](const auto&) {};
  Semaphores semaphores_{run_.loop, limits_, *this, [](std::string_view group) { return std::string(group); },
                         [this](const SemaphoreName& which, const std::string& words) {
                           told_.push_back(std::to_string(which.limit) + which.group + " " + words);
                           on_renewal_(which);
                         }};
};

}  // namespace penstock::redis
