// SPDX-License-Identifier: Apache-2.0
// How a process uses the permits that it holds without asking Redis: whether a permit of a flight that landed stays
// here, and which lane starts with it.
#include <algorithm>
#include <utility>

#include "redis/limits/semaphores.h"

namespace penstock::redis {

using flow::LimitIndex;
using flow::Time;

/// The remainder above the level goes round: no process has it for longer than a horizon.
bool Semaphores::State::within_level(std::int64_t capacity, Time now) const {
  const std::int64_t among = std::max<std::int64_t>(1, sharers);
  if (permits.held() <= capacity / among) return true;
  return permits.held() <= (capacity + among - 1) / among && now < raised + flow::kHorizon;
}

/// A lane that stands in line is told when its reservation is due; asking meanwhile would be in vain.
std::optional<Semaphores::AtHand> Semaphores::take_at_hand(std::string_view group, std::size_t wanted) {
  AtHand found{.count = wanted};
  const Entry* least = nullptr;
  bool usable = true;
  each_of(group, [&](Entry& entry, const Definition& definition) {
    hear_who_pauses(entry);
    usable &= hears_ && has_lease(entry) && !entry.second.called;
    const auto spare = missed_since_ == 0 ? static_cast<std::size_t>(entry.second.permits.spare()) : 0;
    if (spare >= found.count) return;
    found = {.count = spare, .by = definition.number};
    least = &entry;
  });
  if (!usable || (least && !least->second.awaits(group))) return std::nullopt;
  each_of(group, [&](Entry& entry, const Definition& definition) {
    State& of = entry.second;
    of.permits.use(static_cast<std::int64_t>(found.count));
    if (definition.number == found.by) {
      of.awaited.find(group)->second = wanted - found.count;
      if (of.in_line == 0) tell_later(entry);  // more wait by now than Redis knows
    } else if (const auto lane = of.awaited.find(group); lane != of.awaited.end()) {
      of.awaited.erase(lane);
      if (of.awaited.empty() && of.in_line > 0) tell_later(entry);
    }
  });
  return found;
}

/// While Redis has a foreign value, it grants no permits. Half a lease later, permits that were granted before have no
/// lease any more: from then on each process has its part, whatever it held.
bool Semaphores::has_part(const Entry& entry) const {
  const State& of = entry.second;
  return of.foreign_since > 0 && loop_.now() >= of.foreign_since + definition(entry.first.limit).lease() / 2;
}

/// After the fence, at most as many as are left to this process may fly.
std::int64_t Semaphores::spare_alone(const Entry& entry) const {
  const Permits& permits = entry.second.permits;
  if (has_part(entry)) return std::max<std::int64_t>(0, allowance_(entry.first.limit) - permits.in_use());
  if (has_lease(entry)) return permits.spare();
  return std::min(permits.spare(), std::max<std::int64_t>(0, allowance_(entry.first.limit) - permits.in_use()));
}

Semaphores::AtHand Semaphores::at_hand_alone(std::string_view group, std::size_t wanted) {
  AtHand found{.count = wanted};
  each_of(group, [&](const Entry& entry, const Definition& definition) {
    const auto spare = static_cast<std::size_t>(spare_alone(entry));
    if (spare < found.count) found = {.count = spare, .by = definition.number};
  });
  return found;
}

void Semaphores::use_alone(std::string_view group, std::size_t departures, LimitIndex awaits, std::size_t awaited) {
  each_of(group, [&](Entry& entry, const Definition& definition) {
    State& of = entry.second;
    const auto count = static_cast<std::int64_t>(departures);
    has_part(entry) ? of.permits.use_ungranted(count) : of.permits.use(count);
    of.awaited.erase(std::string(group));
    if (definition.number == awaits && awaited > 0) of.awaited.emplace(group, awaited);
  });
}

bool Semaphores::keeps(const Entry& entry) const {
  const State& of = entry.second;
  if (is_gone(entry)) return false;
  if (alone_) return has_lease(entry) || of.permits.held() <= allowance_(entry.first.limit);
  const auto& config = std::get<SemaphoreConfig>(definition(entry.first.limit).config.kind);
  return hears_ && has_lease(entry) && of.within_level(config.capacity, loop_.now());
}

}  // namespace penstock::redis
