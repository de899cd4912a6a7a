// SPDX-License-Identifier: Apache-2.0
// Renews in time, tells news once a turn, and cuts what is no longer held.
#include "redis/semaphores.h"

#include <algorithm>
#include <utility>

namespace penstock::redis {

using flow::LimitIndex;
using flow::Time;
using Scope = flow::Booking::Scope;

namespace {
constexpr Time kLooksInALease = 24;  // the fence is noticed so soon after
}

Semaphores::Semaphores(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::BookerEvents& events,
                       HashOf hash_of, Renew renew)
    : loop_(loop),
      limits_(limits),
      events_(events),
      hash_of_(std::move(hash_of)),
      renew_(std::move(renew)),
      turn_end_(loop, [this] { tell_news(); }),
      timer_(loop, [this] { look_at_clock(); }) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!limits[i].shared || !std::holds_alternative<SemaphoreConfig>(limits[i].kind)) continue;
    places_.push_back(static_cast<LimitIndex>(i));
    const Time one = lease(places_.back());
    shortest_ = shortest_ == 0 ? one : std::min(shortest_, one);
  }
}

std::int64_t Semaphores::One::waiting() const {
  std::int64_t sum = 0;
  for (const auto& [lane, count] : awaited) sum += static_cast<std::int64_t>(count);
  return sum;
}

Time Semaphores::lease(LimitIndex place) const {
  return std::get<SemaphoreConfig>(limits_[static_cast<std::size_t>(place)].kind).lease.count();
}

Semaphores::One& Semaphores::one(LimitIndex place, std::string_view group) {
  if (!of_group(place)) group = {};
  if (!timer_.running()) timer_.start(loop_.now() + shortest_ / kLooksInALease);
  return all_.try_emplace({place, std::string(hash_of_(group))}, lease(place), group).first->second;
}

template <typename Use>
void Semaphores::each_of(std::string_view group, Use use) {
  for (const LimitIndex place : places_) {
    if (!of_group(place) || !group.empty()) use(one(place, group), place);
  }
}

// ---- asks -----------------------------------------------------------------------------------------------------------

Semaphores::Claims Semaphores::claim(std::string_view group, std::vector<std::string>& told) {
  Claims claims;
  each_of(group, [&](One& of, LimitIndex) {
    const auto lane = of.awaited.find(group);
    const auto mine = lane == of.awaited.end() ? 0 : static_cast<std::int64_t>(lane->second);
    claims.push_back(of.permits.claim());
    told.push_back(of.permits.told(claims.back(), of.waiting() - mine));
    of.news = false;
  });
  return claims;
}

void Semaphores::tell(std::vector<std::string>& told) {
  each_of({}, [&](One& of, LimitIndex) { told.push_back(of.permits.told(0, of.waiting())); });
}

void Semaphores::answered(std::string_view group, const Claims& claims, const std::vector<std::int64_t>& permits,
                          Time sent, std::size_t departures, LimitIndex awaits, std::size_t awaited) {
  std::size_t i = 0;
  each_of(group, [&](One& of, LimitIndex place) {
    of.permits.unclaim(claims[i]);
    of.permits.granted(permits[2 * i]);
    of.permits.renewed(sent, permits[2 * i + 1]);
    of.permits.use(static_cast<std::int64_t>(departures));
    of.awaited.erase(std::string(group));
    if (place == awaits && awaited > 0) of.awaited.emplace(group, awaited);
    if (of.permits.spare() > 0) tell_later(of);
    cut_excess(place, of, 0);
    ++i;
  });
}

void Semaphores::failed(std::string_view group, const Claims& claims) {
  std::size_t i = 0;
  each_of(group, [&](One& of, LimitIndex) {
    of.permits.unclaim(claims[i++]);
    of.awaited.erase(std::string(group));
    tell_later(of);
  });
}

// ---- flights --------------------------------------------------------------------------------------------------------

void Semaphores::began_alone(std::string_view group, std::size_t departures) {
  each_of(group, [&](One& of, LimitIndex) { of.permits.use_ungranted(static_cast<std::int64_t>(departures)); });
}

void Semaphores::ended(std::string_view group) {
  each_of(group, [&](One& of, LimitIndex) {
    of.permits.ended();
    tell_later(of);
  });
}

void Semaphores::gave_up(std::string_view group) {
  each_of(group, [&](One& of, LimitIndex) {
    if (of.awaited.erase(std::string(group)) > 0) tell_later(of);
  });
}

// ---- leases ---------------------------------------------------------------------------------------------------------

void Semaphores::renewed(const Named& which, Time sent, std::int64_t granted, std::int64_t lost) {
  const auto found = all_.find(which);
  if (found == all_.end()) return;
  One& of = found->second;
  of.permits.granted(granted);
  of.permits.renewed(sent, lost);
  cut_excess(which.limit, of, 0);
  offer_spare(which, of);
}

void Semaphores::granted(const Named& which, std::int64_t total) {
  const auto found = all_.find(which);
  if (found == all_.end()) return;
  found->second.permits.granted(total);
  offer_spare(which, found->second);
}

/// To the lanes that wait; what they do not claim goes back at the turn's end.
void Semaphores::offer_spare(const Named& which, One& of) {
  if (of.permits.spare() == 0) return;
  tell_later(of);
  if (of.awaited.empty()) return;
  const bool group = of_group(which.limit);
  events_.may_ask(group ? Scope::group : Scope::upstream, of.group);
}

void Semaphores::tell_news() {
  for (auto& [which, of] : all_) {
    if (!std::exchange(of.news, false)) continue;
    of.permits.return_spare();
    renew_(which, of.permits.told(0, of.waiting()));
  }
}

void Semaphores::redis_back() {
  for (auto& [which, of] : all_) tell_later(of);
}

void Semaphores::cut_excess(LimitIndex place, One& of, std::int64_t allowed) {
  const std::int64_t excess = of.permits.excess(allowed);
  if (excess == 0) return;
  events_.cut(of_group(place) ? Scope::group : Scope::upstream, of.group, static_cast<std::size_t>(excess));
}

void Semaphores::look_at_clock() {
  const Time now = loop_.now();
  std::vector<Named> fenced;
  for (auto& [which, of] : all_) {
    const bool busy = of.permits.in_use() > 0 || !of.awaited.empty();
    if (busy && now >= of.permits.renew_at()) tell_later(of);
    if (of.permits.in_use() > 0 && now >= of.permits.fence()) fenced.push_back(which);
  }
  for (const Named& which : fenced) {
    One& of = all_.at(which);
    of.permits.forget();
    cut_excess(which.limit, of, allowance_(which.limit));
  }
  std::erase_if(all_, [](const auto& entry) { return entry.second.at_rest(); });
  if (!all_.empty()) timer_.start(now + shortest_ / kLooksInALease);
}

}  // namespace penstock::redis
