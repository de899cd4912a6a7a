// SPDX-License-Identifier: Apache-2.0
// What a lane wants, and when it is due.
#include "flow/lane.h"

namespace penstock::flow {

Demand Lane::demand() const {
  const std::int64_t unbooked = unbooked_units();
  Demand demand{.slots = expected() - std::min(queue.returned(), expected()) + (ask.to_resume() ? 1 : 0),
                .unbooked_units = unbooked};
  const bool waits_for_group = ask.told_to_wait() && ask.line() == Booking::Scope::group;
  if (!ask.awaits() && !waits_for_group) {
    demand.wants = {wants(), std::max<std::int64_t>(0, unbooked - ask.units())};
  }
  return demand;
}

std::optional<Time> Lane::nobody_leaves_before() const {
  if (ask.for_departures()) return std::nullopt;
  return departures.empty() ? ask.not_before() : std::optional(departures.front().at);
}

std::optional<Time> Lane::next_moment() const {
  std::optional<Time> next;
  const auto at = [&next](Time moment) { next = next ? std::min(*next, moment) : moment; };
  if (!departures.empty()) at(departures.front().at);
  if (wants() > 0 && ask.told_to_wait()) at(*ask.again());
  if (!queue.apart().empty()) at(queue.apart_until());
  return next;
}

void Lane::renumber(std::span<const LimitIndex> moved) {
  ask.renumber(moved);
  departures.each([&](Departure& departure) { departure.limited_by = renumbered(departure.limited_by, moved); });
}

void Lane::disown_departures() {
  departures.each([](Departure& departure) { departure.epoch = kNoEpoch; });
}

}  // namespace penstock::flow
