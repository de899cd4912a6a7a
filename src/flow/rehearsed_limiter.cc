// SPDX-License-Identifier: Apache-2.0
// As LocalLimiter answers, or as Redis does, with the departures of others in between.
#include "flow/rehearsed_limiter.h"

#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "flow/sliding_window.h"

namespace penstock::flow {

using Rule = LimitSet::Rule;
using Scope = Booking::Scope;

namespace {
constexpr Time kHopeless = 1'000'000;  // as LocalLimiter retries a weight that a changed limit never admits

/// A limit of which two states are known, neither of them whole: a departure needs both, and counts in both.
class BothLimits final : public Limit {
 public:
  BothLimits(std::unique_ptr<Limit> one, std::unique_ptr<Limit> other)
      : one_(std::move(one)), other_(std::move(other)) {}

  std::unique_ptr<Limit> copy() const override { return std::make_unique<BothLimits>(one_->copy(), other_->copy()); }
  bool admits(int weight) const override { return one_->admits(weight); }
  void refresh(Instant now) override { one_->refresh(now), other_->refresh(now); }
  Instant frontier(int weight) const override { return std::max(one_->frontier(weight), other_->frontier(weight)); }
  Instant reset_at() const override {
    const bool one = one_->frontier(1) == kNever, other = other_->frontier(1) == kNever;
    if (one != other) return one ? one_->reset_at() : other_->reset_at();
    return std::max(one_->reset_at(), other_->reset_at());
  }
  Instant after_guard(Instant t) const override { return one_->after_guard(t); }
  bool full(std::int64_t others) const override { return one_->full(others); }
  void commit(Instant at, int weight) override {
    one_->commit(at, weight);
    other_->commit(at, weight);
  }
  void give_back(Instant at, int weight) override { one_->give_back(at, weight), other_->give_back(at, weight); }
  void landed() override { one_->landed(); }
  Instant ahead(Instant now, std::int64_t units) const override {
    return std::max(one_->ahead(now, units), other_->ahead(now, units));
  }
  Instant forgettable_at() const override { return std::max(one_->forgettable_at(), other_->forgettable_at()); }
  LimitReading read(Instant now) const override { return one_->read(now); }

