// SPDX-License-Identifier: Apache-2.0
// Grants what a DepartureSearch finds, and tells all limits what becomes of it.
#include "flow/local_limiter.h"

#include <algorithm>
#include <variant>

namespace penstock::flow {

using Rule = LimitSet::Rule;

namespace {
constexpr Time kHopeless = 1'000'000;  // retry interval of a request which no longer fits into a changed limit
}  // namespace

LocalLimiter::LocalLimiter(std::vector<LimitConfig> limits, Instant at_zero, ConfigEpoch epoch)
    : clock_{std::floor(at_zero)}, epoch_(epoch) {
  limits_.replace(std::move(limits), epoch_);
}

// ---- an ask ---------------------------------------------------------------------------------------------------------

bool LocalLimiter::ask(Time now, const Ask& ask, Booking& booking) {
  if (can_never_grant(now, ask.weight, booking)) return true;
  LimitSet::Group* group = limits_.refreshed(clock_.instant(now), ask.group);
  DepartureSearch search(limits_, clock_, now, ask.weight);
  while (booking.departures.size() < ask.count && search.find_next(group, booking)) {
    group = limits_.commit(search.at(), ask.group, group, ask.weight, epoch_);
    booking.departures.push_back(search.departure(epoch_));
  }
  return true;
}

void LocalLimiter::look(Time now, const Ask& ask, Booking& booking, const Look& look) {
  if (can_never_grant(now, ask.weight, booking)) return;
  limits_.look_at(look.counts);
  DepartureSearch search(limits_, clock_, now, ask.weight, {look.departures, look.units});
  if (search.find_next(limits_.refreshed(clock_.instant(now), ask.group), booking)) {
    booking.departures.push_back(search.departure(epoch_));
  }
  limits_.look_at_all();
}

std::optional<Time> LocalLimiter::allowed_from(Time now, std::string_view group, int weight, ConfigEpoch epoch,
                                               const std::function<bool(LimitIndex limit)>& counts) {
  const Instant at = clock_.instant(now);
  Instant latest = at;
  limits_.each(limits_.refreshed(at, group), [&](const Limit& limit, const Rule& rule, LimitIndex index) {
    if (!counts(index) || !rule.sees(weight) || !rule.counts(epoch)) return;
    latest = std::max(latest, limit.full() ? kNever : limit.frontier(weight));
  });
  return latest == kNever ? std::nullopt : std::optional(clock_.time(latest));
}

/// A request that a changed limit can never admit waits, and asks again, until the limits change again.
bool LocalLimiter::can_never_grant(Time now, int weight, Booking& booking) const {
  const LimitIndex by = forbids(weight);
  if (by == kNoLimit) return false;
  booking.scope = Booking::Scope::group;
  booking.limited_by = by;
  booking.ask_again = booking.not_before = now + kHopeless;
  return true;
}

LimitIndex LocalLimiter::forbids(int weight) const {
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const auto index = static_cast<LimitIndex>(i);
    if (!limits_.rule(index).limit->admits(weight)) return index;
  }
  return kNoLimit;
}

// ---- estimates ------------------------------------------------------------------------------------------------------

Time LocalLimiter::ahead(Time now, std::string_view group, std::int64_t units, std::int64_t others) const {
  return expected(now, group, 1, units, others, {});
}

Time LocalLimiter::expected(Time now, std::string_view group, int weight, std::int64_t units, std::int64_t others,
                            const OtherProcesses& processes) const {
  const Instant at = clock_.instant(now);
  Instant latest = at;
  const LimitSet::Group* known = limits_.find(group);
  // How long the slowest limit takes for units that another limit lets leave at once.
  const auto taken_for = [&](std::int64_t many) {
    Instant longest = 0;
    if (many > 0) {
      limits_.each(
          known, [&](const Limit& limit, const Rule&, LimitIndex) { longest = std::max(longest, limit.takes(many)); });
    }
    return longest;
  };
  limits_.each(known, [&](const Limit& limit, const Rule& rule, LimitIndex) {
    const std::int64_t own = rule.of_group() ? units : units + others;
    const OtherProcesses of_others = rule.config.shared ? processes : OtherProcesses{};
    const std::int64_t before = own + of_others.before(own) + weight - 1;
    latest = std::max(latest, limit.expected(at, own, weight, of_others) + taken_for(limit.in_its_step(at, before)));
  });
  latest = std::max(latest, limits_.pause().frontier(1));
  if (known) latest = std::max(latest, known->pause.frontier(1));
  return clock_.time(latest);
}

