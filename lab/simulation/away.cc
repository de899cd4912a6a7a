// SPDX-License-Identifier: Apache-2.0
// Judges what is said and done while Redis is away, what pauses hold, what is cut, and what is left in Redis.
#include <algorithm>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

/// What the /status of one process said, by time.
struct Said {
  Time at;
  bool degraded;
};

/// Whether the process said this `degraded` at any moment of that time; before its first word it counts as false.
bool said_in(const std::vector<Said>& words, Time from, Time until, bool degraded) {
  auto next = std::ranges::upper_bound(words, from, {}, &Said::at);
  if (degraded == (next != words.begin() && std::prev(next)->degraded)) return true;
  for (; next != words.end() && next->at <= until; ++next) {
    if (next->degraded == degraded) return true;
  }
  return false;
}

/// Whether all processes can hear of a pause: it reaches the others through Redis, so no fault may overlap that time.
bool all_hear(const Reading& reading, Time from, Time until) {
  return std::ranges::none_of(reading.journal().faults, [&](const Fault& fault) {
    return fault.kind != Fault::Kind::paused && fault.at <= until && end_of(fault, reading.journal().ended) >= from;
  });
}

/// A departure that was booked with Redis may still leave.
void judge_held(const Reading& reading, const Left& one, const std::vector<Said>& words, Time booked,
                Judgement& judgement) {
  if (!reading.journal().requests[one.id].without_redis) return;
  if (said_in(words, std::max<Time>(0, one.at - booked), one.at, false)) return;
  breaks(judgement, "degraded", said("request %zu left at %s, without Redis", one.id, moment(one.at).c_str()), 1);
}

}  // namespace

void judge_degraded(const Reading& reading, Judgement& judgement) {
  std::vector<std::vector<Said>> words(reading.plan().members.size());
  for (const Standing& one : reading.journal().standings)
    words[static_cast<std::size_t>(one.member)].push_back({one.at, one.degraded});
  // However a departure is booked, it leaves within a horizon.
  const Time booked = flow::kHorizon + reading.plan().redis_timeout.count();
  const auto needs_redis = [](auto& limit) { return limit.shared && !counts_flights(limit); };
  const bool holds =
      least_use_without_redis(reading.plan().when_down) == 0 && std::ranges::any_of(reading.plan().limits, needs_redis);
  for (const Left& one : reading.left()) {
    const Request& request = reading.journal().requests[one.id];
    const auto& own = words[static_cast<std::size_t>(request.member)];
    if (holds) judge_held(reading, one, own, booked, judgement);
    if (said_in(own, std::max<Time>(0, one.at - booked), one.at, request.without_redis)) continue;
    breaks(judgement, "degraded",
           said("request %zu left process %d at %s %s Redis, and /status said degraded %d", one.id, request.member,
                moment(one.at).c_str(), request.without_redis ? "without" : "with", request.without_redis ? 0 : 1),
           1);
  }
}

void judge_pauses(const Reading& reading, Judgement& judgement) {
  for (const Pause& pause : reading.journal().pauses) {
    const Time own = pause.at + flow::kHorizon, all = own + reading.longest_trip() + reading.clock_error();
    const bool heard = reading.all_shared() && all_hear(reading, pause.at - kSecond, pause.until);
    auto one = std::ranges::upper_bound(reading.left(), own, {}, &Left::at);
    for (; one != reading.left().end() && one->at < pause.until - reading.clock_error(); ++one) {
      const Request& request = reading.journal().requests[one->id];
      if (pause.group >= 0 && request.group != pause.group) continue;
      const bool concerns = request.member == pause.member || (heard && one->at > all);
      const bool open = reading.plan().when_down == WhenDown::open && request.without_redis;
      if (!concerns || open) continue;
      breaks(judgement, "pauses",
             said("request %zu left process %d at %s, in a pause that process %d heard of at %s, until %s", one->id,
                  request.member, moment(one->at).c_str(), pause.member, moment(pause.at).c_str(),
                  moment(pause.until).c_str()),
             static_cast<double>(one->at - pause.at) / 1e6);
      break;
    }
  }
}

void judge_cuts(const Reading& reading, Judgement& judgement) {
  const auto excused = [&](const Request& request) {
    return std::ranges::any_of(reading.journal().faults, [&](const Fault& fault) {
      const bool concerns = fault.member < 0 || fault.member == request.member;
      const auto may = [&](auto& limit) { return may_cut(reading.plan(), fault, limit); };
      const Time until = end_of(fault, reading.journal().ended) + 2 * kSecond;
      return concerns && fault.at <= request.ended && request.ended <= until &&
             std::ranges::any_of(reading.plan().limits, may);
    });
  };
  for (const Left& one : reading.left()) {
    const Request& request = reading.journal().requests[one.id];
    if (request.end != Request::End::cut || excused(request)) continue;
    breaks(judgement, "cuts",
           said("request %zu of process %d was cut at %s", one.id, request.member, moment(request.ended).c_str()), 1);
  }
}

void judge_keys(const Reading& reading, Judgement& judgement) {
  for (const std::string_view key : reading.journal().keys_left) {
    if (key.ends_with(":born") || key.ends_with(":labels")) continue;
    breaks(judgement, "keys", said("left in Redis for ever: %.*s", static_cast<int>(key.size()), key.data()), 1);
  }
}

}  // namespace penstock::simulation
