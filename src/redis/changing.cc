// SPDX-License-Identifier: Apache-2.0
// How a booker comes by other limits while asks are under way. What Redis keeps it keeps under the names of limits, and
// every call tells the parameters: so what is sent from now on is of the new limits, and what was sent before is
// understood by the numbers that limits had then.
#include <algorithm>
#include <utility>

#include "flow/moved_limits.h"
#include "redis/redis_booker.h"

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

void RedisBooker::look_at_limits() {
  own_limits_ = spelling_.shared() < limits_.size();
  own_semaphore_ = std::ranges::any_of(limits_, is_own_semaphore);
  shares_limit_of_all_ = std::ranges::any_of(limits_, is_shared_by_all);
  needs_messages_ = std::ranges::any_of(limits_, hangs_on_messages);
  looks_back_ = std::ranges::any_of(limits_, looks_back);
  looks_back_on_groups_ = std::ranges::any_of(limits_, looks_back_on_groups);
  shared_since_.resize(limits_.size());
}

/// What left late is told by the names of before.
void RedisBooker::change(Time now, const std::vector<LimitConfig>& limits) {
  late_.tell_now();
  const auto moved = flow::moved_limits(limits_, limits);
  rename_in_asks(moved);
  const auto before = std::exchange(limits_, limits);
  ++changes_;
  spelling_.set_limits(limits_);
  whole_.set_limits(limits_);
  apart_.renumber([&](LimitIndex limit) {
    const LimitIndex place = flow::renumbered(limit, moved);
    return place != flow::kNoLimit && spelling_.shares(place) ? place : flow::kNoLimit;
  });
  shadow_.change(now, office_.config().when_down == WhenDown::share ? apart_.all() : std::vector<Apart::One>{});
  note_since_when_shared(before, moved);
  look_at_limits();
  resets_.change(before, limits_, moved);
  semaphores_.change(limits_);
  told_.forget_times();
  office_.standing_changed();
}

void RedisBooker::adopt(Time now, std::string_view group, std::size_t departures) {
  shadow_.all().adopt(now, group, departures);
  semaphores_.adopt(group, departures);
}

/// Those that were sent before an earlier change are two names back.
void RedisBooker::rename_in_asks(std::span<const LimitIndex> moved) {
  const auto places = spelling_.places();
  asks_.each([&](Asking& asking) {
    if (!std::exchange(asking.former, true)) asking.places = places;
    for (LimitIndex& place : asking.places) place = flow::renumbered(place, moved);
    for (LimitIndex& limit : asking.without) limit = flow::renumbered(limit, moved);
  });
}

void RedisBooker::note_since_when_shared(const std::vector<LimitConfig>& before, std::span<const LimitIndex> moved) {
  const auto known = std::exchange(shared_since_, std::vector<flow::Era>(limits_.size(), shadow_.all().era()));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].shared && moved[i] != flow::kNoLimit) shared_since_[static_cast<std::size_t>(moved[i])] = known[i];
  }
}

/// Of a number in the answer to it.
LimitIndex RedisBooker::place_of(const Asking& asking, std::int64_t number) const {
  if (!asking.former || number < 0) return spelling_.place_of(number);
  const auto index = static_cast<std::size_t>(number);
  return index < asking.places.size() ? asking.places[index] : flow::kNoLimit;
}

/// What it is granted it keeps; whatever it was told to wait for, or refused by, was a matter of limits that are no
/// more. booking_ says so.
void RedisBooker::let_ask_anew(const Asking& asking) {
  told_.forget_times();
  const bool asks_anyway = booking_.stop == Stop::turn && booking_.ask_again == 0 && !booking_.departures.empty();
  if (booking_.departures.size() == asking.count || asks_anyway) return;
  if (booking_.stop != Stop::turn) booking_.scope = Booking::Scope::group;
  booking_.stop = Stop::turn;
  booking_.ask_again = booking_.not_before = office_.loop().now();
}

/// The place of the limit as which it goes on in Redis.
LimitIndex RedisBooker::shared_as(const LimitConfig& limit) const {
  const auto same = [&](const LimitConfig& other) { return other.shared && flow::same_limit(other, limit); };
  const auto found = std::ranges::find_if(limits_, same);
  return found == limits_.end() ? flow::kNoLimit : static_cast<LimitIndex>(found - limits_.begin());
}

/// The limits in which a departure of that era does not count in Redis.
std::vector<LimitIndex> RedisBooker::not_counting(std::string_view group, flow::Era era) const {
  std::vector<LimitIndex> limits = apart_.of(group);
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (shared_since_[i] > era) limits.push_back(static_cast<LimitIndex>(i));
  }
  return limits;
}

}  // namespace penstock::redis
