// SPDX-License-Identifier: Apache-2.0
// Asks are numbered in the order in which they were sent, which is also the order of their deadlines.
#include "redis/limits/pending_asks.h"

#include <algorithm>
#include <utility>

#include "flow/limit_remap.h"

namespace penstock::redis {

PendingAsks::PendingAsks(loop::Loop& loop, flow::Time timeout, std::function<void(const Asking&)> too_late)
    : loop_(loop), timeout_(timeout), too_late_(std::move(too_late)), timer_(loop, [this] { look_at_clock(); }) {}

/// An ask that was sent before an earlier change is remapped once more.
void PendingAsks::change(const PlacesOf& places_of, std::span<const flow::LimitIndex> moved) {
  for (auto& asking : pending_asks_) {
    if (!asking) continue;
    if (!asking->former_places) asking->former_places = places_of(asking->lane());
    for (flow::LimitIndex& place : *asking->former_places) place = flow::renumbered(place, moved);
    for (flow::LimitIndex& limit : asking->without) limit = flow::renumbered(limit, moved);
  }
}

PendingAsks::Id PendingAsks::add(flow::Time now, Asking asking) {
  asking.until = now + timeout_;
  pending_asks_.emplace_back(std::move(asking));
  if (!timer_.running()) sleep();
  return first_ + pending_asks_.size() - 1;
}

Asking PendingAsks::take(Id id) {
  const Asking taken = std::move(*std::exchange(pending_asks_[id - first_], std::nullopt));
  for (; !pending_asks_.empty() && !pending_asks_.front(); ++first_) pending_asks_.pop_front();
  return taken;
}

/// Answers do not move the timer: it looks again when it fires.
void PendingAsks::look_at_clock() {
  const auto now = loop_.now();
  for (not_late_ = std::max(not_late_, first_); not_late_ < first_ + pending_asks_.size(); ++not_late_) {
    auto& asking = pending_asks_[not_late_ - first_];
    if (!asking) continue;
    if (asking->until > now) break;
    asking->late = true;
    const Asking late = *asking;
    too_late_(late);
  }
  sleep();
}

void PendingAsks::sleep() {
  for (not_late_ = std::max(not_late_, first_); not_late_ < first_ + pending_asks_.size(); ++not_late_) {
    if (const auto& asking = pending_asks_[not_late_ - first_]) return timer_.start(asking->until);
  }
}

}  // namespace penstock::redis
