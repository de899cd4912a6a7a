// SPDX-License-Identifier: Apache-2.0
// Renews leases in time, tells Redis news once an iteration, and cuts flights whose permits are lost. A permit of a
// flight that landed goes to a waiting lane of this process while the process holds no more than the level, so most
// departures cost no call.
#include "redis/limits/semaphores.h"

#include <algorithm>
#include <utility>

#include "flow/limit_remap.h"

namespace penstock::redis {

using flow::LimitIndex;
using flow::Time;
using Scope = flow::Booking::Scope;

namespace {
constexpr Time kLooksInALease = 24;                       // per lease, so that the fence is noticed soon
constexpr Time kLooksAnyway = 1'000'000;                  // a lane that waits and hears nothing may have lost a message
constexpr std::int64_t kMostPermits = 1'000'000'000'000;  // exceeds what any process can be granted in its life
constexpr Time kReturnsIn = 3'000'000;                    // all that were cut off, after the first

bool is_shared_semaphore(const LimitConfig& limit) {
  return limit.shared && std::holds_alternative<SemaphoreConfig>(limit.kind);
}
}  // namespace

Semaphores::Semaphores(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::LimiterEvents& events,
                       KeyOf key_of, Renew renew)
    : loop_(loop),
      events_(events),
      key_of_(std::move(key_of)),
      renew_(std::move(renew)),
      next_number_(static_cast<LimitIndex>(limits.size())),
      permits_only_(std::ranges::all_of(limits, is_shared_semaphore)),
      iteration_end_(loop, [this] { flush_renewals(); }),
      timer_(loop, [this] { look_at_clock(); }) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!is_shared_semaphore(limits[i])) continue;
    definitions_.push_back({static_cast<LimitIndex>(i), static_cast<LimitIndex>(i), limits[i]});
  }
  reckon_pace();
}

std::int64_t Semaphores::State::waiting() const {
  std::int64_t sum = 0;
  for (const auto& [lane, count] : awaited) sum += static_cast<std::int64_t>(count);
  return sum;
}

/// A message that came after the call was sent may be newer than the answer: then an answer of 0 does not overwrite the
/// sharers that it told.
void Semaphores::State::learn(const Answer& answer, Time sent, Time now) {
  const std::int64_t before = permits.held();
  permits.granted(answer.granted);
  const std::int64_t more = permits.held() - before;
  if (more > 0) raised = now, in_line = std::max<std::int64_t>(0, in_line - more);
  permits.renewed(sent, now, answer.lost);
  foreign_since = 0;
  if (answer.sharers > 0 || sent > share_told) sharers = answer.sharers;
  called |= answer.look < 0;
  look_at = answer.look > 0 ? now + answer.look : 0;
}

void Semaphores::State::ask_ended(std::int64_t claim) {
  permits.unclaim(claim);
  if (--asks == 0) told_meanwhile = false;
}

/// The answer to a telling after the adoption says how many adopted flights have a permit; only the others stay
/// tolerated.
void Semaphores::State::told_answered(Time sent) {
  if (!registering || sent <= adopted) return;
  tolerated = std::min(tolerated, permits.excess());
  registering = false;
}

void Semaphores::State::ended(bool keep) {
  permits.ended(keep);
  tolerated = std::min(tolerated, registering ? permits.in_use() : permits.excess());
}

void Semaphores::State::count_existing(std::size_t departures, Time now) {
  permits.use_ungranted(static_cast<std::int64_t>(departures));
  tolerated += static_cast<std::int64_t>(departures);
  adopted = now;
  registering = true;
}

Semaphores::Entry& Semaphores::entry(const Definition& definition, std::string_view group) {
  if (!definition.of_group()) group = {};
  if (!timer_.running()) wake_by(loop_.now() + pace_);
  return *all_.try_emplace({definition.number, key_of_(group)}, definition.lease(), loop_.now(), group).first;
}

bool Semaphores::any() const { return !definitions_.empty() && definitions_.front().place != flow::kNoLimit; }

