// SPDX-License-Identifier: Apache-2.0
// What changes with a reply, a flight, an ask.
#include "redis/limits/held_semaphore.h"

namespace penstock::redis {

using flow::Time;

namespace {
/// Totals begin at the time since the machine started (µs), which reaches this after 31 years. Scripts count exactly
/// up to nine times as many.
constexpr std::int64_t kMostPermits = 1'000'000'000'000'000;
}  // namespace

bool PermitReply::plausible() const {
  const auto in_range = [](std::int64_t number) { return number >= 0 && number <= kMostPermits; };
  return in_range(granted) && in_range(lost) && in_range(sharers) && in_range(look + 1);
}

std::int64_t HeldSemaphore::waiting() const {
  std::int64_t sum = 0;
  for (const auto& [lane, count] : awaited) sum += static_cast<std::int64_t>(count);
  return sum;
}

bool HeldSemaphore::within_level(std::int64_t capacity, Time now) const {
  const std::int64_t among = std::max<std::int64_t>(1, sharers);
  if (permits.held() <= capacity / among) return true;
  return permits.held() <= (capacity + among - 1) / among && now < raised + flow::kHorizon;
}

/// A message that came after the call was sent may be newer than the reply: then a reply of 0 does not overwrite the
/// sharers that it told. A reply whose loss does not count does not settle how many adopted flights have no permit: the
/// call after it may be told of more.
void HeldSemaphore::learn(const PermitReply& reply, Time sent, Time now) {
  const std::int64_t before = permits.held();
  permits.granted(reply.granted);
  const std::int64_t more = permits.held() - before;
  if (more > 0) raised = now, in_line = std::max<std::int64_t>(0, in_line - more);
  const bool loss_counts = permits.sent_after_loss(sent);
  permits.renewed(sent, now, reply.lost);
  if (loss_counts) adopted.answered(sent, permits);
  foreign_since = 0;
  if (reply.sharers > 0 || sent > sharers_updated_at) sharers = reply.sharers;
  called |= reply.look < 0;
  look_at = reply.look > 0 ? now + reply.look : 0;
}

void HeldSemaphore::flight_ended(bool keep) {
  permits.ended(keep);
  adopted.flight_ended(permits);
}

void HeldSemaphore::count_existing(std::size_t departures, Time now) {
  permits.use_ungranted(static_cast<std::int64_t>(departures));
  adopted.add(static_cast<std::int64_t>(departures), now);
}

/// Flights that were adopted meanwhile count as granted, under numbers that Redis may have given to this ask. They may
/// have ended since, and their numbers been returned: so Redis is to be told of these as of adopted ones.
void HeldSemaphore::took(std::size_t departures, Time sent, Time now) {
  if (departures == 0) return;
  adopted.since(sent) ? count_existing(departures, now) : permits.use(static_cast<std::int64_t>(departures));
}

void HeldSemaphore::ask_ended(std::int64_t claim) {
  permits.unclaim(claim);
  asks.end();
}

void HeldSemaphore::retire() {
  awaited.clear();
  adopted.forget();
  permits.retire();
}

}  // namespace penstock::redis
