// SPDX-License-Identifier: Apache-2.0
// One timer looks at all leases, often enough that the fence is noticed soon.
#include "redis/limits/permit_leases.h"

#include <algorithm>
#include <optional>

namespace penstock::redis {

using flow::Time;

namespace {
constexpr Time kLooksInALease = 24;                    // per lease
constexpr Time kLooksAnyway = 1'000'000;               // a lane that waits and hears nothing may have lost a message
constexpr std::int64_t kMostTold = 1'000'000'000'000;  // a message that tells more is wrong

Time pace_of(const SemaphoreTable& table) { return std::min(table.shortest_lease() / kLooksInALease, kLooksAnyway); }

/// The lanes to which a semaphore applies, as LimiterEvents name them.
flow::LaneKey lanes_of(const SemaphoreTable& table, const PermitLeases::Entry& entry) {
  return flow::LaneKey(entry.second.group, table.row(entry.first.limit).config.route);
}
}  // namespace

PermitLeases::PermitLeases(loop::Loop& loop, const std::vector<LimitConfig>& limits, flow::LimiterEvents& events,
                           KeyOf key_of, Renew renew)
    : loop_(loop),
      events_(events),
      key_of_(std::move(key_of)),
      renew_(std::move(renew)),
      table_(limits),
      pace_(pace_of(table_)),
      iteration_end_(loop, [this] { flush(); }),
      timer_(loop, [this] { look_at_clock(); }) {}

PermitLeases::Entry& PermitLeases::entry(const SemaphoreTable::Row& row, std::string_view group) {
  if (!row.of_group()) group = {};
  if (!timer_.running()) wake_by(loop_.now() + pace_);
  return *all_.try_emplace({row.number, key_of_(group)}, row.lease(), loop_.now(), group, first_()).first;
}

bool PermitLeases::has_part(const Entry& entry) const {
  const Time since = entry.second.foreign_since;
  return since > 0 && loop_.now() >= since + table_.row(entry.first.limit).lease() / 2;
}

// ---- towards Redis --------------------------------------------------------------------------------------------------

std::string PermitLeases::tell(Entry& entry, std::int64_t spare, std::int64_t waiting_besides) {
  HeldSemaphore& of = entry.second;
  of.asks.supersede();
  const Time now = loop_.now();
  Permits::Telling telling{.spare = spare, .besides = waiting_besides, .round_trip = round_trip_};
  if (clock_at_zero_ != 0) telling.sent = clock_at_zero_ + now;
  if (!has_lease(entry)) telling.alone = std::min(of.permits.in_use(), allowance(entry));
  telling.away = absence_.of_lease(of.permits.renewed_at(), now);
  return of.permits.told(telling);
}

void PermitLeases::tell_later(Entry& entry) {
  entry.second.news = true;
  see_to(entry);
}

void PermitLeases::see_to(Entry& entry) {
  if (!std::exchange(entry.second.listed, true)) news_.push_back(&entry);
  entry.second.seen_to = loop_.now();
  iteration_end_.ask();
}

void PermitLeases::ask_for_pauses(Entry& entry) {
  if (pauses_.ask(loop_.now())) tell_later(entry);
}

void PermitLeases::flush() {
  for (Entry* entry : std::exchange(news_, {})) flush(*entry);
}

/// A call to take permits that comes during an ask is served when the ask is answered. An ask tells all that a renewal
/// does. If only permits are needed, a renewal fetches them: a lane that asked could not use what lands meanwhile.
void PermitLeases::flush(Entry& entry) {
  HeldSemaphore& of = entry.second;
  of.listed = false;
  const bool called = of.called && !of.asks.any() && !without_redis();
  if (called) of.called = false, of.news = true;
  const bool fetches = called && table_.permits_only() && !of.awaited.empty();
  if ((called && !fetches) || of.permits.spare() > 0) call_waiting(entry);
  if (without_redis()) return;
  const bool returned = !pauses_.asked() && of.permits.return_spare() > 0;
  if (!std::exchange(of.news, false) && !returned) return;
  of.in_line = of.waiting();
  renew_(entry.first, tell(entry, 0, of.in_line));
}

/// Calls under way may be granted permits that nobody will use. So Redis is told as the total what no process reaches:
/// the loop's time. See SharedLimiter.
void PermitLeases::hand_back() {
  for (Entry& entry : all_) {
    HeldSemaphore& of = entry.second;
    const bool waited = !std::exchange(of.awaited, {}).empty();
    const bool unanswered = of.asks.any() || of.permits.renewed_at() < of.seen_to;
    const bool held = of.permits.held() > 0;
    of.permits.return_all(loop_.now());
    if (held || waited || unanswered) renew_(entry.first, tell(entry, 0, 0));
  }
}

// ---- from Redis -----------------------------------------------------------------------------------------------------

/// Something told after the ask named only the lanes that waited then, so Redis has taken this lane out of the line
/// again: in that case it is told once more.
void PermitLeases::answered(Entry& entry, const Ask& ask, Time sent, const PermitReply& reply) {
  absence_.answered();
  HeldSemaphore& of = entry.second;
  const bool in_line = !of.asks.superseded(), gone = is_gone(entry);
  of.ask_ended(ask.claim);
  if (!gone) of.took(ask.departures, sent, loop_.now());
  of.learn(reply, sent, loop_.now());
  if (of.look_at > 0) wake_by(of.look_at);
  of.awaited.erase(flow::LaneName(ask.lane));
  const bool waits = ask.awaited > 0 && !gone;
  if (waits) of.awaited.emplace(flow::LaneName(ask.lane), ask.awaited);
  of.in_line = of.waiting();
  if (of.permits.spare() > 0 || of.adopted.registering() || (waits && !in_line)) tell_later(entry);
  if (of.called) see_to(entry);
  cut(entry, of.permits.excess());
}

void PermitLeases::failed(Entry& entry, const Ask& ask, bool foreign) {
  HeldSemaphore& of = entry.second;
  of.ask_ended(ask.claim);
  of.awaited.erase(flow::LaneName(ask.lane));
  foreign ? of.met_foreign(loop_.now()) : tell_later(entry);  // a renewal would meet the foreign value, too
}

void PermitLeases::learn(Entry& entry, Time sent, const PermitReply& reply) {
  absence_.answered();
  HeldSemaphore& of = entry.second;
  of.learn(reply, sent, loop_.now());
  if (of.look_at > 0) wake_by(of.look_at);
  cut(entry, of.permits.excess());
  if (of.called) see_to(entry);
  offer_spare(entry);
}

void PermitLeases::renewed(const SemaphoreName& which, Time sent, const PermitReply& reply, Time opens_in) {
  const auto found = all_.find(which);
  if (found == all_.end() || !reply.plausible()) return;
  pauses_.answered(sent);
  const Time lease = table_.row(which.limit).lease();
  found->second.opens_at = opens_in > 0 ? loop_.now() + std::min(opens_in, lease) : 0;
  learn(*found, sent, reply);
}

/// Waiting lanes may take what has landed meanwhile, within this process's part.
void PermitLeases::met_foreign(const SemaphoreName& which) {
  const auto found = all_.find(which);
  if (found == all_.end()) return;
  found->second.met_foreign(loop_.now());
  if (has_part(*found)) call_waiting(*found);
}

/// Messages come over a connection of their own and may overtake the reply to an ask; the lane then asks again.
void PermitLeases::message(const SemaphoreName& which, std::string_view word, std::int64_t number) {
  const auto found = all_.find(which);
  if (found == all_.end() || number < 0 || number > kMostTold) return;
  HeldSemaphore& of = found->second;
  if (word == "take") {
    of.called = true;
    see_to(*found);
  } else if (word == "share") {
    of.sharers = number;
    of.sharers_updated_at = loop_.now();
  } else if (word == "look") {
    of.look_at = number > 0 ? loop_.now() + number : 0;
    if (number > 0) wake_by(of.look_at);
  }
}

/// Messages sent meanwhile are lost. So waiting lanes ask again, and semaphores with flights are renewed to learn which
/// other processes want permits.
void PermitLeases::set_subscribed(bool subscribed) {
  if (!pauses_.set_subscribed(subscribed)) return;
  for (Entry& entry : all_) {
    HeldSemaphore& of = entry.second;
    of.called |= !of.awaited.empty();
    if (of.called) see_to(entry);
    if (!of.called && of.permits.in_use() > 0) tell_later(entry);
    if (of.permits.in_use() > 0) ask_for_pauses(entry);
  }
}

void PermitLeases::redis_back() {
  absence_.end(loop_.now());
  pauses_.redis_back(all_.empty() ? 0 : loop_.now() + flow::kHorizon);
  for (Entry& entry : all_) {
    entry.second.called |= !entry.second.awaited.empty();
    tell_later(entry);
    if (entry.second.permits.in_use() > 0) ask_for_pauses(entry);
  }
}

/// Offers spare permits to waiting lanes: those with a slot ask at once, the others when they have one. If only permits
/// are needed, lanes keep their reservation for the rest. What is not claimed is returned at the end of the iteration.
void PermitLeases::offer_spare(Entry& entry) {
  HeldSemaphore& of = entry.second;
  if (of.permits.spare() == 0) return;
  if (!table_.permits_only()) {
    tell_later(entry);
    return call_waiting(entry);
  }
  see_to(entry);
  if (!of.awaited.empty()) events_.retry(table_.row(entry.first.limit).scope(), lanes_of(table_, entry));
}

/// These lanes stand in line no longer.
void PermitLeases::call_waiting(Entry& entry) {
  HeldSemaphore& of = entry.second;
  if (of.awaited.empty()) return;
  of.awaited.clear();
  events_.retry(table_.row(entry.first.limit).scope(), lanes_of(table_, entry));
}

void PermitLeases::cut(const Entry& entry, std::int64_t excess) {
  const std::int64_t count = entry.second.to_cut(excess);
  if (count <= 0) return;
  events_.cut(table_.row(entry.first.limit).scope(), lanes_of(table_, entry), static_cast<std::size_t>(count));
}

// ---- time -----------------------------------------------------------------------------------------------------------

void PermitLeases::look_at_clock() {
  const Time now = loop_.now();
  std::vector<Entry*> fenced;
  for (auto& entry : all_) {
    auto& [which, of] = entry;
    const bool busy = of.permits.in_use() > 0 || !of.awaited.empty();
    const bool opens = of.opens_at != 0 && now >= of.opens_at;
    const bool is_overdue = !of.awaited.empty() && now >= of.permits.renewed_at() + kLooksAnyway;
    const bool looks = is_overdue || (of.look_at != 0 && now >= of.look_at);
    if (looks) of.look_at = 0;
    if (busy && (opens || looks || now >= of.permits.renew_at())) tell_later(entry);
    if (!has_lease(entry) && of.permits.held() + of.permits.in_use() > 0) fenced.push_back(&entry);
  }
  for (Entry* entry : fenced) {
    const std::int64_t left = allowance(*entry);
    if (without_redis()) entry->second.permits.return_spare(left);
    cut(*entry, entry->second.permits.in_use() - left);
  }
  forget_idle(now);
  if (all_.empty()) return;
  wake_by(now + pace_);
  for (const auto& [which, of] : all_) {
    if (of.look_at > 0) wake_by(of.look_at);
  }
}

/// Counting may start anew only if Redis has struck the process off, whatever leases an outage has prolonged.
void PermitLeases::forget_idle(Time now) {
  if (without_redis()) return;
  std::erase_if(all_, [now](const auto& entry) {
    const HeldSemaphore& of = entry.second;
    const bool idle = !of.listed && !of.asks.any() && of.awaited.empty();
    return idle && of.permits.renewed_at() >= of.seen_to && of.permits.forgettable(now);
  });
}

void PermitLeases::wake_by(Time at) {
  if (!timer_.running() || at < wakes_) timer_.start(wakes_ = at);
}

// ---- other limits ---------------------------------------------------------------------------------------------------

/// Redis is told the new parameters; for a semaphore that is gone, that nothing is held.
void PermitLeases::change(const std::vector<LimitConfig>& limits) {
  table_.change(limits, [this](flow::LimitIndex number) {
    return std::ranges::any_of(all_, [number](const Entry& entry) { return entry.first.limit == number; });
  });
  pace_ = pace_of(table_);
  for (Entry& entry : all_) {
    const SemaphoreTable::Row& row = table_.row(entry.first.limit);
    if (!row.changed) continue;
    row.gone() ? entry.second.retire() : entry.second.permits.change_lease(row.lease(), loop_.now());
    tell_later(entry);
  }
  if (!all_.empty()) wake_by(loop_.now() + pace_);
}

}  // namespace penstock::redis