bool Semaphores::plausible(const std::vector<std::int64_t>& permits, std::size_t semaphores) {
  if (permits.size() != kNumbers * semaphores) return false;
  const auto in_range = [](std::int64_t number) { return number >= 0 && number <= kMostPermits; };
  for (std::size_t i = 0; i < semaphores; ++i) {
    const Answer answer = answer_of(permits, i);
    if (!in_range(answer.granted) || !in_range(answer.lost) || !in_range(answer.sharers)) return false;
    if (!in_range(answer.look + 1)) return false;
  }
  return true;
}

Semaphores::Answer Semaphores::answer_of(const std::vector<std::int64_t>& permits, std::size_t which) {
  const std::int64_t* first = permits.data() + kNumbers * which;
  return {.granted = first[0], .lost = first[1], .sharers = first[2], .look = first[3]};
}

Scope Semaphores::scope(const Entry& entry) const {
  return definition(entry.first.limit).of_group() ? Scope::group : Scope::upstream;
}

// ---- asks -----------------------------------------------------------------------------------------------------------

std::string Semaphores::tell(Entry& entry, std::int64_t spare, std::int64_t waiting_besides) {
  State& of = entry.second;
  of.told_meanwhile |= of.asks > 0;
  const Time now = loop_.now(), since = of.permits.renewed_at();
  Permits::Telling telling{.spare = spare, .besides = waiting_besides, .round_trip = round_trip_};
  if (clock_at_zero_ != 0) telling.sent = clock_at_zero_ + now;
  if (!has_lease(entry)) telling.alone = std::min(of.permits.in_use(), allowance_(entry.first.limit));
  const bool returns = alone_ ? answered_ : back_ > 0 && (since < back_ || now < back_ + kReturnsIn);
  if (returns) telling.away = now - std::min(since, gone_);
  return of.permits.told(telling);
}

Semaphores::Claims Semaphores::claim(std::string_view group, std::vector<std::string>& told) {
  Claims claims;
  each_of(group, [&](Entry& entry, const Definition&) {
    State& of = entry.second;
    const auto lane = of.awaited.find(group);
    const auto mine = lane == of.awaited.end() ? 0 : static_cast<std::int64_t>(lane->second);
    claims.push_back({&entry, of.permits.claim()});
    told.push_back(tell(entry, claims.back().count, of.waiting() - mine));
    ++of.asks;
    of.called = of.news = false;
  });
  return claims;
}

/// Something told after the ask named only the lanes that waited then, so Redis has taken this lane out of the line
/// again: in that case it is told once more.
void Semaphores::answered(std::string_view group, const Claims& claims, const std::vector<std::int64_t>& permits,
                          Time sent, std::size_t departures, LimitIndex awaits, std::size_t awaited) {
  answered_ = true;
  std::size_t i = 0;
  for (const auto& [entry, claim] : claims) {
    State& of = entry->second;
    const bool in_line = !of.told_meanwhile, gone = is_gone(*entry);
    of.ask_ended(claim);
    of.learn(answer_of(permits, i), sent, loop_.now());
    if (of.look_at > 0) wake_by(of.look_at);
    if (!gone) of.permits.use(static_cast<std::int64_t>(departures));
    of.told_answered(sent);
    of.awaited.erase(std::string(group));
    const bool waits = entry->first.limit == awaits && awaited > 0 && !gone;
    if (waits) of.awaited.emplace(group, awaited);
    of.in_line = of.waiting();
    if (of.permits.spare() > 0 || (waits && !in_line)) tell_later(*entry);
    if (of.called) see_to(*entry);
    cut(*entry, of.permits.excess());
    ++i;
  }
}

void Semaphores::failed(std::string_view group, const Claims& claims, bool foreign) {
  for (const auto& [entry, claim] : claims) {
    State& of = entry->second;
    of.ask_ended(claim);
    of.awaited.erase(std::string(group));
    if (foreign) {  // a renewal would meet it, too
      if (of.foreign_since == 0) of.foreign_since = loop_.now();
    } else {
      tell_later(*entry);
    }
  }
}

