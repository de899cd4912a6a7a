// SPDX-License-Identifier: Apache-2.0
// A limit under whose key Redis has a foreign value is quarantined: it goes by `whenDown`, without the other processes,
// and each second this process tries whether the value has gone.
#include <algorithm>
#include <utility>

#include "redis/limits/shared_limiter.h"

namespace penstock::redis {

using flow::Booking;
using flow::Time;
using Scope = Booking::Scope;

/// The limit that can be quarantined, and its group's key, if that is why a script has failed.
std::optional<std::pair<flow::LimitIndex, std::string_view>> SharedLimiter::limit_to_quarantine(
    const Failure& why) const {
  constexpr std::string_view kCorrupt = "CORRUPT ";
  if (why.kind != FailureKind::corrupt) return std::nullopt;
  std::string_view key = why.text;
  key.remove_prefix(std::min(kCorrupt.size(), key.size()));
  const auto found = script_args_.limit_of(key.substr(0, key.find(' ')));
  if (!found) return std::nullopt;
  const LimitConfig& limit = limits_[static_cast<std::size_t>(found->first)];
  if (std::holds_alternative<SemaphoreConfig>(limit.kind)) return std::nullopt;  // each ask has to tell what is held
  return found;
}

/// True if the ask has failed because of a limit that can be quarantined, and now is.
bool SharedLimiter::quarantine(const Asking& asking, const Failure& why) {
  const auto found = limit_to_quarantine(why);
  if (!found || std::ranges::find(asking.without, found->first) != asking.without.end()) return false;
  const Quarantine::Part one{found->first, found->second.empty() ? "" : asking.group};
  if (quarantine_.add(one)) {
    shared_.notice(LogLevel::error, named(one) + " goes on without Redis: " + why.text);
    share_apart();
    owner_.standing_changed();
  }
  return quarantine_.contains(one.limit, one.group);
}

/// Sends the same ask once more without the quarantined limits, within its remaining time. Waiting lanes are woken,
/// since one of these limits may have told them to wait.
void SharedLimiter::ask_without(PendingAsks::Id id) {
  const Time now = shared_.loop().now();
  Asking& asking = pending_asks_.find(id);
  semaphores_.failed(asking.group, asking.claims);
  booking_.clear();
  if (asking.late) {
    pending_asks_.take(id);
  } else if (state_ != State::connected) {
    answer_alone(pending_asks_.take(id));
  } else if (release(asking); !allowed_here(now, asking, booking_)) {
    answer(pending_asks_.take(id).group);
  } else if (!send(now, id)) {
    answer_alone(pending_asks_.take(id));
  }
  wake_lanes();
}

/// Whether the limits that this process keeps by itself (not shared, or quarantined) allow a departure about when the
/// answer comes, and from when on. One departure at a time: the next depends on when Redis lets this one go. It counts
/// from now on, so that no other lane that asks meanwhile takes its place.
bool SharedLimiter::allowed_here(Time now, Asking& asking, Booking& booking) {
  asking.base = shadow_.remembered(now);
  asking.reserved = false;
  asking.without = quarantine_.of(asking.group);
  const WhenDown rule = shared_.config().when_down;
  const bool departs = asking.weight > 0;  // weight 0 takes permits only, and no semaphore is ever quarantined
  if (departs && !asking.without.empty() && (rule == WhenDown::wait || rule == WhenDown::refuse)) {
    shadow_.answer(now, asking.ask(), rule, booking);
    booking.limited_by = asking.without.front();
    booking.scope = scope_of(booking.limited_by);
    return false;
  }
  const bool some_apart = departs && !asking.without.empty() && rule == WhenDown::share;
  if (!own_limits_ && !some_apart) return true;
  asking.count = 1;
  const auto counts = [&](flow::LimitIndex limit) { return kept_here(asking, limit); };
  shadow_.all().look(now, asking.ask(), booking, {.counts = counts, .departures = reserved_, .units = reserved_units_});
  if (booking.departures.empty()) return false;
  const flow::Departure first = booking.departures.front();
  booking.clear();
  asking.base = shadow_.remembered(first.at);
  if (first.at <= now + clock_.round_trip()) {
    asking.reserved = true;
    ++reserved_, reserved_units_ += asking.weight;
    return true;
  }
  booking.scope = first.limited_by >= 0 ? scope_of(first.limited_by) : Scope::group;
  booking.limited_by = first.limited_by;
  booking.not_before = first.at;
  booking.ask_again = first.at - clock_.round_trip();
  return false;
}

/// Whether this process keeps a limit by itself, as far as that ask is concerned.
bool SharedLimiter::kept_here(const Asking& asking, flow::LimitIndex limit) const {
  if (!script_args_.shares(limit)) return true;
  const bool apart = std::ranges::find(asking.without, limit) != asking.without.end();
  return apart && asking.weight > 0 && shared_.config().when_down == WhenDown::share;
}

/// Whether the limits kept here still allow what Redis has granted for `at`, which may become later, up to now. Each of
/// several asks under way was allowed by an estimate, and Redis may have put others off to the same time since.
bool SharedLimiter::still_allowed_here(const Asking& asking, Time& at) {
  if (!asking.reserved) return true;
  const auto counts = [&](flow::LimitIndex limit) { return kept_here(asking, limit); };
  const auto from = shadow_.all().allowed_from(at, asking.group, asking.weight, asking.epoch, counts);
  if (!from || *from > std::max(at, shared_.loop().now())) return false;
  at = *from;
  return true;
}

void SharedLimiter::release(const Asking& asking) {
  if (!asking.reserved) return;
  --reserved_, reserved_units_ -= asking.weight;
  permit_freed_ = own_semaphore_;
}

/// Asks Redis whether the value is still foreign. Once Redis has none for that limit, it is told what this process has
/// let go.
void SharedLimiter::try_together(const Quarantine::Part& one) {
  replay_quarantined(one, {}, [this, one] {
    replay_quarantined(one, shadow_.all().state(one.limit, one.group), [this, one] { leave_quarantine(one); });
  });
}

void SharedLimiter::replay_quarantined(const Quarantine::Part& one, std::string_view state,
                                       std::function<void()> taken) {
  if (generation_.empty()) return;
  call_.clear();
  script_args_.begin_replay(call_, generation_, ScriptArgs::Replay::afterwards, {});
  script_args_.add_state(call_, one.limit, key_of(one.group), state);
  call(Script::replay,
       [self = self_.ref(), changes = changes_, taken = std::move(taken)](const Outcome& outcome, Time) {
         if (!self || self->changes_ != changes || !outcome) return;
         auto elements = outcome->elements();
         const bool open = elements.next().text() == "open";
         elements.next(), elements.next();  // now, and when to ask again
         if (open && elements.next().integer() == 0) taken();
       });
}

void SharedLimiter::leave_quarantine(const Quarantine::Part& one) {
  if (!quarantine_.remove(one)) return;
  share_apart();
  owner_.standing_changed();
  shared_.notice(LogLevel::info, named(one) + " is shared again");
  wake_lanes();
}

void SharedLimiter::share_apart() {
  if (shared_.config().when_down == WhenDown::share)
    shadow_.quarantine(shared_.loop().now(), quarantine_.all(), alive_);
}

std::string SharedLimiter::named(const Quarantine::Part& one) const {
  const auto& limit = limits_[static_cast<std::size_t>(one.limit)];
  return "limit " + std::string(limit_name(limit)) + " of " + name_ + (one.group.empty() ? "" : " for one group");
}

Scope SharedLimiter::scope_of(flow::LimitIndex limit) const {
  const bool of_group = limits_[static_cast<std::size_t>(limit)].per == LimitConfig::Per::group;
  return of_group ? Scope::group : Scope::upstream;
}

}  // namespace penstock::redis
