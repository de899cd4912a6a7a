// SPDX-License-Identifier: Apache-2.0
// Flights unknown to Redis begin only with permits that are held, or by `open`.
#include "redis/limits/fallback.h"

#include <memory>

#include "redis/limits/divide_limits.h"

namespace penstock::redis {

using flow::Booking;
using flow::Time;

Fallback::Fallback(const UpstreamCalls& calls, Shadow& shadow, Semaphores& semaphores, const Fleet& fleet)
    : calls_(calls), shadow_(shadow), semaphores_(semaphores), fleet_(fleet), parts_(calls.shared().sharers(0)) {}

void Fallback::answer(Time now, const flow::Ask& ask, Booking& booking) {
  if (!semaphores_.any() || rule() != WhenDown::share) {
    shadow_.answer(now, ask, rule(), booking);
    return semaphores_.began_alone(ask.lane(), booking.departures.size());
  }
  const auto at_hand = semaphores_.at_hand_alone(ask.lane(), ask.count);
  flow::Ask bounded = ask;
  bounded.count = at_hand.count;
  if (bounded.count > 0) shadow_.answer(now, bounded, rule(), booking);
  const std::size_t departures = booking.departures.size();
  const bool for_permit = departures == at_hand.count && departures < ask.count;
  semaphores_.use_alone(ask.lane(), departures, for_permit ? at_hand.by : flow::kNoLimit, ask.count - departures);
  if (for_permit) semaphores_.stop(at_hand.by, booking);
}

std::unique_ptr<flow::RehearsedLimiter> Fallback::rehearsal(Time now, std::span<const std::string_view> groups) const {
  if (rule() == WhenDown::wait) return nullptr;
  if (rule() == WhenDown::share) return shadow_.all().rehearsal(now, groups);
  auto without_limits = std::make_unique<flow::RehearsedLimiter>(flow::LimitSet(), flow::LimitClock(), flow::kNoEpoch);
  if (rule() == WhenDown::refuse) without_limits->refuse();
  return without_limits;
}

/// By shares alone, processes that had left others some of their share would now take it back, and more would leave
/// than the limit allows. Instead, lanes wait until all processes have handed in what they remember, at most for a
/// second.
WhenDown Fallback::rule() const {
  const WhenDown configured = calls_.when_down();
  if (calls_.shared().starting()) return WhenDown::wait;
  return recovering(calls_) && (holds_ || configured == WhenDown::share) ? WhenDown::wait : configured;
}

void Fallback::note_left(const BookReply& reply, flow::LaneKey lane, const flow::DepartureSearch::Taken& taken) {
  if (calls_.when_down() != WhenDown::share || shadow_.has_untold()) return;
  std::size_t next = 0;
  for (const flow::LimitIndex limit : calls_.args().routes().places_of(lane)) {
    if (next == reply.left.size()) return;
    const auto& [until, left] = reply.left[next++];
    if (until == 0) {
      const std::int64_t units = calls_.args().counts_cost(limit) ? taken.cost : taken.units;
      if (taken.departures > 0) shadow_.note_taken(lane.group, limit, units);
    } else {
      shadow_.note_left(lane.group, limit, {.until = static_cast<flow::Instant>(until), .units = left});
    }
  }
}

void Fallback::count_sharers() { parts_ = calls_.shared().sharers(fleet_.alive_lately(calls_.now())); }

void Fallback::divide() {
  if (calls_.when_down() == WhenDown::share) shadow_.go_alone(calls_.now(), parts_);
}

std::int64_t Fallback::permits_left(flow::LimitIndex semaphore) const {
  const auto& config = std::get<SemaphoreConfig>(semaphores_.table().row(semaphore).config.kind);
  return permits_alone(config, calls_.when_down(), parts_);
}

}  // namespace penstock::redis