void Semaphores::tell(std::vector<std::string>& told) {
  each_of({}, [&](Entry& entry, const Definition&) { told.push_back(tell(entry, 0, entry.second.waiting())); });
}

void Semaphores::heard(const std::vector<std::int64_t>& permits, Time sent) {
  std::size_t i = 0;
  each_of({}, [&](Entry& entry, const Definition&) {
    refresh(entry, sent, answer_of(permits, i));
    ++i;
  });
}

// ---- flights --------------------------------------------------------------------------------------------------------

void Semaphores::began_alone(std::string_view group, std::size_t departures) {
  if (departures == 0) return;
  each_of(group, [&](Entry& entry, const Definition&) {
    entry.second.permits.use_ungranted(static_cast<std::int64_t>(departures));
  });
}

/// A kept permit that no lane takes in this iteration of the loop is returned at its end.
bool Semaphores::ended(std::string_view group) {
  bool at_hand = false;
  each_of(group, [&](Entry& entry, const Definition&) {
    const bool keep = keeps(entry);
    entry.second.ended(keep);
    keep ? see_to(entry) : tell_later(entry);
    at_hand |= keep && entry.second.permits.spare() > 0;
  });
  return at_hand;
}

void Semaphores::gave_up(std::string_view group) {
  each_of(group, [&](Entry& entry, const Definition&) {
    if (entry.second.awaited.erase(std::string(group)) > 0) tell_later(entry);
  });
}

// ---- leases ---------------------------------------------------------------------------------------------------------

void Semaphores::renewed(const Named& which, Time sent, const Answer& answer, Time opens_in) {
  const auto found = all_.find(which);
  if (found == all_.end() || !plausible({answer.granted, answer.lost, answer.sharers, answer.look}, 1)) return;
  if (sent >= missed_since_) missed_since_ = 0;
  found->second.opens_at = opens_in > 0 ? loop_.now() + std::min(opens_in, definition(which.limit).lease()) : 0;
  refresh(*found, sent, answer);
}

/// Waiting lanes may take what has landed meanwhile, within this process's part.
void Semaphores::met_foreign(const Named& which) {
  const auto found = all_.find(which);
  if (found == all_.end()) return;
  State& of = found->second;
  if (of.foreign_since == 0) of.foreign_since = loop_.now();
  if (has_part(*found)) call_waiting(*found);
}

/// Applies what every answer tells. Only renewals also tell whether the generation grants already.
void Semaphores::refresh(Entry& entry, Time sent, const Answer& answer) {
  State& of = entry.second;
  answered_ = true;
  of.learn(answer, sent, loop_.now());
  of.told_answered(sent);
  if (of.look_at > 0) wake_by(of.look_at);
  cut(entry, of.permits.excess());
  if (of.called) see_to(entry);
  offer_spare(entry);
}

/// Messages come over a connection of their own and may overtake the answer to an ask; the lane then asks again.
void Semaphores::message(const Named& which, std::string_view word, std::int64_t number) {
  const auto found = all_.find(which);
  if (found == all_.end() || number < 0 || number > kMostPermits) return;
  State& of = found->second;
  if (word == "take") {
    of.called = true;
    see_to(*found);
  } else if (word == "share") {
    of.sharers = number;
    of.share_told = loop_.now();
  } else if (word == "look") {
    of.look_at = number > 0 ? loop_.now() + number : 0;
    if (number > 0) wake_by(of.look_at);
  }
}

/// Messages sent meanwhile are lost. So waiting lanes ask again, and semaphores with flights are renewed to learn which
/// other processes want permits.
void Semaphores::set_hears(bool hears) {
  if (std::exchange(hears_, hears) || !hears) return;
  may_have_missed_ = true;
  for (Entry& entry : all_) {
    State& of = entry.second;
    of.called |= !of.awaited.empty();
    if (of.called) see_to(entry);
    if (!of.called && of.permits.in_use() > 0) tell_later(entry);
    if (of.permits.in_use() > 0) hear_who_pauses(entry);
  }
}