void LocalLimiter::heard(LimitIndex limit, Instant since, std::int64_t much) {
  Rule& rule = limits_.rule(limit);
  if (!rule.of_group()) rule.limit->heard(since, much);
}

// ---- what becomes of departures -------------------------------------------------------------------------------------

void LocalLimiter::give_back(Time now, std::string_view group, const Departure& departure) {
  const LimitSet::Group* known = limits_.refreshed(clock_.instant(now), group);
  limits_.each(known, [&](Limit& limit, const Rule& rule, LimitIndex) {
    if (rule.counts(departure.epoch)) limit.give_back(clock_.instant(departure.at), departure.weight);
  });
}

Departure LocalLimiter::report_late(std::string_view group, Departure departure, Time at) {
  const Instant from = clock_.instant(departure.at), to = clock_.instant(at);
  limits_.each(limits_.remembered(group, limits_.refreshed(to, group)),
               [&](Limit& limit, const Rule& rule, LimitIndex) {
                 if (rule.counts(departure.epoch)) limit.moved(from, to, departure.weight);
               });
  departure.at = at;
  return departure;
}

void LocalLimiter::refused(Time now, std::string_view group, const Departure& departure) {
  limits_.each(limits_.refreshed(clock_.instant(now), group), [&](Limit& limit, const Rule& rule, LimitIndex) {
    if (rule.counts(departure.epoch)) limit.refused(clock_.instant(now), clock_.instant(departure.at));
  });
}

void LocalLimiter::learned(Time now, std::string_view group, const Departure& departure, const Report& report) {
  const Counted counted{report.count, clock_.instant(report.resets), clock_.instant(departure.at)};
  limits_.each(limits_.refreshed(clock_.instant(now), group), [&](Limit& limit, const Rule& rule, LimitIndex index) {
    if (index == report.limit && rule.counts(departure.epoch)) limit.learn(clock_.instant(now), counted);
  });
}

bool LocalLimiter::landed(Time, std::string_view group) {
  bool freed = false;
  limits_.each(limits_.find(group), [&](Limit& limit, const Rule& rule, LimitIndex) {
    limit.landed();
    freed |= rule.counts_flights() && !limit.full();
  });
  return freed;
}

void LocalLimiter::cancel_wait(Time, Booking::Scope, std::string_view) {}

void LocalLimiter::pause(Time now, std::string_view group, Time until) {
  limits_.extend_pause(group, limits_.refreshed(clock_.instant(now), group), clock_.instant(until));
}

bool LocalLimiter::shorten_pauses(Time, Time latest) { return limits_.shorten_pauses(clock_.instant(latest)); }

void LocalLimiter::book(Time at, std::string_view group, int weight, ConfigEpoch epoch) {
  const Instant then = clock_.instant(at);
  limits_.commit(then, group, limits_.refreshed(then, group), weight, epoch);
}

void LocalLimiter::book_unlimited(Time at, std::string_view group, int weight, ConfigEpoch epoch) {
  const Instant then = clock_.instant(at);
  limits_.commit_within(then, group, limits_.refreshed(then, group), weight, epoch);
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
  limits_.each(limits_.find(group), [&](const Limit& limit, const Rule& rule, LimitIndex index) {
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
  set_limits(limits);
  limits_.refreshed(clock_.instant(now), {});
}

void LocalLimiter::set_limits(std::vector<LimitConfig> limits) {
  epoch_ += limits_.same_shape(limits) ? 0 : 1;
  limits_.replace(std::move(limits), epoch_);
}

void LocalLimiter::count_existing(Time now, std::string_view group, std::size_t departures) {
  if (!limits_.has_new_semaphore()) return;
  limits_.each(limits_.remembered(group, limits_.refreshed(clock_.instant(now), group)),
               [&](Limit& limit, const Rule& rule, LimitIndex) {
                 if (rule.is_new) limit.count_existing(static_cast<std::int64_t>(departures));
               });
}

}  // namespace penstock::flow
