// SPDX-License-Identifier: Apache-2.0
// Departures of one reply keep their order, whatever was learned of the clocks since the ask.
#include "redis/limits/grants.h"

#include <algorithm>

namespace penstock::redis {

using flow::Booking;
using flow::Time;
using Scope = Booking::Scope;
using Stop = Booking::Stop;

Grants::Grants(const UpstreamCalls& calls, Shadow& shadow, KeptLimits& kept, DepartureReports& reports,
               Semaphores& semaphores)
    : calls_(calls), shadow_(shadow), kept_(kept), reports_(reports), semaphores_(semaphores) {}

bool Grants::at_hand(Time now, const flow::Ask& ask, Booking& booking) {
  if (!semaphores_.permits_only() && (ask.weight > 0 || kept_.own())) return false;
  const auto at_hand = semaphores_.take_at_hand(ask.lane(), ask.count);
  if (!at_hand) return false;
  const flow::ConfigEpoch epoch = shadow_.all().epoch();
  for (std::size_t i = 0; i < at_hand->count; ++i) {
    shadow_.book(ask.lane(), booking.departures.emplace_back(
                                 flow::Departure{.at = now, .weight = ask.weight, .epoch = epoch, .cost = ask.cost}));
  }
  if (at_hand->by != flow::kNoLimit) semaphores_.stop(at_hand->by, booking);
  return true;
}

void Grants::book(const Asking& asking, const BookReply& reply, Booking& booking) {
  booking.clear();
  Time last = shadow_.recalled(asking.base);
  kept_.release(asking);
  for (const auto& [at, limit] : reply.departures) {
    last = std::max(last, calls_.clock().to_loop(at));
    if (!kept_.still_allow(asking, last)) return decline(asking, at, booking);
    flow::Departure& departure =
        booking.departures.emplace_back(flow::Departure{.at = last,
                                                        .weight = asking.weight,
                                                        .limited_by = static_cast<flow::LimitIndex>(limit),
                                                        .epoch = asking.epoch,
                                                        .in_redis = at,
                                                        .cost = asking.cost});
    shadow_.book(asking.lane(), departure);
    if (last > calls_.clock().to_loop(at) + flow::kOnTime) reports_.move(asking.lane(), departure);
    shadow_.recent().add(reply.now, largest(asking.load()));
  }
  booking.stop = reply.stop.value_or(Stop::turn);
  booking.scope = reply.scope;
  booking.limited_by = reply.limited_by();
  booking.ask_again = reply.ask_again == 0 ? 0 : calls_.clock().to_loop(reply.ask_again);
  booking.not_before = reply.not_before == 0 ? 0 : calls_.clock().to_loop(reply.not_before);
  ask_in_time(booking);
}

/// If the reply came too late, all its permits are spare.
void Grants::take_permits(const Asking& asking, const BookReply& reply) {
  const std::size_t departures = asking.late ? 0 : reply.departures.size();
  if (asking.former_places) semaphores_.adopt_unclaimed(asking.lane(), asking.claims, departures);
  if (asking.claims.empty()) return;
  const bool awaits = reply.stop == Stop::permit && !asking.late;
  const auto semaphore = awaits ? semaphores_.table().at(reply.limited_by()) : flow::kNoLimit;
  semaphores_.answered(asking.lane(), asking.claims, reply.permits, asking.told, departures, semaphore,
                       asking.count - departures);
}

/// Takes back in Redis what it has granted, since a limit kept here does not allow it. The lane may ask again at once.
void Grants::decline(const Asking& asking, std::int64_t at, Booking& booking) {
  booking.scope = Scope::group;
  booking.ask_again = calls_.now();
  if (asking.weight > 0 && calls_.connected()) reports_.give_back(asking.lane(), at, asking.load(), asking.epoch);
  semaphores_.ended(asking.lane());
}

/// The script does not know how far away this process is. Limits of the upstream may be asked a whole round trip ahead,
/// so that the answer is there in time; those of a group only half of one, so that the ask arrives in time.
void Grants::ask_in_time(Booking& booking) const {
  if (booking.ask_again == 0 || booking.ask_again >= booking.not_before) return;
  const Time trip = calls_.clock().usual_round_trip(), early = booking.scope == Scope::upstream ? trip : trip / 2;
  booking.ask_again = std::min(booking.ask_again, booking.not_before - early);
}

void Grants::take_back(const Asking& asking, const BookReply& reply) {
  if (asking.weight == 0) return;  // it took only permits, and these are spare already
  for (auto last = reply.departures.rbegin(); last != reply.departures.rend(); ++last) {
    reports_.give_back(asking.lane(), last->at, asking.load(), asking.epoch);
  }
}

void Grants::forget_wait(const Asking& asking, Time now, Booking& booking) {
  const bool asks_anyway = booking.stop == Stop::turn && booking.ask_again == 0 && !booking.departures.empty();
  if (booking.departures.size() == asking.count || asks_anyway) return;
  if (booking.stop != Stop::turn) booking.scope = Scope::group;
  booking.stop = Stop::turn;
  booking.ask_again = booking.not_before = now;
}

}  // namespace penstock::redis