/// Offers spare permits to waiting lanes: those with a slot ask at once, the others when they have one. If only permits
/// are needed, lanes keep their reservation for the rest. What is not claimed is returned at the end of the iteration.
void Semaphores::offer_spare(Entry& entry) {
  State& of = entry.second;
  if (of.permits.spare() == 0) return;
  if (!permits_only_) {
    tell_later(entry);
    return call_waiting(entry);
  }
  see_to(entry);
  if (!of.awaited.empty()) events_.retry(scope(entry), of.group);
}

/// These lanes stand in line no longer.
void Semaphores::call_waiting(Entry& entry) {
  State& of = entry.second;
  if (of.awaited.empty()) return;
  of.awaited.clear();
  events_.retry(scope(entry), of.group);
}

void Semaphores::tell_later(Entry& entry) {
  entry.second.news = true;
  see_to(entry);
}

void Semaphores::see_to(Entry& entry) {
  if (!std::exchange(entry.second.listed, true)) news_.push_back(&entry);
  entry.second.seen_to = loop_.now();
  iteration_end_.ask();
}

void Semaphores::flush_renewals() {
  for (Entry* entry : std::exchange(news_, {})) flush_renewals(*entry);
}

/// A call to take permits that comes during an ask is served when the ask is answered. An ask tells all that a renewal
/// does. If only permits are needed, a renewal fetches them: a lane that asked could not use what lands meanwhile.
void Semaphores::flush_renewals(Entry& entry) {
  State& of = entry.second;
  of.listed = false;
  const bool called = of.called && of.asks == 0 && !alone_;
  if (called) of.called = false, of.news = true;
  const bool fetches = called && permits_only_ && !of.awaited.empty();
  if ((called && !fetches) || of.permits.spare() > 0) call_waiting(entry);
  if (alone_) return;
  const bool returned = missed_since_ == 0 && of.permits.return_spare() > 0;
  if (!std::exchange(of.news, false) && !returned) return;
  of.in_line = of.waiting();
  renew_(entry.first, tell(entry, 0, of.in_line));
}

void Semaphores::redis_gone() {
  if (!std::exchange(alone_, true)) gone_ = loop_.now();
}

/// Runs before any lane starts by permits at hand: a lost message may have told that the upstream asked for a pause.
void Semaphores::hear_who_pauses(Entry& entry) {
  if (!std::exchange(may_have_missed_, false)) return;
  missed_since_ = loop_.now();
  tell_later(entry);
}

void Semaphores::redis_back() {
  // A process that has just started had no lease that an absence could prolong.
  if (std::exchange(alone_, false) && answered_) back_ = loop_.now();
  may_have_missed_ = true;
  for (Entry& entry : all_) {
    entry.second.called |= !entry.second.awaited.empty();
    tell_later(entry);
    if (entry.second.permits.in_use() > 0) hear_who_pauses(entry);
  }
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
    const bool unheard = !of.awaited.empty() && now >= of.permits.renewed_at() + kLooksAnyway;
    const bool looks = unheard || (of.look_at != 0 && now >= of.look_at);
    if (looks) of.look_at = 0;
    if (busy && (opens || looks || now >= of.permits.renew_at())) tell_later(entry);
    if (!has_lease(entry) && of.permits.held() + of.permits.in_use() > 0) fenced.push_back(&entry);
  }
  for (Entry* entry : fenced) {
    const std::int64_t left = allowance_(entry->first.limit);
    if (alone_) entry->second.permits.return_spare(left);
    cut(*entry, entry->second.permits.in_use() - left);
  }
  // Counting may start from 0 only if Redis has struck the process off, whatever leases an outage has prolonged.
  std::erase_if(all_, [this, now](const auto& entry) {
    const State& of = entry.second;
    const bool idle = !of.listed && of.asks == 0 && of.awaited.empty();
    return idle && !alone_ && of.permits.renewed_at() >= of.seen_to && of.permits.forgettable(now);
  });
  if (all_.empty()) return;
  wake_by(now + pace_);
  for (const auto& [which, of] : all_) {
    if (of.look_at > 0) wake_by(of.look_at);
  }
}

void Semaphores::wake_by(Time at) {
  if (!timer_.running() || at < wakes_) timer_.start(wakes_ = at);
}

