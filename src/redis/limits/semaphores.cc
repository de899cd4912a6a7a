// SPDX-License-Identifier: Apache-2.0
// What of the semaphores of a lane changes with an ask, a flight, a permit at hand.
#include "redis/limits/semaphores.h"

#include <algorithm>
#include <utility>

namespace penstock::redis {

using flow::LimitIndex;
using flow::Time;

Semaphores::Semaphores(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::LimiterEvents& events,
                       PermitLeases::KeyOf key_of, PermitLeases::Renew renew)
    : loop_(loop), leases_(loop, limits, events, std::move(key_of), std::move(renew)) {}

// ---- asks -----------------------------------------------------------------------------------------------------------

bool Semaphores::plausible(const std::vector<std::int64_t>& permits, std::size_t semaphores) {
  if (permits.size() != PermitReply::kNumbers * semaphores) return false;
  for (std::size_t i = 0; i < semaphores; ++i) {
    if (!PermitReply::of(permits, i).plausible()) return false;
  }
  return true;
}

/// An ask tells Redis all that a renewal does, but only a renewal brings the pauses that may have been missed.
Semaphores::Claims Semaphores::claim(flow::LaneKey lane, std::vector<std::string>& told) {
  Claims claims;
  leases_.each_of(lane, [&](Entry& entry, const Row&) {
    HeldSemaphore& of = entry.second;
    const auto waits = of.awaited.find(lane);
    const auto mine = waits == of.awaited.end() ? 0 : static_cast<std::int64_t>(waits->second);
    claims.push_back({&entry, of.permits.claim()});
    told.push_back(leases_.tell(entry, claims.back().count, of.waiting() - mine));
    of.asks.begin();
    of.called = false;
    of.news &= leases_.pauses().asks(loop_.now());
  });
  return claims;
}

void Semaphores::answered(flow::LaneKey lane, const Claims& claims, const std::vector<std::int64_t>& permits, Time sent,
                          std::size_t departures, LimitIndex awaits, std::size_t awaited) {
  std::size_t i = 0;
  for (const auto& [entry, claim] : claims) {
    const std::size_t waits_for = entry->first.limit == awaits ? awaited : 0;
    leases_.answered(*entry, {.lane = lane, .claim = claim, .departures = departures, .awaited = waits_for}, sent,
                     PermitReply::of(permits, i++));
  }
}

void Semaphores::failed(flow::LaneKey lane, const Claims& claims, bool foreign) {
  for (const auto& [entry, claim] : claims) leases_.failed(*entry, {.lane = lane, .claim = claim}, foreign);
}

void Semaphores::tell(std::vector<std::string>& told) {
  leases_.each_of({},
                  [&](Entry& entry, const Row&) { told.push_back(leases_.tell(entry, 0, entry.second.waiting())); });
}

void Semaphores::heard(const std::vector<std::int64_t>& permits, Time sent) {
  std::size_t i = 0;
  leases_.each_of({}, [&](Entry& entry, const Row&) { leases_.learn(entry, sent, PermitReply::of(permits, i++)); });
}

void Semaphores::adopt_unclaimed(flow::LaneKey lane, const Claims& claims, std::size_t departures) {
  if (departures == 0) return;
  leases_.each_of(lane, [&](Entry& entry, const Row&) {
    if (std::ranges::find(claims, &entry, &Claim::of) == claims.end()) adopt(entry, departures);
  });
}

// ---- permits at hand ------------------------------------------------------------------------------------------------

/// A lane that stands in line is told when its reservation is due; asking meanwhile would be in vain.
std::optional<Semaphores::AtHand> Semaphores::take_at_hand(flow::LaneKey lane, std::size_t wanted) {
  AtHand found{.count = wanted};
  const Entry* least = nullptr;
  bool usable = true;
  leases_.each_of(lane, [&](Entry& entry, const Row& row) {
    leases_.ask_for_pauses(entry);
    usable &= leases_.pauses().subscribed() && leases_.has_lease(entry) && !entry.second.called;
    const auto spare = leases_.pauses().asked() ? 0 : static_cast<std::size_t>(entry.second.permits.spare());
    if (spare >= found.count) return;
    found = {.count = spare, .by = row.number};
    least = &entry;
  });
  if (!usable || (least && !least->second.awaits(lane))) return std::nullopt;
  leases_.each_of(lane, [&](Entry& entry, const Row& row) {
    HeldSemaphore& of = entry.second;
    of.permits.use(static_cast<std::int64_t>(found.count));
    if (row.number == found.by) {
      const std::size_t before = std::exchange(of.awaited.find(lane)->second, wanted - found.count);
      const bool more = wanted - found.count > before;
      // Far more wait by now than Redis knows.
      if (of.in_line == 0 || (more && of.waiting() >= 2 * of.in_line)) leases_.tell_later(entry);
    } else if (const auto waits = of.awaited.find(lane); waits != of.awaited.end()) {
      of.awaited.erase(waits);
      if (of.awaited.empty() && of.in_line > 0) leases_.tell_later(entry);
    }
  });
  return found;
}

/// After the fence, at most as many as are left to this process may fly.
std::int64_t Semaphores::spare_alone(const Entry& entry) const {
  const Permits& permits = entry.second.permits;
  const auto left = [&] { return std::max<std::int64_t>(0, leases_.allowance(entry) - permits.in_use()); };
  if (leases_.has_part(entry)) return left();
  return leases_.has_lease(entry) ? permits.spare() : std::min(permits.spare(), left());
}

Semaphores::AtHand Semaphores::at_hand_alone(flow::LaneKey lane, std::size_t wanted) {
  AtHand found{.count = wanted};
  leases_.each_of(lane, [&](const Entry& entry, const Row& row) {
    const auto spare = static_cast<std::size_t>(spare_alone(entry));
    if (spare < found.count) found = {.count = spare, .by = row.number};
  });
  return found;
}

void Semaphores::use_alone(flow::LaneKey lane, std::size_t departures, LimitIndex awaits, std::size_t awaited) {
  leases_.each_of(lane, [&](Entry& entry, const Row& row) {
    HeldSemaphore& of = entry.second;
    const auto count = static_cast<std::int64_t>(departures);
    leases_.has_part(entry) ? of.permits.use_ungranted(count) : of.permits.use(count);
    of.awaited.erase(flow::LaneName(lane));
    if (row.number == awaits && awaited > 0) of.awaited.emplace(flow::LaneName(lane), awaited);
  });
}

void Semaphores::stop(LimitIndex number, flow::Booking& booking) const {
  const Row& row = table().row(number);
  const bool refuses = row.config.mode == LimitConfig::Mode::refuse;
  booking.stop = refuses ? flow::Booking::Stop::refused : flow::Booking::Stop::permit;
  booking.scope = row.scope();
  booking.limited_by = row.place;
  booking.ask_again = booking.not_before = 0;
}

// ---- flights --------------------------------------------------------------------------------------------------------

void Semaphores::began_alone(flow::LaneKey lane, std::size_t departures) {
  if (departures == 0) return;
  leases_.each_of(lane, [&](Entry& entry, const Row&) {
    entry.second.permits.use_ungranted(static_cast<std::int64_t>(departures));
  });
}

/// A kept permit that no lane takes in this iteration of the loop is returned at its end.
bool Semaphores::ended(flow::LaneKey lane) {
  bool at_hand = false;
  leases_.each_of(lane, [&](Entry& entry, const Row& row) {
    const bool keep = keeps(entry, row);
    entry.second.flight_ended(keep);
    keep ? leases_.see_to(entry) : leases_.tell_later(entry);
    at_hand |= keep && entry.second.permits.spare() > 0;
  });
  return at_hand;
}

/// While adopted flights register, the permit of one that ends may be one that Redis does not grant: no other flight
/// may start by it.
bool Semaphores::keeps(const Entry& entry, const Row& row) const {
  const HeldSemaphore& of = entry.second;
  if (leases_.without_redis()) return leases_.has_lease(entry) || of.permits.held() <= leases_.allowance(entry);
  if (of.adopted.registering()) return false;
  return leases_.pauses().subscribed() && leases_.has_lease(entry) && of.within_level(row.capacity(), loop_.now());
}

void Semaphores::gave_up(flow::LaneKey lane) {
  leases_.each_of(lane, [&](Entry& entry, const Row&) {
    if (entry.second.awaited.erase(flow::LaneName(lane)) > 0) leases_.tell_later(entry);
  });
}

void Semaphores::count_existing(flow::LaneKey lane, std::size_t departures) {
  leases_.each_of(lane, [&](Entry& entry, const Row& row) {
    if (row.is_new) adopt(entry, departures);
  });
}

void Semaphores::adopt(Entry& entry, std::size_t departures) {
  entry.second.count_existing(departures, loop_.now());
  leases_.tell_later(entry);
}

}  // namespace penstock::redis
