// SPDX-License-Identifier: Apache-2.0
// Renews in time, tells news once a turn, and cuts what is no longer held.
#include "redis/semaphores.h"

#include <algorithm>
#include <utility>

#include "flow/moved_limits.h"

namespace penstock::redis {

using flow::LimitIndex;
using flow::Time;
using Scope = flow::Booking::Scope;

namespace {
constexpr Time kLooksInALease = 24;                       // the fence is noticed so soon after
constexpr std::int64_t kMostPermits = 1'000'000'000'000;  // that Redis can have granted: no process lives so long

bool is_shared_semaphore(const LimitConfig& limit) {
  return limit.shared && std::holds_alternative<SemaphoreConfig>(limit.kind);
}
}  // namespace

Semaphores::Semaphores(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::BookerEvents& events,
                       KeyOf key_of, Renew renew)
    : loop_(loop),
      events_(events),
      key_of_(std::move(key_of)),
      renew_(std::move(renew)),
      next_number_(static_cast<LimitIndex>(limits.size())),
      turn_end_(loop, [this] { tell_news(); }),
      timer_(loop, [this] { look_at_clock(); }) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!is_shared_semaphore(limits[i])) continue;
    sorts_.push_back({static_cast<LimitIndex>(i), static_cast<LimitIndex>(i), limits[i]});
  }
  reckon_shortest();
}

std::int64_t Semaphores::One::waiting() const {
  std::int64_t sum = 0;
  for (const auto& [lane, count] : awaited) sum += static_cast<std::int64_t>(count);
  return sum;
}

std::string Semaphores::One::tell(std::int64_t spare, std::int64_t waiting_besides) {
  told_meanwhile |= asks > 0;
  return permits.told(spare, waiting_besides);
}

void Semaphores::One::ask_ended(std::int64_t claim) {
  permits.unclaim(claim);
  if (--asks == 0) told_meanwhile = false;
}

/// An answer to what was told after they were adopted says of how many nothing is known.
void Semaphores::One::told_answered(Time sent) {
  if (!registering || sent <= adopted) return;
  tolerated = std::min(tolerated, permits.excess());
  registering = false;
}

void Semaphores::One::ended() {
  permits.ended();
  tolerated = std::min(tolerated, registering ? permits.in_use() : permits.excess());
}

void Semaphores::One::adopt(std::size_t departures, Time now) {
  permits.use_ungranted(static_cast<std::int64_t>(departures));
  tolerated += static_cast<std::int64_t>(departures);
  adopted = now;
  registering = true;
}

Semaphores::Entry& Semaphores::entry(const Sort& sort, std::string_view group) {
  if (!sort.of_group()) group = {};
  if (!timer_.running()) timer_.start(loop_.now() + shortest_ / kLooksInALease);
  return *all_.try_emplace({sort.number, key_of_(group)}, sort.lease(), loop_.now(), group).first;
}

template <typename Use>
void Semaphores::each_of(std::string_view group, Use use) {
  for (const Sort& sort : sorts_) {
    if (sort.place == flow::kNoLimit) break;
    if (!sort.of_group() || !group.empty()) use(entry(sort, group), sort);
  }
}

bool Semaphores::any() const { return !sorts_.empty() && sorts_.front().place != flow::kNoLimit; }

bool Semaphores::plausible(const std::vector<std::int64_t>& permits, std::size_t semaphores) {
  return permits.size() == 2 * semaphores &&
         std::ranges::all_of(permits, [](std::int64_t each) { return each >= 0 && each <= kMostPermits; });
}

Scope Semaphores::scope(const Entry& entry) const {
  return sort(entry.first.limit).of_group() ? Scope::group : Scope::upstream;
}

// ---- asks -----------------------------------------------------------------------------------------------------------

Semaphores::Claims Semaphores::claim(std::string_view group, std::vector<std::string>& told) {
  Claims claims;
  each_of(group, [&](Entry& entry, const Sort&) {
    One& of = entry.second;
    const auto lane = of.awaited.find(group);
    const auto mine = lane == of.awaited.end() ? 0 : static_cast<std::int64_t>(lane->second);
    claims.push_back({&entry, of.permits.claim()});
    told.push_back(of.tell(claims.back().count, of.waiting() - mine));
    ++of.asks;
  });
  return claims;
}