// ---- other limits ---------------------------------------------------------------------------------------------------

void Semaphores::change(const std::vector<LimitConfig>& limits) {
  permits_only_ = std::ranges::all_of(limits, is_shared_semaphore);
  std::vector<Definition> before = std::exchange(definitions_, {});
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!is_shared_semaphore(limits[i])) continue;
    const auto same = [&](const Definition& definition) { return flow::same_limit(definition.config, limits[i]); };
    const auto known = std::ranges::find_if(before, same);
    Definition definition{next_number_, static_cast<LimitIndex>(i), limits[i]};
    if (known == before.end()) {
      ++next_number_;
    } else {
      definition.number = known->number;
      definition.is_new = known->place == flow::kNoLimit;
      definition.changed = definition.is_new || known->config != limits[i];
      before.erase(known);
    }
    definitions_.push_back(std::move(definition));
  }
  for (Definition& gone : before) {
    const auto is_its = [&](const Entry& entry) { return entry.first.limit == gone.number; };
    if (std::ranges::none_of(all_, is_its)) continue;
    gone.is_new = false;
    gone.changed = std::exchange(gone.place, flow::kNoLimit) != flow::kNoLimit;
    definitions_.push_back(std::move(gone));
  }
  reckon_pace();
  for (Entry& entry : all_) {
    if (definition(entry.first.limit).changed) changed(entry);
  }
  if (!all_.empty()) wake_by(loop_.now() + pace_);
}

/// Redis is told the new parameters; for a semaphore that is gone, that nothing is held.
void Semaphores::changed(Entry& entry) {
  State& of = entry.second;
  if (is_gone(entry)) {
    of.awaited.clear();
    of.tolerated = 0;
    of.permits.retire();
  } else {
    of.permits.change_lease(definition(entry.first.limit).lease(), loop_.now());
  }
  tell_later(entry);
}

void Semaphores::reckon_pace() {
  const auto shortest = std::ranges::min_element(definitions_, {}, &Definition::lease);
  pace_ = shortest == definitions_.end() ? 0 : std::min(shortest->lease() / kLooksInALease, kLooksAnyway);
}

LimitIndex Semaphores::place_of(LimitIndex number) const { return definition(number).place; }

const LimitConfig& Semaphores::config(LimitIndex number) const { return definition(number).config; }

LimitIndex Semaphores::at(LimitIndex place) const {
  const auto found = std::ranges::find(definitions_, place, &Definition::place);
  return place == flow::kNoLimit || found == definitions_.end() ? flow::kNoLimit : found->number;
}

void Semaphores::count_existing(std::string_view group, std::size_t departures) {
  each_of(group, [&](Entry& entry, const Definition& definition) {
    if (!definition.is_new) return;
    entry.second.count_existing(departures, loop_.now());
    tell_later(entry);
  });
}

void Semaphores::adopt_unclaimed(std::string_view group, const Claims& claims, std::size_t departures) {
  if (departures == 0) return;
  each_of(group, [&](Entry& entry, const Definition&) {
    if (std::ranges::find(claims, &entry, &Claim::of) != claims.end()) return;
    entry.second.count_existing(departures, loop_.now());
    tell_later(entry);
  });
}

void Semaphores::hand_back() {
  for (Entry& entry : all_) {
    State& of = entry.second;
    const bool waited = !std::exchange(of.awaited, {}).empty();
    if (of.permits.return_all() || waited) renew_(entry.first, tell(entry, 0, 0));
  }
}

void stop_for_permit(const Semaphores& semaphores, LimitIndex number, flow::Booking& booking) {
  const LimitConfig& config = semaphores.config(number);
  const bool refuses = config.mode == LimitConfig::Mode::refuse;
  booking.stop = refuses ? flow::Booking::Stop::refused : flow::Booking::Stop::permit;
  booking.scope = config.per == LimitConfig::Per::group ? Scope::group : Scope::upstream;
  booking.limited_by = semaphores.place_of(number);
  booking.ask_again = booking.not_before = 0;
}

}  // namespace penstock::redis
