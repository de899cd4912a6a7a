// SPDX-License-Identifier: Apache-2.0
// Changes the settings, the limits and the limiter of an upstream while requests wait and are in flight.
#include <utility>

#include "flow/scheduler.h"

namespace penstock::flow {

template <typename Use>
void Scheduler::each_lane(Use use) {
  use(nameless_);
  for (auto& [group, lane] : lanes_) use(*lane);
}

void Scheduler::change(Time now, const Settings& settings, std::span<const LimitIndex> moved, Commands& commands) {
  time_passed(now);
  settings_ = settings;
  slots_ = slots_of(settings);
  limited_.by = renumbered(limited_.by, moved);
  forbidden_ = {};
  no_permit_ = false;
  resume_at_ = 0;
  forget_what_was_told(now);
  each_lane([&](Lane& lane) {
    lane.renumber(moved);
    lane.no_permit = false;
    lane.admit_all(requests_);  // no waiting request is refused because the queue became shorter
    const std::size_t granted = lane.flying + lane.departures().size();
    if (granted > 0) limiter_->count_existing(now, lane.group(), granted);
    rest(now, lane);  // also lanes that want nothing, which are in no list
  });
  run_until_stable(now, commands);
}

void Scheduler::replace(Limiter& limiter) {
  limiter_ = &limiter;
  has_reservation_ = false;
  each_lane([&](Lane& lane) {
    if (lane.asking()) lane.answered(), lane.asks_to_resume = false, --under_way_;
    lane.line.reset();
    lane.disown_departures();
  });
}

// Lanes may ask again in the order in which they were told to wait.
void Scheduler::forget_what_was_told(Time now) {
  stopped_until_ = std::min(stopped_until_, now);
  for (LaneList* list : {&told_, &awaiting_}) {
    for (std::size_t lanes = list->size(); lanes > 0; --lanes) {
      Lane& lane = list->front();
      LaneList::move(lane, nullptr);
      rest(now, lane);
    }
  }
}

}  // namespace penstock::flow
