// SPDX-License-Identifier: Apache-2.0
// The table of what faults excuse, and what its entries mean for a limit.
#include "simulation/allowances.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "flow/limiter.h"

namespace penstock::simulation {

namespace {

using enum Fault::Kind;
using Faults = std::vector<Fault::Kind>;
using Kinds = std::vector<LimitKind>;

/// A process notices within a second that Redis is back, and replays its departures within another.
constexpr Time kToReturn = 2 * kSecond;

const Faults kAllLose{redis_stops,     redis_loses_memory, redis_goes_back, redis_flushed, redis_stalls,
                      clients_killed,  out_of_memory,      read_only,       denied,        id_changes,
                      node_fails_over, node_taken_over,    node_outlived,   cluster_down};
/// A slot that moves keeps each process from Redis for a moment, and takes its keys along: it excuses nothing.
const Faults kMoves{slot_moves};
const Faults kOutlived{node_taken_over, node_outlived};
const Faults kOneLoses{connection_lost, commands_lost, reply_torn, cut_off, script_fails};
const Kinds kRates{LimitKind::pacer, LimitKind::window, LimitKind::sliding_window, LimitKind::token_bucket,
                   LimitKind::counter};
const Kinds kSteps{LimitKind::window, LimitKind::sliding_window, LimitKind::token_bucket, LimitKind::counter};
const Kinds kAnyKind{LimitKind::pacer,        LimitKind::window,    LimitKind::sliding_window,
                     LimitKind::token_bucket, LimitKind::semaphore, LimitKind::counter};

Faults both(Faults faults, const Faults& others) {
  faults.insert(faults.end(), others.begin(), others.end());
  return faults;
}

std::vector<AllowanceRow> make_table() {
  const std::vector<WhenDown> all{}, share{WhenDown::share}, open{WhenDown::open};
  // clang-format off
  return {
      {open, both(both(kAllLose, kOneLoses), {slot_moves, key_erased}), kAnyKind, Beyond::timeout, {.anything = true},
       "`open` lets everything leave until Redis is back"},
      {share, kOneLoses, kRates, Beyond::timeout, {.part = 1},
       "a process alone takes its part while the others share the whole"},
      {share, {cut_off}, {LimitKind::semaphore}, Beyond::lease, {.part = 1},
       "a process cut off for longer than a lease keeps its part of the permits, which Redis has given to others"},
      {share, kOutlived, {LimitKind::pacer}, Beyond::timeout, {.part = 1, .each = 1, .unheard = true},
       "a process that the former master still answers is as one by itself"},
      {share, kOutlived, {LimitKind::token_bucket}, Beyond::timeout,
       {.part = 1, .refills = 2, .units = 5, .unheard = true},
       "a process that the former master still answers is as one by itself"},
      {share, kOutlived, {LimitKind::window, LimitKind::sliding_window, LimitKind::counter}, Beyond::timeout,
       {.part = 1, .unheard = true},
       "a process that the former master still answers is as one by itself"},
      {{WhenDown::wait, WhenDown::refuse}, kOutlived, kRates, Beyond::timeout, {.horizon = true},
       "two masters answer until the former one hears of the other"},
      {share, kAllLose, {LimitKind::pacer}, Beyond::timeout, {.each = 1, .unheard = true},
       "processes that go on by themselves know nothing of each other's last departure"},
      {share, kAllLose, {LimitKind::token_bucket}, Beyond::timeout, {.refills = 2, .units = 5, .unheard = true},
       "a process by itself refills in a rhythm of its own: one refill may count twice each way"},
      {share, kAllLose, {LimitKind::window, LimitKind::sliding_window, LimitKind::counter}, Beyond::timeout,
       {.unheard = true},
       "a process by itself takes its part of what was left when it heard last; others may have taken of that since"},
      {all, {frozen}, {LimitKind::pacer}, Beyond::none, {.whole = 1, .horizon = true},
       "what a frozen process had booked leaves when it goes on, the burst among it"},
      {all, {frozen}, kSteps, Beyond::none, {.whole = 1},
       "what a frozen process had booked leaves when it goes on"},
      {all, {frozen}, {LimitKind::semaphore}, Beyond::lease, {.whole = 1},
       "a process frozen for longer than its lease flies on without knowing"},
      {all, {clock_steps}, kRates, Beyond::none, {.whole = 1},
       "a step of Redis' clock cuts one interval short"},
      {all, {clock_steps}, {LimitKind::semaphore}, Beyond::third_of_lease, {.whole = 1},
       "a step forward by more than a third of a lease ends leases early"},
      {all, {key_erased, key_foreign}, kAnyKind, Beyond::none, {.whole = 1},
       "a key lost is a limit forgotten"},
  };
  // clang-format on
}

template <typename Value>
bool has(const std::vector<Value>& all, Value one) {
  return std::ranges::find(all, one) != all.end();
}

bool is_beyond(Beyond beyond, const Plan& plan, const Fault& fault, const LimitConfig& limit) {
  const auto* semaphore = std::get_if<SemaphoreConfig>(&limit.kind);
  const Time lease = semaphore ? semaphore->lease.count() : 0;
  switch (beyond) {
    case Beyond::none: return true;
    case Beyond::timeout: return is_outage(plan, fault) || fault.kind == key_erased;
    case Beyond::lease: return fault.lasts > lease;
    case Beyond::third_of_lease: return fault.step > lease / 3;
  }
  return true;
}

std::size_t alive_at(const Plan& plan, const std::vector<Fault>& faults, Time at) {
  const auto killed = [&](std::size_t member) {
    return std::ranges::any_of(faults, [&](const Fault& fault) {
      return fault.kind == Fault::Kind::killed && fault.at <= at && fault.member == static_cast<int>(member);
    });
  };
  std::size_t alive = 0;
  for (std::size_t i = 0; i < plan.members.size(); ++i) {
    const Member& member = plan.members[i];
    if (member.joins <= at && (member.ends == 0 || member.ends > at) && !killed(i)) ++alive;
  }
  return std::max<std::size_t>(alive, 1);
}

/// The parts of a limit that all processes together take while Redis is away, beyond the whole. Processes that use the
/// upstream know of each other, but not of one that comes to it within the second before or meanwhile. A process that
/// does not use the upstream knows of all that were there. A process that starts meanwhile knows what is configured.
double parts_beyond_one(const Plan& plan, const std::vector<Fault>& faults, const Fault& fault, Time until) {
  constexpr Time kHeardOf = 1'200 * kMillisecond;
  const auto part = [&](std::size_t seen) { return 1.0 / std::max<double>(static_cast<double>(seen), plan.processes); };
  const std::size_t alive = alive_at(plan, faults, fault.at);
  std::size_t users = 0;
  double others = 0;
  for (const Member& member : plan.members) {
    const Time begins = std::max(member.joins, member.demand.from);
    if (member.joins > until || (member.ends > 0 && member.ends <= fault.at)) continue;
    if (begins <= fault.at - kHeardOf) {
      ++users;
    } else {
      others += member.joins >= fault.at && member.joins > 0 ? part(1) : part(alive);
    }
  }
  return std::max(0.0, others + (users > 0 ? static_cast<double>(users) * part(users) : 0) - 1);
}

/// Whole limits on top: for processes that died along with Redis' memory, whose departures no process replays; and for
/// processes that do not know of each other while Redis is away.
double wholes_besides(const Plan& plan, const std::vector<Fault>& faults, const Fault& fault, Time until, Time step) {
  double wholes = 0;
  for (const Fault& other : faults) {
    const bool along = other.at >= fault.at - step && other.at <= until;
    if (other.kind == Fault::Kind::killed && along && loses_memory(fault.kind)) wholes += 1;
  }
  const bool all_lose = is_outage(plan, fault) && has(kAllLose, fault.kind);
  if (all_lose && plan.when_down == WhenDown::share) wholes += parts_beyond_one(plan, faults, fault, until);
  return wholes;
}

}  // namespace

std::span<const AllowanceRow> allowance_table() {
  static const std::vector<AllowanceRow> kTable = make_table();
  return kTable;
}

const AllowanceRow* allowance_for(const Plan& plan, const Fault& fault, const LimitConfig& limit) {
  const bool open = plan.when_down == WhenDown::open;
  if (!limit.shared && !open && fault.kind != frozen) return nullptr;  // Redis does not know such a limit
  for (const AllowanceRow& row : allowance_table()) {
    if (!row.modes.empty() && !has(row.modes, plan.when_down)) continue;
    if (!has(row.faults, fault.kind) || !has(row.kinds, kind_of(limit))) continue;
    if (is_beyond(row.beyond, plan, fault, limit)) return &row;
  }
  return nullptr;
}

bool is_outage(const Plan& plan, const Fault& fault) {
  if (fault.kind == redis_stalls || fault.kind == cut_off) return fault.lasts > plan.redis_timeout.count();
  return may_be_outage(fault.kind);
}

bool may_be_outage(Fault::Kind kind) { return has(kAllLose, kind) || has(kOneLoses, kind) || has(kMoves, kind); }

bool loses_memory(Fault::Kind kind) {
  return kind == redis_loses_memory || kind == redis_goes_back || kind == redis_flushed || kind == key_erased ||
         kind == node_fails_over || kind == node_taken_over || kind == node_outlived;
}

Time end_of(const Fault& fault, Time run_end) {
  return fault.kind == denied && fault.lasts == 0 ? std::max(run_end, fault.at) : fault.at + fault.lasts;
}

Settling settling_after(Fault::Kind kind) {
  switch (kind) {
    case scripts_flushed:
    case mailbox_lost:
    case messages_late:
    case messages_twice:
    case messages_lost:
    case publishes_lost: return {.rates = kSecond};
    case elsewhere: return {};
    case paused: return {.rates = kSecond / 10};
    case clock_steps:
    case killed:
    case frozen:
    case cut_off: return {.rates = kSettles, .leases = 1, .besides = kSettles};
    default: break;
  }
  if (loses_memory(kind)) return {.rates = kSettles, .leases = 0.5, .besides = kSecond};
  return {.rates = kSettles};
}

Time settles_after(const Plan& plan, const Fault& fault) {
  const Settling settling = settling_after(fault.kind);
  Time after = std::max(settling.rates, std::abs(fault.step));
  for (const auto& limit : plan.limits) {
    const auto* semaphore = std::get_if<SemaphoreConfig>(&limit.kind);
    if (!semaphore || settling.leases == 0) continue;
    const double lease = settling.leases * static_cast<double>(semaphore->lease.count());
    after = std::max(after, static_cast<Time>(lease) + settling.besides);
  }
  return after;
}

std::optional<double> least_use_without_redis(WhenDown mode) {
  switch (mode) {
    case WhenDown::share: return 0.99;
    case WhenDown::open: return std::nullopt;
    case WhenDown::wait:
    case WhenDown::refuse: break;
  }
  return 0;
}

std::vector<Excuse> excuses_for(const Plan& plan, const std::vector<Fault>& faults, const LimitConfig& limit,
                                int heaviest, Time flight, Time run_end) {
  std::vector<Excuse> excuses;
  for (const Fault& fault : faults) {
    const Time until = end_of(fault, run_end) + kToReturn;
    const double besides = limit.shared ? wholes_besides(plan, faults, fault, until, step_of(limit)) : 0;
    const AllowanceRow* row = allowance_for(plan, fault, limit);
    if (!row && besides == 0) continue;
    const Allowance allowance = row ? row->allowance : Allowance{};
    const auto processes = static_cast<double>(alive_at(plan, faults, fault.at));
    const double rate = counts_flights(limit) ? 0 : rate_of(limit);
    const bool flows = kind_of(limit) == LimitKind::pacer || step_of(limit) > 0;
    const bool once = kind_of(limit) == LimitKind::window || kind_of(limit) == LimitKind::sliding_window;
    Excuse excuse{
        .from = fault.at, .until = until + (counts_flights(limit) ? flight : 0), .anything = allowance.anything};
    excuse.units = (allowance.whole + besides + allowance.part / processes) * size_of(limit) +
                   allowance.each * (processes - 1) * heaviest + allowance.units +
                   (allowance.part > 0 && !once && !counts_flights(limit) ? heaviest : 0);
    if (const auto* bucket = std::get_if<TokenBucketConfig>(&limit.kind)) {
      excuse.units += allowance.refills * bucket->refill_amount;
    }
    if (allowance.horizon) excuse.units += rate * static_cast<double>(flow::kHorizon) / 1e6;
    if (allowance.unheard) excuse.unheard = 1 / processes;
    if (flows && !once) excuse.a_second = (allowance.part / processes + besides) * rate;
    excuses.push_back(excuse);
  }
  return excuses;
}

bool may_cut(const Plan& plan, const Fault& fault, const LimitConfig& semaphore) {
  const auto* config = std::get_if<SemaphoreConfig>(&semaphore.kind);
  if (!config || !semaphore.shared) return false;
  if (fault.kind == clock_steps) return std::abs(fault.step) > config->lease.count() / 3;
  if (fault.kind == frozen) return fault.lasts > config->lease.count() / 3;
  if (!is_outage(plan, fault)) return false;
  if (plan.when_down == WhenDown::open) return true;
  const Time lasts = fault.kind == denied && fault.lasts == 0 ? std::numeric_limits<Time>::max() : fault.lasts;
  return lasts > config->lease.count() / 3;  // half a lease after the last renewal, which is up to a sixth old
}

}  // namespace penstock::simulation
