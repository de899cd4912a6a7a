// SPDX-License-Identifier: Apache-2.0
// Grants what a DepartureSearch finds, and tells all limits what becomes of it.
#include "flow/local_limiter.h"

#include <algorithm>
#include <variant>

#include "flow/sliding_window.h"

namespace penstock::flow {

using Rule = LimitSet::Rule;

namespace {
constexpr Time kHopeless = 1'000'000;  // retry interval of a request which no longer fits into a changed limit

/// When the limit has a departure.
Instant known_at(const LimitClock& clock, const Limit& limit, const Departure& departure) {
  return clock.instant(limit.moves() ? departure.at : departure.at - departure.late);
}
}  // namespace

LocalLimiter::LocalLimiter(std::vector<LimitConfig> limits, Instant at_zero, ConfigEpoch epoch)
    : clock_{std::floor(at_zero)}, epoch_(epoch) {
  limits_.replace(std::move(limits), epoch_);
}

// ---- an ask ---------------------------------------------------------------------------------------------------------

bool LocalLimiter::ask(Time now, const Ask& ask, Booking& booking) {
  if (can_never_grant(now, ask, booking)) return true;
  LimitSet::Group* group = limits_.refreshed(clock_.instant(now), ask.lane());
  DepartureSearch search(limits_, clock_, now, ask.route, ask.load());
  while (booking.departures.size() < ask.count && search.find_next(group, booking)) {
    group = limits_.commit(search.at(), ask.lane(), group, ask.load(), epoch_);
    booking.departures.push_back(search.departure(epoch_));
  }
  return true;
}

void LocalLimiter::look(Time now, const Ask& ask, Booking& booking, const Look& look) {
  if (can_never_grant(now, ask, booking)) return;
  limits_.look_at(look.counts);
  DepartureSearch search(limits_, clock_, now, ask.route, ask.load(), look.others);
  if (search.find_next(limits_.refreshed(clock_.instant(now), ask.lane()), booking)) {
    booking.departures.push_back(search.departure(epoch_));
  }
  limits_.look_at_all();
}

std::optional<Time> LocalLimiter::allowed_from(Time now, LaneKey lane, const Load& load, ConfigEpoch epoch,
                                               const std::function<bool(LimitIndex limit)>& counts) {
  const Instant at = clock_.instant(now);
  Instant latest = at;
  limits_.each(limits_.refreshed(at, lane), lane.route, [&](const Limit& limit, const Rule& rule, LimitIndex index) {
    if (!counts(index) || !rule.sees(load.weight) || !rule.counts(epoch)) return;
    latest = std::max(latest, limit.full() ? kNever : limit.frontier(rule.needs(load)));
  });
  return latest == kNever ? std::nullopt : std::optional(clock_.time(latest));
}

/// A request that a changed limit can never admit waits, and asks again, until the limits change again.
bool LocalLimiter::can_never_grant(Time now, const Ask& ask, Booking& booking) const {
  const LimitIndex by = forbids(ask.load(), ask.route);
  if (by == kNoLimit) return false;
  booking.scope = Booking::Scope::group;
  booking.limited_by = by;
  booking.ask_again = booking.not_before = now + kHopeless;
  return true;
}

LimitIndex LocalLimiter::forbids(const Load& load, std::string_view route) const {
  return forbidding(limits_, load, route);
}

// ---- estimates ------------------------------------------------------------------------------------------------------

// What those before it cost is not known here: of a limit that counts the cost only one unit of its own is certain.
Time LocalLimiter::ahead(Time now, LaneKey lane, std::int64_t units, const OtherUnits& others) const {
  return expected(now, lane, Load(1, 0), units, others, {});
}

Time LocalLimiter::expected(Time now, LaneKey lane, const Load& load, std::int64_t units, const OtherUnits& others,
                            const OtherProcesses& processes) const {
  const Instant at = clock_.instant(now);
  Instant latest = at;
  const LimitSet::Group* known = limits_.find(lane.group);
  // How long the slowest limit takes for units that another limit lets leave at once.
  const auto taken_for = [&](std::int64_t many) {
    Instant longest = 0;
    if (many > 0) {
      limits_.each(known, lane.route, [&](const Limit& limit, const Rule& rule, LimitIndex) {
        if (!rule.counts_cost()) longest = std::max(longest, limit.takes(many));
      });
    }
    return longest;
  };
  const auto others_of = [&](const Rule& rule) {
    if (!rule.narrow()) return others.all;
    if (!rule.of_group()) return others.of_route;
    return rule.config.route.empty() ? others.of_group : 0;
  };
  limits_.each(known, lane.route, [&](const Limit& limit, const Rule& rule, LimitIndex) {
    const std::int64_t own = (units + others_of(rule)) * (rule.counts_cost() ? load.cost : 1);
    const int needed = rule.needs(load);
    const OtherProcesses of_others = rule.config.shared ? processes : OtherProcesses{};
    const std::int64_t before = own + of_others.before(own) + needed - 1;
    const std::int64_t step = rule.counts_cost() ? 0 : limit.in_its_step(at, before);
    latest = std::max(latest, limit.expected(at, own, needed, of_others) + taken_for(step));
  });
  latest = std::max(latest, limits_.pause().frontier(1));
  if (known) latest = std::max(latest, known->pause.frontier(1));
  return clock_.time(latest);
}

void LocalLimiter::heard(LimitIndex limit, Instant since, std::int64_t much) {
  Rule& rule = limits_.rule(limit);
  if (!rule.of_group()) rule.limit->heard(since, much);
}

void LocalLimiter::heard(LimitIndex limit, std::span<const Instant> times, const ByStrangers& strangers) {
  Rule& rule = limits_.rule(limit);
  if (auto* const window = rule.of_group() ? nullptr : dynamic_cast<SlidingWindow*>(rule.limit.get()))
    window->heard(times, strangers);
}

// ---- what becomes of departures -------------------------------------------------------------------------------------

void LocalLimiter::give_back(Time now, LaneKey lane, const Departure& departure) {
  const LimitSet::Group* known = limits_.refreshed(clock_.instant(now), lane);
  limits_.each(known, lane.route, [&](Limit& limit, const Rule& rule, LimitIndex) {
    if (!rule.counts(departure.epoch)) return;
    rule.counts_cost() ? limit.settle(known_at(clock_, limit, departure), clock_.instant(now), departure.cost, 0)
                       : limit.give_back(clock_.instant(departure.at), departure.weight);
  });
}

Departure LocalLimiter::report_late(LaneKey lane, Departure departure, Time at) {
  const Instant from = clock_.instant(departure.at), to = clock_.instant(at);
  limits_.each(limits_.remembered(lane, limits_.refreshed(to, lane)), lane.route,
               [&](Limit& limit, const Rule& rule, LimitIndex) {
                 if (rule.counts(departure.epoch)) limit.moved(from, to, rule.amount(departure.load()));
               });
  departure.late += at - departure.at;
  departure.at = at;
  return departure;
}

bool LocalLimiter::settle(Time now, LaneKey lane, const Departure& departure, int cost) {
  if (cost == departure.cost || departure.unlimited) return false;
  const Instant known = clock_.instant(now);
  limits_.each(limits_.remembered(lane, limits_.refreshed(known, lane)), lane.route,
               [&](Limit& limit, const Rule& rule, LimitIndex) {
                 if (rule.counts_cost() && rule.counts(departure.epoch))
                   limit.settle(known_at(clock_, limit, departure), known, departure.cost, cost);
               });
  return cost < departure.cost;
}

void LocalLimiter::refused(Time now, LaneKey lane, const Departure& departure) {
  const LimitSet::Group* known = limits_.refreshed(clock_.instant(now), lane);
  limits_.each(known, lane.route, [&](Limit& limit, const Rule& rule, LimitIndex) {
    if (rule.counts(departure.epoch)) limit.refused(clock_.instant(now), clock_.instant(departure.at));
  });
}

void LocalLimiter::learned(Time now, LaneKey lane, const Departure& departure, const Report& report) {
  const Counted counted{report.count, clock_.instant(report.resets), clock_.instant(departure.at)};
  const LimitSet::Group* known = limits_.refreshed(clock_.instant(now), lane);
  limits_.each(known, lane.route, [&](Limit& limit, const Rule& rule, LimitIndex index) {
    if (index == report.limit && rule.counts(departure.epoch)) limit.learn(clock_.instant(now), counted);
  });
}

bool LocalLimiter::landed(Time, LaneKey lane) {
  bool freed = false;
  limits_.each(limits_.find(lane.group), lane.route, [&](Limit& limit, const Rule& rule, LimitIndex) {
    limit.landed();
    freed |= rule.counts_flights() && !limit.full();
  });
  return freed;
}

void LocalLimiter::cancel_wait(Time, Booking::Scope, LaneKey) {}

void LocalLimiter::pause(Time now, std::string_view group, Time until) {
  limits_.extend_pause(group, limits_.refreshed(clock_.instant(now), LaneKey(group)), clock_.instant(until));
}

bool LocalLimiter::shorten_pauses(Time, Time latest) { return limits_.shorten_pauses(clock_.instant(latest)); }

void LocalLimiter::book(Time at, LaneKey lane, const Load& load, ConfigEpoch epoch, Excess excess) {
  const Instant then = clock_.instant(at);
  LimitSet::Group* const known = limits_.refreshed(then, lane);
  if (excess == Excess::is_dropped) return limits_.commit_within(then, lane, known, load, epoch);
  limits_.commit(then, lane, known, load, epoch);
}

bool LocalLimiter::forgettable(Time now) const { return limits_.forgettable(clock_.instant(now)); }

void LocalLimiter::correct_clock(Instant at_zero) {
  const Instant by = std::floor(at_zero) - clock_.at_zero;
  clock_.at_zero += by;
  limits_.shift(by);
}

// ---- what is used ---------------------------------------------------------------------------------------------------

void LocalReader::read(Time now, std::string_view group, const TellReading& tell) const {
  const Instant at = clock_.instant(now);
  limits_.each_of_any_route(limits_.find(group), [&](const Limit& limit, const Rule& rule, LimitIndex index) {
    if (rule.of_group() != group.empty()) tell(index, limit.read(at));
  });
}

// ---- the limits' states ---------------------------------------------------------------------------------------------

void LocalLimiter::states(const TellState& tell) const {
  limits_.each_of_all([&](const Limit& limit, std::string_view group, LimitIndex index) {
    if (const std::string state = limit.state(); !state.empty()) tell(index, group, state);
  });
}

// ---- changed limits -------------------------------------------------------------------------------------------------

void LocalLimiter::change(Time now, const std::vector<LimitConfig>& limits) {
  set_limits(limits, now);
  limits_.refreshed(clock_.instant(now), {});
}

void LocalLimiter::set_limits(std::vector<LimitConfig> limits, std::optional<Time> now) {
  if (now) limits_.refresh_all(clock_.instant(*now));
  epoch_ += limits_.same_shape(limits) ? 0 : 1;
  limits_.replace(std::move(limits), epoch_);
}

void LocalLimiter::count_existing(Time now, LaneKey lane, std::size_t departures) {
  if (!limits_.has_new_semaphore()) return;
  limits_.each(limits_.remembered(lane, limits_.refreshed(clock_.instant(now), lane)), lane.route,
               [&](Limit& limit, const Rule& rule, LimitIndex) {
                 if (rule.is_new) limit.count_existing(static_cast<std::int64_t>(departures));
               });
}

}  // namespace penstock::flow