/// What was told after the ask named those only that waited then: by that, Redis took this lane out of the line again.
void Semaphores::answered(std::string_view group, const Claims& claims, const std::vector<std::int64_t>& permits,
                          Time sent, std::size_t departures, LimitIndex awaits, std::size_t awaited) {
  std::size_t i = 0;
  for (const auto& [entry, claim] : claims) {
    One& of = entry->second;
    const bool in_line = !of.told_meanwhile, gone = is_gone(*entry);
    of.ask_ended(claim);
    of.permits.granted(permits[2 * i]);
    of.permits.renewed(sent, loop_.now(), permits[2 * i + 1]);
    if (!gone) of.permits.use(static_cast<std::int64_t>(departures));
    of.told_answered(sent);
    of.awaited.erase(std::string(group));
    const bool waits = entry->first.limit == awaits && awaited > 0 && !gone;
    if (waits) of.awaited.emplace(group, awaited);
    if (of.permits.spare() > 0 || (waits && !in_line)) tell_later(*entry);
    cut(*entry, of.permits.excess());
    ++i;
  }
}

void Semaphores::failed(std::string_view group, const Claims& claims) {
  for (const auto& [entry, claim] : claims) {
    entry->second.ask_ended(claim);
    entry->second.awaited.erase(std::string(group));
    tell_later(*entry);
  }
}

void Semaphores::tell(std::vector<std::string>& told) {
  each_of({}, [&](Entry& entry, const Sort&) { told.push_back(entry.second.tell(0, entry.second.waiting())); });
}

void Semaphores::heard(const std::vector<std::int64_t>& permits, Time sent) {
  std::size_t i = 0;
  each_of({}, [&](Entry& entry, const Sort&) {
    refresh(entry, sent, permits[2 * i], permits[2 * i + 1]);
    ++i;
  });
}

// ---- flights --------------------------------------------------------------------------------------------------------

void Semaphores::began_alone(std::string_view group, std::size_t departures) {
  if (departures == 0) return;
  each_of(group, [&](Entry& entry, const Sort&) {
    entry.second.permits.use_ungranted(static_cast<std::int64_t>(departures));
  });
}

void Semaphores::ended(std::string_view group) {
  each_of(group, [&](Entry& entry, const Sort&) {
    entry.second.ended();
    tell_later(entry);
  });
}

void Semaphores::gave_up(std::string_view group) {
  each_of(group, [&](Entry& entry, const Sort&) {
    if (entry.second.awaited.erase(std::string(group)) > 0) tell_later(entry);
  });
}

// ---- leases ---------------------------------------------------------------------------------------------------------

void Semaphores::renewed(const Named& which, Time sent, std::int64_t granted, std::int64_t lost, Time opens_in) {
  const auto found = all_.find(which);
  if (found == all_.end()) return;
  found->second.opens_at = opens_in > 0 ? loop_.now() + std::min(opens_in, sort(which.limit).lease()) : 0;
  refresh(*found, sent, granted, lost);
}

/// By what each answer says: whether the generation grants already is said by renewals alone.
void Semaphores::refresh(Entry& entry, Time sent, std::int64_t granted, std::int64_t lost) {
  if (granted < 0 || granted > kMostPermits || lost < 0 || lost > kMostPermits) return;
  One& of = entry.second;
  of.permits.granted(granted);
  of.permits.renewed(sent, loop_.now(), lost);
  of.told_answered(sent);
  cut(entry, of.permits.excess());
  offer_spare(entry);
}

/// Messages come over a connection of their own, and may overtake the answer to an ask: what that was granted is in the
/// total already, and is not spare. Then a renewal tells, whose answer comes after that one.
void Semaphores::granted(const Named& which, std::int64_t total) {
  const auto found = all_.find(which);
  if (found == all_.end() || total > kMostPermits) return;
  if (found->second.asks > 0) return tell_later(*found);
  found->second.permits.granted(total);
  offer_spare(*found);
}

/// To the lanes that wait. They stand in line no longer: those that have a slot ask at once, the others when they have
/// one. What nobody claims goes back at the turn's end.
void Semaphores::offer_spare(Entry& entry) {
  One& of = entry.second;
  if (of.permits.spare() == 0) return;
  tell_later(entry);
  call_waiting(entry);
}

void Semaphores::call_waiting(Entry& entry) {
  One& of = entry.second;
  if (of.awaited.empty()) return;
  of.awaited.clear();
  events_.may_ask(scope(entry), of.group);
}

void Semaphores::tell_later(Entry& entry) {
  if (!std::exchange(entry.second.news, true)) news_.push_back(&entry);
  turn_end_.ask();
}

void Semaphores::tell_news() {
  for (Entry* entry : std::exchange(news_, {})) {
    One& of = entry->second;
    if (of.permits.spare() > 0) call_waiting(*entry);
    of.news = false;
    of.permits.return_spare();
    renew_(entry->first, of.tell(0, of.waiting()));
  }
}

