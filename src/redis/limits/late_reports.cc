// SPDX-License-Identifier: Apache-2.0
// Collects moves for a millisecond.
#include "redis/limits/late_reports.h"

#include <algorithm>
#include <utility>

namespace penstock::redis {

namespace {
constexpr flow::Time kGathered = 1'000;
}  // namespace

LateReports::LateReports(loop::Loop& loop, Tell tell)
    : loop_(loop), tell_(std::move(tell)), timer_(loop, [this] { tell_now(); }) {}

void LateReports::add(flow::LaneKey lane, const ScriptArgs::Move& move) {
  if (moves_.empty()) timer_.start(loop_.now() + kGathered);
  auto known = moves_.find(lane);
  if (known == moves_.end()) known = moves_.try_emplace(flow::LaneName(lane)).first;
  known->second.push_back(move);
  overdue_ |= move.to - move.from > flow::kHorizon;
}

void LateReports::tell_now() {
  timer_.stop();
  overdue_ = false;
  for (auto& [lane, moves] : std::exchange(moves_, {})) {
    std::ranges::sort(moves, {}, &ScriptArgs::Move::from);
    tell_(lane, moves);
  }
}

}  // namespace penstock::redis