 private:
  std::unique_ptr<Limit> one_, other_;
};
}  // namespace

std::unique_ptr<RehearsedLimiter> Limiter::rehearsal(Time, std::span<const std::string_view>) const { return nullptr; }

void RehearsedLimiter::share_with(const OtherProcesses& others) {
  others_.clear();
  for (std::int64_t left = others.count, less = others.had_less; left > 0; --left) {
    const std::int64_t its = less / left;
    others_.push_back({.had_less = its});
    less -= its;
  }
}

void RehearsedLimiter::add(const LimitSet& heard, bool has_times) {
  limits_.exchange([&](LimitIndex index, std::unique_ptr<Limit> known, Remaining&) -> std::unique_ptr<Limit> {
    const Rule& rule = heard.rule(index);
    if (rule.of_group() || rule.counts_flights() || !rule.config.shared) return known;
    // Its rate is part of its state, and not told: this process's own memory has learned as much.
    if (std::holds_alternative<AdaptiveConfig>(rule.config.kind)) return known;
    if (auto* const window = dynamic_cast<SlidingWindow*>(known.get())) {
      if (has_times) return rule.limit->copy();
      // The others are taken to have had as much, at the same times.
      window->repeat(1 + static_cast<std::int64_t>(others_.size()));
      return known;
    }
    return std::make_unique<BothLimits>(std::move(known), rule.limit->copy());
  });
}

bool RehearsedLimiter::ask(Time asked, const Ask& ask, Booking& booking) {
  const Time now = reached(asked + round_trip_ / 2);
  LimitSet::Group* group = limits_.refreshed(clock_.instant(now), ask.lane());
  if (ask.weight > 0) let_others_leave(clock_.instant(now), ask.lane(), ask.weight);
  DepartureSearch search(limits_, clock_, now, ask.route, ask.weight);
  if (told_ && ask.weight > 0) search.leave_no_earlier(clock_.instant(told_(ask.lane()).until));
  while (booking.departures.size() < ask.count && search.find_next(group, booking)) {
    group = limits_.commit(search.at(), ask.lane(), group, ask.weight, epoch_);
    booking.departures.push_back(search.departure(epoch_));
    for (OtherProcess& other : others_) other.had_less += ask.weight;
    if (ask.weight > 0) let_others_leave(search.at(), ask.lane(), ask.weight);
  }
  const bool waits = booking.departures.size() < ask.count && booking.stop == Booking::Stop::turn;
  if (round_trip_ > 0 && waits && ask.weight > 0) ask_again_as_redis(now, booking);
  return true;
}

/// See settle() and again_at() in lua/level.lua, and Grants::ask_in_time().
void RehearsedLimiter::ask_again_as_redis(Time now, Booking& booking) const {
  const bool narrow = booking.scope != Scope::upstream && limits_.has_wide();
  if (!booking.departures.empty() && (narrow || others_.empty())) {
    booking.ask_again = 0;  // the lane asks when its last departure is near
    return;
  }
  const bool behind_reset = booking.ask_again > booking.not_before - kNarrowReach;
  if (behind_reset) {
    booking.ask_again = std::max(booking.not_before, now + kHorizon);
  } else {
    booking.ask_again = std::max(asks_for(booking.not_before, booking.scope), now + kHorizon / 10);
  }
}

Time RehearsedLimiter::asks_for(Time until, Scope scope) const {
  if (round_trip_ == 0) return until;
  const bool narrow = scope != Scope::upstream && limits_.has_wide();
  const Time early = narrow ? kNarrowReach - 1'000 : kHorizon / 2;
  return until - std::max(early, scope == Scope::upstream ? round_trip_ : round_trip_ / 2);
}

/// By what was told, or for good.
bool RehearsedLimiter::holds(Time now, const Ask& ask, Booking& booking) {
  Told told;
  if (const LimitIndex by = forbids(ask.weight, ask.route); by != kNoLimit) {
    told = {.until = now + kHopeless, .by = by};
  } else if (told_ && ask.weight > 0) {
    told = told_(ask.lane());
  }
  const Time again = asks_for(told.until, told.scope);
  if (again <= now) return false;
  if (told.by == kNoLimit) {  // the one that its copy would name
    const Time at = reached(now);
    DepartureSearch search(limits_, clock_, at, ask.route, ask.weight);
    const bool found = search.find_next(limits_.refreshed(clock_.instant(at), ask.lane()), booking);
    told.by = found ? search.departure(epoch_).limited_by : booking.limited_by;
    booking.clear();
  }
  booking.scope = told.scope;
  booking.limited_by = told.by;
  booking.ask_again = again;
  booking.not_before = told.until;
  return true;
}

/// Those that had less, the one with the least first, each unit as soon as the limits that all processes share let it.
void RehearsedLimiter::let_others_leave(Instant from, LaneKey lane, int weight) {
  const auto each_shared = [&](auto use) {
    limits_.each(nullptr, lane.route, [&](Limit& limit, const Rule& rule, LimitIndex) {
      if (rule.config.shared && !rule.of_group() && !rule.counts_flights()) use(limit);
    });
  };
  const auto next = [&](Instant at) {
    OtherProcess* first = nullptr;
    for (OtherProcess& one : others_) {
      const bool precedes = one.had_less > 0 || (one.had_less == 0 && one.is_senior);
      const bool waits = one.units + one.per_second * (at - begin_) / 1e6 >= 1;
      if (waits && precedes && (!first || one.had_less > first->had_less)) first = &one;
    }
    return first;
  };
  begin_ = std::min(begin_, from);
  while (!others_.empty()) {
    Instant at = from;
    each_shared([&](const Limit& limit) { at = std::max(at, limit.frontier(weight)); });
    OtherProcess* const one = at == kNever ? nullptr : next(at);  // kNever: behind a reset
    if (!one) return;
    each_shared([&](Limit& limit) { limit.commit(at, weight); });
    one->had_less -= weight;
    one->units -= weight;
  }
}

LimitIndex RehearsedLimiter::forbids(int weight, std::string_view route) const {
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const auto index = static_cast<LimitIndex>(i);
    const Rule& rule = limits_.rule(index);
    if (rule.governs(route) && !rule.limit->admits(weight)) return index;
  }
  return kNoLimit;
}

void RehearsedLimiter::give_back(Time now, LaneKey lane, const Departure& departure) {
  limits_.each(limits_.refreshed(clock_.instant(reached(now)), lane), lane.route,
               [&](Limit& limit, const Rule& rule, LimitIndex) {
                 if (rule.counts(departure.epoch)) limit.give_back(clock_.instant(departure.at), departure.weight);
               });
}

bool RehearsedLimiter::landed(Time, LaneKey lane) {
  bool freed = false;
  limits_.each(limits_.find(lane.group), lane.route, [&](Limit& limit, const Rule& rule, LimitIndex) {
    limit.landed();
    freed |= rule.counts_flights() && !limit.full();
  });
  return freed;
}

}  // namespace penstock::flow
