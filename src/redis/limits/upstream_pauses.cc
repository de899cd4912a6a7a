// SPDX-License-Identifier: Apache-2.0
// Where a shared semaphore starts lanes without asking Redis, other processes are told of a pause as well.
#include "redis/limits/upstream_pauses.h"

#include <charconv>
#include <string>
#include <utility>

namespace penstock::redis {

using flow::Time;

namespace {
constexpr Time kLongest = 24LL * 3600 * 1'000'000;
}

UpstreamPauses::UpstreamPauses(UpstreamCalls& calls, Shadow& shadow, const Semaphores& semaphores)
    : calls_(calls), shadow_(shadow), semaphores_(semaphores) {}

void UpstreamPauses::begin(Time now, std::string_view group, Time until) {
  learn(now, group, until);
  if (calls_.connected()) {
    tell(now, group, until);
  } else {
    unsent_.extend(now, group, until);
  }
}

void UpstreamPauses::learn(Time now, std::string_view group, Time until) {
  shadow_.all().pause(now, group, until);
  learned_.extend(now, group, until);
  until_ = std::max(until_, until);
}

/// That of the upstream is shortened in Redis even if it is not known here. Those of groups which no process knows, as
/// the one that was asked for them has died, stay until one asks.
bool UpstreamPauses::shorten(Time latest) {
  const Time now = calls_.now(), length = std::max<Time>(0, latest - now);
  if (calls_.connected()) {
    const auto nothing = [](const Outcome&, Time) {};
    calls_.pause({}, length, nothing, true);
    learned_.each(latest, [&](const std::string& group, Time) {
      if (!group.empty()) calls_.pause(group, length, nothing, true);
    });
  }
  shadow_.all().shorten_pauses(now, latest);
  unsent_.shorten(latest);
  until_ = std::min(until_, latest);
  return learned_.shorten(latest);
}

void UpstreamPauses::some_lane(Time length) {
  until_ = std::max(until_, calls_.now() + std::clamp<Time>(length, 0, kLongest));
}

void UpstreamPauses::message(std::string_view words) {
  Time length = 0;
  if (!words.empty()) std::from_chars(words.data() + 1, words.data() + words.size(), length);
  some_lane(length);
}

void UpstreamPauses::tell_unsent() {
  const Time now = calls_.now();
  std::exchange(unsent_, {}).each(now, [&](const std::string& group, Time until) { tell(now, group, until); });
}

void UpstreamPauses::tell_all() {
  const Time now = calls_.now();
  learned_.each(now, [&](const std::string& group, Time until) { tell(now, group, until); });
}

void UpstreamPauses::tell(Time now, std::string_view group, Time until) {
  if (until <= now) return;
  calls_.pause(group, until - now,
               [alive = calls_.ref(), this, name = std::string(group), until](const Outcome& outcome, Time) {
                 if (!alive || calls_.worked(outcome)) return;
                 unsent_.extend(calls_.now(), name, until);
               });
  if (semaphores_.any()) calls_.publish(std::string(kMessage) + " " + std::to_string(until - now));
}

}  // namespace penstock::redis
