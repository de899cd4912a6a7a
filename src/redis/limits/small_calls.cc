// SPDX-License-Identifier: Apache-2.0
// What a limiter does with the permits that it holds: starts lanes by them without a call, goes on with them while
// Redis is gone, renews them, and takes messages about them.
#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "redis/limits/shared_limiter.h"

namespace penstock::redis {

using flow::Booking;
using flow::Time;
using Scope = Booking::Scope;
using Stop = Booking::Stop;

namespace {
constexpr Time kLongestPause = 24LL * 3600 * 1'000'000;
}

/// If only permits are needed, permits of flights that landed start waiting lanes of this process. A pause that another
/// process was asked for is in Redis; answers to renewals tell of it, too, in case the message is lost.
bool SharedLimiter::start_at_hand(Time now, const flow::Ask& ask, Booking& booking) {
  const bool only_permits = semaphores_.permits_only() || (ask.weight == 0 && !own_limits_);
  if (!only_permits || (ask.weight > 0 && now < paused_until_)) return false;
  const auto at_hand = semaphores_.take_at_hand(ask.group, ask.count);
  if (!at_hand) return false;
  const flow::ConfigEpoch epoch = shadow_.all().epoch();
  for (std::size_t i = 0; i < at_hand->count; ++i) {
    shadow_.book(ask.group,
                 booking.departures.emplace_back(flow::Departure{.at = now, .weight = ask.weight, .epoch = epoch}));
  }
  if (at_hand->by != flow::kNoLimit) stop_for_permit(at_hand->by, booking);
  return true;
}

void SharedLimiter::grant_alone(Time now, const flow::Ask& ask, Booking& booking) {
  shadow_.answer(now, ask, rule(), booking);
  alone_units_ += static_cast<std::int64_t>(booking.departures.size()) * ask.weight;
}

/// Answers asks while Redis is not asked. Flights unknown to Redis begin only with permits that are held, or by `open`.
void SharedLimiter::go_by_rule(Time now, const flow::Ask& ask, Booking& booking) {
  if (!semaphores_.any() || rule() != WhenDown::share) {
    grant_alone(now, ask, booking);
    return semaphores_.began_alone(ask.group, booking.departures.size());
  }
  const auto at_hand = semaphores_.at_hand_alone(ask.group, ask.count);
  flow::Ask bounded = ask;
  bounded.count = at_hand.count;
  if (bounded.count > 0) grant_alone(now, bounded, booking);
  const std::size_t departures = booking.departures.size();
  const bool for_permit = departures == at_hand.count && departures < ask.count;
  semaphores_.use_alone(ask.group, departures, for_permit ? at_hand.by : flow::kNoLimit, ask.count - departures);
  if (for_permit) stop_for_permit(at_hand.by, booking);
}

void SharedLimiter::stop_for_permit(flow::LimitIndex semaphore, Booking& booking) const {
  const LimitConfig& config = semaphores_.config(semaphore);
  booking.stop = config.mode == LimitConfig::Mode::refuse ? Stop::refused : Stop::permit;
  booking.scope = config.per == LimitConfig::Per::group ? Scope::group : Scope::upstream;
  booking.limited_by = semaphores_.place_of(semaphore);
  booking.ask_again = booking.not_before = 0;
}

/// If the answer came too late, all its permits are spare.
void SharedLimiter::take_permits(const Asking& asking, Time sent) {
  const std::size_t departures = asking.late ? 0 : reply_.departures.size();
  if (asking.former) semaphores_.adopt_unclaimed(asking.group, asking.claims, departures);
  if (asking.claims.empty()) return;
  const bool awaits = reply_.stop == Stop::permit && !asking.late;
  const auto semaphore = awaits ? semaphores_.at(place_of(asking, reply_.limit)) : flow::kNoLimit;
  semaphores_.answered(asking.group, asking.claims, reply_.permits, sent, departures, semaphore,
                       asking.count - departures);
}

/// Also renews a semaphore that is gone, with its former arguments.
void SharedLimiter::renew(const Semaphores::Named& which, const std::string& told) {
  const auto place = semaphores_.place_of(which.limit);
  std::optional<ScriptArgs> former;
  if (place == flow::kNoLimit) {
    former.emplace(shared_.config().prefix, name_, shared_.who(), std::vector{semaphores_.config(which.limit)});
  }
  call_.clear();
  (former ? *former : script_args_)
      .permits(call_, shared_.fresh_generation(), alive_, which.group, former ? 0 : place, told);
  call(Script::permits, [self = self_.ref(), which](const Outcome& outcome, Time sent) {
    if (!self) return;
    if (!self->worked(outcome)) {
      if (!outcome && outcome.error().kind == FailureKind::corrupt) self->semaphores_.met_foreign(which);
      return;
    }
    auto elements = outcome->elements();
    const auto at = elements.next().integer();
    Semaphores::Answer answer;
    for (std::int64_t* number : {&answer.granted, &answer.lost, &answer.sharers, &answer.look}) {
      *number = elements.next().integer();
    }
    const auto opens = elements.next().integer(), paused = elements.next().integer();
    self->some_lane_pauses(paused);
    self->semaphores_.renewed(which, sent, answer, std::max<Time>(0, opens - at));
  });
}

/// "<word> <number> <key>"
void SharedLimiter::about_permits(std::string_view words) {
  const auto gap = words.find(' '), next = words.find(' ', gap + 1);
  if (gap == words.npos || next == words.npos) return;
  const auto limit = script_args_.limit_of(words.substr(next + 1));
  std::int64_t number = 0;
  const bool read = std::from_chars(words.data() + gap + 1, words.data() + next, number).ec == std::errc{};
  if (!limit || !read) return;
  semaphores_.message({semaphores_.at(limit->first), std::string(limit->second)}, words.substr(0, gap), number);
}

/// " <microseconds>"
void SharedLimiter::paused_elsewhere(std::string_view words) {
  Time length = 0;
  if (!words.empty()) std::from_chars(words.data() + 1, words.data() + words.size(), length);
  some_lane_pauses(length);
}

void SharedLimiter::some_lane_pauses(Time length) {
  paused_until_ = std::max(paused_until_, shared_.loop().now() + std::clamp<Time>(length, 0, kLongestPause));
}

}  // namespace penstock::redis
