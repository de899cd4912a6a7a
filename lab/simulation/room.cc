// SPDX-License-Identifier: Apache-2.0
// Judges that what a long window has left is granted. The judge of use needs twenty windows, and a run does not last
// for months; but the room in the open window can be counted.
#include <algorithm>
#include <cmath>

#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

constexpr Time kLong = 2 * kSecond;  // the time to wait, or to be refused, although there is room

bool held_at_end(const Reading& reading, const Request& request) {
  const Time end = reading.journal().ended;
  if (reading.was_full(request.member, end - kLong, end)) return false;
  if (request.end == Request::End::none && request.departed == kNotYet) return request.arrived <= end - kLong;
  const bool refused = request.end == Request::End::refused && request.refused == flow::Refused::wait_over;
  return refused && request.ended >= end - kLong;
}

}  // namespace

void judge_room(const Reading& reading, Judgement& judgement) {
  if (reading.has_routes()) return;
  const Plan& plan = reading.plan();
  const auto* window = plan.limits.size() == 1 ? std::get_if<WindowConfig>(&plan.limits[0].kind) : nullptr;
  if (!window || window->spread || of_group(plan.limits[0]) || !reading.all_shared()) return;
  const Time end = reading.journal().ended, interval = window->interval.count();
  const auto number = [&](Time at) { return reading.wall(at) / interval; };
  // A process that was killed may have booked a horizon ahead.
  const bool killed =
      std::ranges::any_of(reading.journal().faults, [](auto& f) { return f.kind == Fault::Kind::killed; });
  if (killed || !reading.calm(end - 2 * kLong, end) || number(end - 2 * kLong) != number(end)) return;
  double units = 0;
  for (const Left& left : reading.left()) {
    if (number(left.at) == number(end)) units += left.units;
  }
  if (units + reading.heaviest() > 0.99 * window->reservoir) return;
  for (std::size_t id = 0; id < reading.journal().requests.size(); ++id) {
    const Request& request = reading.journal().requests[id];
    if (!held_at_end(reading, request)) continue;
    breaks(judgement, "room",
           said("%.0f of %d units have left in the window, and request %zu of process %d, come at %s, may not", units,
                window->reservoir, id, request.member, moment(request.arrived).c_str()),
           units);
  }
}

}  // namespace penstock::simulation
