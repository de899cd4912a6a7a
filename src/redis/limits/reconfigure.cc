// SPDX-License-Identifier: Apache-2.0
// How a limiter changes its limits while asks are under way. Redis keeps states under the names of limits, and every
// call tells the parameters. So a call sent from now on is about the new limits, and the answer to an earlier call is
// read by the numbers that limits had then.
#include <algorithm>
#include <utility>

#include "flow/limit_remap.h"
#include "redis/limits/shared_limiter.h"

namespace penstock::redis {

using flow::Booking;
using flow::LimitIndex;
using flow::Time;
using Stop = Booking::Stop;

namespace {

bool looks_back(const LimitConfig& limit) {
  const bool by_times =
      std::holds_alternative<SlidingWindowConfig>(limit.kind) || std::holds_alternative<WindowConfig>(limit.kind);
  return limit.shared && by_times;
}

bool is_own_semaphore(const LimitConfig& limit) {
  return !limit.shared && std::holds_alternative<SemaphoreConfig>(limit.kind);
}

bool is_shared_by_all(const LimitConfig& limit) {
  const bool passes_in_time = !std::holds_alternative<SemaphoreConfig>(limit.kind);
  return limit.shared && passes_in_time && limit.per == LimitConfig::Per::upstream;
}

bool hangs_on_messages(const LimitConfig& limit) {
  const bool waits_for_others =
      std::holds_alternative<SemaphoreConfig>(limit.kind) || std::holds_alternative<CounterConfig>(limit.kind);
  return limit.shared && waits_for_others;
}

bool looks_back_on_groups(const LimitConfig& limit) {
  return looks_back(limit) && limit.per == LimitConfig::Per::group;
}

}  // namespace

void SharedLimiter::compare_kept_limits() {
  own_limits_ = script_args_.shared() < limits_.size();
  own_semaphore_ = std::ranges::any_of(limits_, is_own_semaphore);
  shares_limit_of_all_ = std::ranges::any_of(limits_, is_shared_by_all);
  needs_messages_ = std::ranges::any_of(limits_, hangs_on_messages);
  looks_back_ = std::ranges::any_of(limits_, looks_back);
  looks_back_on_groups_ = std::ranges::any_of(limits_, looks_back_on_groups);
  shared_since_.resize(limits_.size());
}

/// Late departures are reported first, under the old limits.
void SharedLimiter::change(Time now, const std::vector<LimitConfig>& limits) {
  late_.tell_now();
  const auto moved = flow::limit_remap(limits_, limits);
  rename_in_asks(moved);
  const auto before = std::exchange(limits_, limits);
  ++changes_;
  script_args_.set_limits(limits_);
  whole_.set_limits(limits_);
  quarantine_.renumber([&](LimitIndex limit) {
    const LimitIndex place = flow::renumbered(limit, moved);
    return place != flow::kNoLimit && script_args_.shares(place) ? place : flow::kNoLimit;
  });
  shadow_.change(now,
                 shared_.config().when_down == WhenDown::share ? quarantine_.all() : std::vector<Quarantine::Part>{});
  note_since_when_shared(before, moved);
  compare_kept_limits();
  counter_resets_.change(before, limits_, moved);
  semaphores_.change(limits_);
  wait_list_.forget_times();
  owner_.standing_changed();
}

void SharedLimiter::count_existing(Time now, std::string_view group, std::size_t departures) {
  shadow_.all().count_existing(now, group, departures);
  semaphores_.count_existing(group, departures);
}

/// Asks that were sent before an earlier change are remapped once more.
void SharedLimiter::rename_in_asks(std::span<const LimitIndex> moved) {
  const auto places = script_args_.places();
  pending_asks_.each([&](Asking& asking) {
    if (!std::exchange(asking.former, true)) asking.places = places;
    for (LimitIndex& place : asking.places) place = flow::renumbered(place, moved);
    for (LimitIndex& limit : asking.without) limit = flow::renumbered(limit, moved);
  });
}

void SharedLimiter::note_since_when_shared(const std::vector<LimitConfig>& before, std::span<const LimitIndex> moved) {
  const auto known =
      std::exchange(shared_since_, std::vector<flow::ConfigEpoch>(limits_.size(), shadow_.all().epoch()));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].shared && moved[i] != flow::kNoLimit) shared_since_[static_cast<std::size_t>(moved[i])] = known[i];
  }
}

/// The present place of a number in the answer to this ask.
LimitIndex SharedLimiter::place_of(const Asking& asking, std::int64_t number) const {
  if (!asking.former || number < 0) return script_args_.place_of(number);
  const auto index = static_cast<std::size_t>(number);
  return index < asking.places.size() ? asking.places[index] : flow::kNoLimit;
}

/// The lane keeps what the ask was granted. What the answer in booking_ says about waiting or refusal came from limits
/// that no longer exist, so it becomes "ask again now".
void SharedLimiter::invalidate_wait(const Asking& asking) {
  wait_list_.forget_times();
  const bool asks_anyway = booking_.stop == Stop::turn && booking_.ask_again == 0 && !booking_.departures.empty();
  if (booking_.departures.size() == asking.count || asks_anyway) return;
  if (booking_.stop != Stop::turn) booking_.scope = Booking::Scope::group;
  booking_.stop = Stop::turn;
  booking_.ask_again = booking_.not_before = shared_.loop().now();
}

/// The place of the limit that continues this one in Redis.
LimitIndex SharedLimiter::shared_as(const LimitConfig& limit) const {
  const auto same = [&](const LimitConfig& other) { return other.shared && flow::same_limit(other, limit); };
  const auto found = std::ranges::find_if(limits_, same);
  return found == limits_.end() ? flow::kNoLimit : static_cast<LimitIndex>(found - limits_.begin());
}

/// The limits in which a departure of that config epoch does not count in Redis.
std::vector<LimitIndex> SharedLimiter::not_counting(std::string_view group, flow::ConfigEpoch epoch) const {
  std::vector<LimitIndex> limits = quarantine_.of(group);
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (shared_since_[i] > epoch) limits.push_back(static_cast<LimitIndex>(i));
  }
  return limits;
}

}  // namespace penstock::redis
