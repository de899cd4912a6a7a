// SPDX-License-Identifier: Apache-2.0
// As LocalLimiter answers, or as Redis does, with the departures of others in between.
#include "flow/rehearsed_limiter.h"

#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "flow/adaptive.h"
#include "flow/sliding_window.h"

namespace penstock::flow {

using Rule = LimitSet::Rule;

namespace {
constexpr Time kTriedAgain = 1'000'000;  // as LocalLimiter retries a weight that a changed limit never admits

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
  void commit_cost(Instant at, int cost) override { one_->commit_cost(at, cost), other_->commit_cost(at, cost); }
  void settle(Instant at, Instant now, int taken, int cost) override {
    one_->settle(at, now, taken, cost), other_->settle(at, now, taken, cost);
  }
  void landed() override { one_->landed(); }
  Instant ahead(Instant now, std::int64_t units) const override {
    return std::max(one_->ahead(now, units), other_->ahead(now, units));
  }
  double passes() const override { return one_->passes(); }
  double room(Instant now, Instant till) const override {
    return std::min(one_->room(now, till), other_->room(now, till));
  }
  Instant forgettable_at() const override { return std::max(one_->forgettable_at(), other_->forgettable_at()); }
  LimitReading read(Instant now) const override { return one_->read(now); }

 private:
  std::unique_ptr<Limit> one_, other_;
};
}  // namespace

std::unique_ptr<RehearsedLimiter> Limiter::rehearsal(Time, std::span<const std::string_view>) const { return nullptr; }

void RehearsedLimiter::share_with(const std::vector<InLine>& line, Time as_of) {
  const bool some_others = std::ranges::any_of(line, [](const InLine& one) { return !one.is_own; });
  if (some_others) line_.emplace(line, clock_.instant(as_of), RehearsedLine::Ways{round_trip_, lead_});
}

void RehearsedLimiter::share_with(const OtherProcesses& others, Time as_of) {
  if (others.count <= 0) return;
  std::vector<InLine> line;
  const double each = static_cast<double>(others.had_less) / static_cast<double>(others.count);
  const Instant at = clock_.instant(as_of);
  line.reserve(static_cast<std::size_t>(others.count) + 1);
  for (std::int64_t n = 0; n < others.count; ++n)
    line.push_back({.had = std::round(std::max(0.0, -each)), .wants = InLine::kMost, .at = at});
  line.push_back({.is_own = true, .had = std::round(std::max(0.0, each)), .wants = InLine::kMost, .at = at});
  share_with(line, as_of);
}

void RehearsedLimiter::add(const LimitSet& heard, bool is_whole) {
  limits_.exchange([&](LimitIndex index, std::unique_ptr<Limit> known, Remaining&) -> std::unique_ptr<Limit> {
    const Rule& rule = heard.rule(index);
    if (rule.of_group() || rule.counts_flights() || !rule.config.shared) return known;
    if (auto* const adaptive = dynamic_cast<Adaptive*>(known.get())) {
      if (const auto* const all = dynamic_cast<const Adaptive*>(rule.limit.get())) adaptive->go_on_from(*all);
      return known;
    }
    if (is_whole && !rule.narrow()) return rule.limit->copy();
    if (auto* const window = dynamic_cast<SlidingWindow*>(known.get())) {
      // The others are taken to have had as much, at the same times.
      window->repeat(line_ ? static_cast<std::int64_t>(line_->processes()) : 1);
      return known;
    }
    return std::make_unique<BothLimits>(std::move(known), rule.limit->copy());
  });
}

std::vector<SharedLimit> RehearsedLimiter::shared_limits() {
  std::vector<SharedLimit> shared;
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const auto index = static_cast<LimitIndex>(i);
    Rule& rule = limits_.rule(index);
    const bool is_shared = rule.config.shared && !rule.narrow() && !rule.counts_flights();
    if (is_shared) shared.push_back({rule.limit.get(), index, rule.counts_cost()});
  }
  return shared;
}

bool RehearsedLimiter::ask(Time asked, const Ask& ask, Booking& booking) {
  if (refuses_) {
    booking.stop = Booking::Stop::unavailable;
    booking.limited_by = kRedis;
    return true;
  }
  const Time now = reached(asked + round_trip_ / 2);
  const Instant at = clock_.instant(now);
  const std::vector<SharedLimit> shared = line_ && ask.weight > 0 ? shared_limits() : std::vector<SharedLimit>();
  if (!shared.empty()) line_->play(shared, at);
  LimitSet::Group* const group = limits_.refreshed(at, ask.lane());
  std::size_t most = ask.count;
  if (!shared.empty()) {
    line_->begin(
        shared, {.now = at, .count = ask.count, .weight = ask.weight, .more = ask.more + ask.others, .cost = ask.cost});
    most = std::min(most, line_->most(shared));
  }
  grant(now, ask, group, most, booking);
  if (!shared.empty()) tell_as_line(now, shared, ask, booking);
  const bool waits = booking.departures.size() < ask.count && booking.stop == Booking::Stop::turn;
  const bool by_line = !shared.empty() && booking.scope == Booking::Scope::upstream;
  if (round_trip_ > 0 && waits && ask.weight > 0 && !by_line) ask_again_as_redis(now, booking);
  return true;
}