void Semaphores::redis_back() {
  for (auto& entry : all_) tell_later(entry);
}

void Semaphores::cut(const Entry& entry, std::int64_t excess) {
  const std::int64_t count = entry.second.to_cut(excess);
  if (count > 0) events_.cut(scope(entry), entry.second.group, static_cast<std::size_t>(count));
}

void Semaphores::look_at_clock() {
  const Time now = loop_.now();
  std::vector<Entry*> fenced;
  for (auto& entry : all_) {
    auto& [which, of] = entry;
    const bool busy = of.permits.in_use() > 0 || !of.awaited.empty();
    const bool opens = of.opens_at != 0 && now >= of.opens_at;
    if (busy && (opens || now >= of.permits.renew_at())) tell_later(entry);
    if (of.permits.in_use() > 0 && now >= of.permits.fence()) fenced.push_back(&entry);
  }
  for (Entry* entry : fenced) cut(*entry, entry->second.permits.in_use() - allowance_(entry->first.limit));
  std::erase_if(all_, [now](const auto& entry) {
    const One& of = entry.second;
    return !of.news && of.asks == 0 && of.awaited.empty() && of.permits.forgettable(now);
  });
  if (!all_.empty()) timer_.start(now + shortest_ / kLooksInALease);
}

// ---- other limits ---------------------------------------------------------------------------------------------------

void Semaphores::change(const std::vector<LimitConfig>& limits) {
  std::vector<Sort> before = std::exchange(sorts_, {});
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!is_shared_semaphore(limits[i])) continue;
    const auto same = [&](const Sort& sort) { return flow::same_limit(sort.config, limits[i]); };
    const auto known = std::ranges::find_if(before, same);
    Sort sort{next_number_, static_cast<LimitIndex>(i), limits[i]};
    if (known == before.end()) {
      ++next_number_;
    } else {
      sort.number = known->number;
      sort.is_new = known->place == flow::kNoLimit;
      sort.changed = sort.is_new || known->config != limits[i];
      before.erase(known);
    }
    sorts_.push_back(std::move(sort));
  }
  for (Sort& gone : before) {
    const auto is_its = [&](const Entry& entry) { return entry.first.limit == gone.number; };
    if (std::ranges::none_of(all_, is_its)) continue;
    gone.is_new = false;
    gone.changed = std::exchange(gone.place, flow::kNoLimit) != flow::kNoLimit;
    sorts_.push_back(std::move(gone));
  }
  reckon_shortest();
  for (Entry& entry : all_) {
    if (sort(entry.first.limit).changed) changed(entry);
  }
  if (!all_.empty()) timer_.start(loop_.now() + shortest_ / kLooksInALease);
}

/// It tells by the new parameters; of one that is gone, that nothing is held.
void Semaphores::changed(Entry& entry) {
  One& of = entry.second;
  if (is_gone(entry)) {
    of.awaited.clear();
    of.tolerated = 0;
    of.permits.retire();
  } else {
    of.permits.change_lease(sort(entry.first.limit).lease(), loop_.now());
  }
  tell_later(entry);
}

void Semaphores::reckon_shortest() {
  const auto shortest = std::ranges::min_element(sorts_, {}, &Sort::lease);
  shortest_ = shortest == sorts_.end() ? 0 : shortest->lease();
}

LimitIndex Semaphores::place_of(LimitIndex number) const { return sort(number).place; }

const LimitConfig& Semaphores::config(LimitIndex number) const { return sort(number).config; }

LimitIndex Semaphores::at(LimitIndex place) const {
  const auto found = std::ranges::find(sorts_, place, &Sort::place);
  return place == flow::kNoLimit || found == sorts_.end() ? flow::kNoLimit : found->number;
}

void Semaphores::adopt(std::string_view group, std::size_t departures) {
  each_of(group, [&](Entry& entry, const Sort& sort) {
    if (!sort.is_new) return;
    entry.second.adopt(departures, loop_.now());
    tell_later(entry);
  });
}

void Semaphores::adopt_unclaimed(std::string_view group, const Claims& claims, std::size_t departures) {
  if (departures == 0) return;
  each_of(group, [&](Entry& entry, const Sort&) {
    if (std::ranges::find(claims, &entry, &Claim::of) != claims.end()) return;
    entry.second.adopt(departures, loop_.now());
    tell_later(entry);
  });
}

void Semaphores::hand_back() {
  for (auto& [which, of] : all_) {
    const bool waited = !std::exchange(of.awaited, {}).empty();
    if (of.permits.return_all() || waited) renew_(which, of.tell(0, 0));
  }
}

}  // namespace penstock::redis
