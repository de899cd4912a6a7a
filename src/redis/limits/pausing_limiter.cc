// SPDX-License-Identifier: Apache-2.0
// Checks pauses first, then the local limits.
#include "redis/limits/pausing_limiter.h"

#include <algorithm>
#include <utility>

#include "flow/rehearsed_limiter.h"

namespace penstock::redis {

using flow::Time;
using Scope = flow::Booking::Scope;

PausingLimiter::PausingLimiter(SharedRedis& shared, LimiterOwner& owner, std::string name, flow::LimiterEvents& events,
                               std::unique_ptr<flow::LocalLimiter> local)
    : shared_(shared),
      owner_(owner),
      name_(std::move(name)),
      pauses_(shared, name_),
      messages_(shared, name_, events),
      local_(std::move(local)) {
  const Time now = shared.loop().now();
  local_->shorten_pauses(now, now);
}

PausingLimiter::~PausingLimiter() { owner_.unregister(name_, *this); }

bool PausingLimiter::ask(Time now, const flow::Ask& ask, flow::Booking& booking) {
  if (ask.weight > 0 && messages_.answer(ask.group, booking)) return true;
  const Time own = pauses_.of_group(ask.group), whole = pauses_.of_upstream();
  const Time until = std::max(own, whole);
  if (until <= now || ask.weight == 0) return local_->ask(now, ask, booking);
  booking.scope = whole >= own ? Scope::upstream : Scope::group;
  booking.limited_by = flow::kPause;
  booking.ask_again = booking.not_before = until;
  return true;
}

Time PausingLimiter::ahead(Time now, flow::LaneKey lane, std::int64_t units, const flow::OtherUnits& others) const {
  return std::max({local_->ahead(now, lane, units, others), pauses_.of_upstream(), pauses_.of_group(lane.group)});
}

std::unique_ptr<flow::RehearsedLimiter> PausingLimiter::rehearsal(Time now,
                                                                  std::span<const std::string_view> groups) const {
  auto copy = local_->rehearsal(now, groups);
  copy->hold_by([this](flow::LaneKey lane) {
    const Time of_all = pauses_.of_upstream(), of_group = pauses_.of_group(lane.group);
    const auto scope = of_all >= of_group ? flow::Booking::Scope::upstream : flow::Booking::Scope::group;
    return flow::RehearsedLimiter::Told{std::max(of_all, of_group), flow::kPause, scope};
  });
  return copy;
}

bool PausingLimiter::has_room_for(std::string_view group) const {
  const bool room = pauses_.groups() < flow::kMostGroups && local_->has_room_for(group);
  return room || pauses_.of_group(group) > 0 || local_->limits().find(group);
}

void PausingLimiter::message(std::string_view words) {
  const Time now = shared_.loop().now();
  pauses_.message(now, words);
  messages_.message(words);
}

}  // namespace penstock::redis
