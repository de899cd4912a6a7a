// SPDX-License-Identifier: Apache-2.0
// As LocalLimiter answers, with the departures of others in between.
#include "flow/rehearsed_limiter.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "flow/sliding_window.h"

namespace penstock::flow {

using Rule = LimitSet::Rule;

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

void RehearsedLimiter::add(const LimitSet& heard) {
  limits_.exchange([&](LimitIndex index, std::unique_ptr<Limit> known, Remaining&) -> std::unique_ptr<Limit> {
    const Rule& rule = heard.rule(index);
    if (rule.of_group() || rule.counts_flights() || !rule.config.shared) return known;
    // Its rate is part of its state, and not told: this process's own memory has learned as much.
    if (std::holds_alternative<AdaptiveConfig>(rule.config.kind)) return known;
    // Nothing is told of the times at which others have left: they are taken to have had as much, at the same times.
    if (auto* const window = dynamic_cast<SlidingWindow*>(known.get()))
      return window->repeat(1 + others_), std::move(known);
    return std::make_unique<BothLimits>(std::move(known), rule.limit->copy());
  });
}

bool RehearsedLimiter::ask(Time now, const Ask& ask, Booking& booking) {
  if (is_held(now, ask, booking)) return true;
  LimitSet::Group* group = limits_.refreshed(clock_.instant(now), ask.lane());
  if (owed_ > 0 && ask.weight > 0) let_others_leave(clock_.instant(now), ask.lane(), ask.weight);
  DepartureSearch search(limits_, clock_, now, ask.route, ask.weight);
  while (booking.departures.size() < ask.count && search.find_next(group, booking)) {
    group = limits_.commit(search.at(), ask.lane(), group, ask.weight, epoch_);
    booking.departures.push_back(search.departure(epoch_));
    owed_ += others_ * ask.weight;
    if (owed_ > 0 && ask.weight > 0) let_others_leave(search.at(), ask.lane(), ask.weight);
  }
  return true;
}

/// By what was told, or for good.
bool RehearsedLimiter::is_held(Time now, const Ask& ask, Booking& booking) {
  Told told;
  if (const LimitIndex by = forbids(ask.weight, ask.route); by != kNoLimit) {
    told = {now + kHopeless, by};
  } else if (told_ && ask.weight > 0) {
    told = told_(ask.lane());
  }
  if (told.until <= now) return false;
  if (told.by == kNoLimit) {  // the one that its copy would name
    DepartureSearch search(limits_, clock_, now, ask.route, ask.weight);
    const bool found = search.find_next(limits_.refreshed(clock_.instant(now), ask.lane()), booking);
    told.by = found ? search.departure(epoch_).limited_by : booking.limited_by;
    booking.clear();
  }
  booking.scope = Booking::Scope::group;
  booking.limited_by = told.by;
  booking.ask_again = booking.not_before = told.until;
  return true;
}

/// The units that are owed, each as soon as the limits that all processes share let it.
void RehearsedLimiter::let_others_leave(Instant from, LaneKey lane, int weight) {
  const auto each_shared = [&](auto use) {
    limits_.each(nullptr, lane.route, [&](Limit& limit, const Rule& rule, LimitIndex) {
      if (rule.config.shared && !rule.of_group() && !rule.counts_flights()) use(limit);
    });
  };
  for (; owed_ > 0; owed_ -= weight) {
    Instant at = from;
    each_shared([&](const Limit& limit) { at = std::max(at, limit.frontier(weight)); });
    if (at == kNever) return;  // behind a reset
    each_shared([&](Limit& limit) { limit.commit(at, weight); });
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
  limits_.each(limits_.refreshed(clock_.instant(now), lane), lane.route,
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
