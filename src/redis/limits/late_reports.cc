// SPDX-License-Identifier: Apache-2.0
// Collects moves for a millisecond. Redis knows a departure by the time that it was last told.
#include "redis/limits/late_reports.h"

#include <algorithm>
#include <utility>

namespace penstock::redis {

namespace {
using Move = ScriptArgs::Move;
constexpr flow::Time kGathered = 1'000;

/// From when Redis knows the departure: a move to `at` that it was not told yet is taken out.
std::int64_t known_from(LateReports::Moves& moves, std::int64_t at, const flow::Load& load) {
  const auto [first, last] = std::ranges::equal_range(moves, at, {}, &Move::to);
  const auto earlier = std::ranges::find(first, last, load, &Move::load);
  if (earlier == last) return at;
  const std::int64_t from = earlier->from;
  moves.erase(earlier);
  return from;
}
}  // namespace

LateReports::LateReports(loop::Loop& loop, Tell tell)
    : loop_(loop), tell_(std::move(tell)), timer_(loop, [this] { tell_now(); }) {}

void LateReports::add(flow::LaneKey lane, const ScriptArgs::Move& move) {
  if (moves_.empty()) timer_.start(loop_.now() + kGathered);
  auto known = moves_.find(lane);
  if (known == moves_.end()) known = moves_.try_emplace(flow::LaneName(lane)).first;
  Moves& moves = known->second;
  const std::int64_t from = known_from(moves, move.from, move.load);
  moves.insert(std::ranges::upper_bound(moves, move.to, {}, &Move::to), {from, move.to, move.load});
  overdue_ |= move.to - from > flow::kHorizon;
}

std::int64_t LateReports::take_back(flow::LaneKey lane, std::int64_t at, const flow::Load& load) {
  const auto known = moves_.find(lane);
  if (known == moves_.end()) return at;
  const std::int64_t from = known_from(known->second, at, load);
  if (known->second.empty()) moves_.erase(known);
  return from;
}

void LateReports::tell_now() {
  timer_.stop();
  overdue_ = false;
  for (auto& [lane, moves] : std::exchange(moves_, {})) {
    std::ranges::sort(moves, {}, &Move::from);
    tell_(lane, moves);
  }
}

}  // namespace penstock::redis