void RehearsedLimiter::grant(Time now, const Ask& ask, LimitSet::Group* group, std::size_t most, Booking& booking) {
  DepartureSearch search(limits_, clock_, now, ask.route, ask.load());
  if (told_ && ask.weight > 0) search.leave_no_earlier(clock_.instant(told_(ask.lane()).until));
  while (booking.departures.size() < most && search.find_next(group, booking)) {
    group = limits_.commit(search.at(), ask.lane(), group, ask.load(), epoch_);
    booking.departures.push_back(search.departure(epoch_));
  }
}

/// What stopped the ask may be the line, or the limits that it is for. Otherwise the line only notes what was granted.
void RehearsedLimiter::tell_as_line(Time now, SharedLimits shared, const Ask& ask, Booking& booking) {
  const bool is_short = booking.departures.size() < ask.count && booking.stop == Booking::Stop::turn;
  const bool by_line = is_short && booking.not_before == 0;
  if (by_line)
    booking.limited_by = line_->most_by(), booking.not_before = now + 1, booking.scope = Booking::Scope::upstream;
  const bool stopped = is_short && booking.scope == Booking::Scope::upstream;
  const Time last = booking.departures.empty() ? now : booking.departures.back().at;
  const auto told = line_->end(shared, {.granted = booking.departures.size(),
                                        .last = clock_.instant(last),
                                        .stopped = stopped,
                                        .not_before = clock_.instant(booking.not_before),
                                        .by = booking.limited_by});
  if (!stopped) return;
  booking.limited_by = told.by;
  booking.not_before = clock_.time(told.not_before);
  booking.ask_again = told.again == kAlways ? 0 : clock_.time(told.again);
  if (told.awaits_reset) booking.ask_again = std::min(booking.ask_again, called_at(told.by, booking.not_before));
  if (!told.awaits_reset && booking.ask_again != 0 && booking.ask_again < booking.not_before)
    booking.ask_again = std::min(booking.ask_again, booking.not_before - round_trip_);
}

/// For a process that is alone: see settle() and again_at() in lua/level.lua, and Grants::ask_in_time().
void RehearsedLimiter::ask_again_as_redis(Time now, Booking& booking) const {
  if (!booking.departures.empty()) {
    booking.ask_again = 0;  // the lane asks when its last departure is near
    return;
  }
  const bool behind_reset = booking.ask_again > booking.not_before - kNarrowReach;
  if (behind_reset) {
    const Time again = std::max(booking.not_before, now + kHorizon);
    booking.ask_again = std::min(again, called_at(booking.limited_by, booking.not_before));
  } else {
    booking.ask_again = std::max(asks_for(booking.not_before, booking.scope), now + kHorizon / 10);
  }
}

/// A departure is expected kGuard after the reset.
Time RehearsedLimiter::called_at(LimitIndex by, Time not_before) const {
  const bool is_told = by >= 0 && round_trip_ > 0 && limits_.rule(by).config.shared && !limits_.rule(by).narrow() &&
                       std::holds_alternative<CounterConfig>(limits_.rule(by).config.kind);
  if (!is_told) return std::numeric_limits<Time>::max();
  return clock_.time(RehearsedLine::called_after(clock_.instant(not_before) - kGuard, round_trip_));
}

Time RehearsedLimiter::asks_for(Time until, Booking::Scope scope) const {
  if (round_trip_ == 0) return until;
  const bool narrow = scope != Booking::Scope::upstream && limits_.has_wide();
  const Time early = narrow ? kNarrowReach - 1'000 : kHorizon / 2;
  return until - std::max(early, scope == Booking::Scope::upstream ? round_trip_ : round_trip_ / 2);
}

/// By what was told, or for good.
bool RehearsedLimiter::holds(Time now, const Ask& ask, Booking& booking) {
  Told told;
  if (const LimitIndex by = forbids(ask.load(), ask.route); by != kNoLimit) {
    told = {.until = now + kTriedAgain, .by = by};
  } else if (told_ && ask.weight > 0) {
    told = told_(ask.lane());
  }
  const Time again = asks_for(told.until, told.scope);
  if (again <= now) return false;
  if (told.by == kNoLimit) {  // the one that its copy would name
    const Time at = reached(now);
    DepartureSearch search(limits_, clock_, at, ask.route, ask.load());
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

void RehearsedLimiter::give_back(Time now, LaneKey lane, const Departure& departure) {
  limits_.each(limits_.refreshed(clock_.instant(reached(now)), lane), lane.route,
               [&](Limit& limit, const Rule& rule, LimitIndex) {
                 if (!rule.counts(departure.epoch)) return;
                 const Instant at = clock_.instant(departure.at);
                 rule.counts_cost() ? limit.settle(at, clock_.instant(reached(now)), departure.cost, 0)
                                    : limit.give_back(at, departure.weight);
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
