// SPDX-License-Identifier: Apache-2.0
// A departure is allowed an interval after an earlier unit, which is found by its index in the list of times.
#include "flow/sliding_window.h"

#include <algorithm>
#include <utility>

namespace penstock::flow {

namespace {
constexpr Instant kLateEnough = 5'000'000;  // what a connection may take, and more
}  // namespace

Instant SlidingWindow::frontier(int weight) const {
  const std::int64_t in_the_way = size() - config_.max + weight - 1;
  const Instant own = in_the_way < 0 || size() == 0 ? kAlways : time(std::min(in_the_way, size() - 1)) + interval();
  return std::max(own, foreign_allows(weight));
}

Instant SlidingWindow::foreign_allows(std::int64_t units) const {
  if (!foreign_ || foreign_->units == 0) return kAlways;
  return since(foreign_->from) + foreign_->units + units <= config_.max ? kAlways : foreign_->until;
}

std::int64_t SlidingWindow::since(Instant from) const {
  const auto begin = times_.begin() + static_cast<std::ptrdiff_t>(first_);
  return times_.end() - std::lower_bound(begin, times_.end(), from);
}

// The upstream counts a request when it arrives: one that left a little before its window began may count in that. Of
// ours it has counted the answered one, and those that left earlier.
void SlidingWindow::learn(Instant now, const Counted& counted) {
  if (size() == 0 || counted.departed <= now - interval() || counted.resets <= now) return;
  if (foreign_ && foreign_->until <= now) foreign_.reset();
  if (foreign_ && counted.departed < foreign_->told - kLongestWay) return;
  const Instant from = counted.resets - static_cast<Instant>(config_.interval.count());
  const std::int64_t ours = since(from - std::min(now - counted.departed, kLongestWay));
  const std::int64_t before = std::max<std::int64_t>(0, since(from) - since(counted.departed));
  const std::int64_t most = std::max<std::int64_t>(0, counted.count - before - 1);
  const std::int64_t least = std::min(most, std::max<std::int64_t>(0, counted.count - ours));
  if (!foreign_) foreign_ = std::make_unique<Foreign>();
  if (counted.departed < foreign_->told) {
    foreign_->units = std::max(foreign_->units, least);
  } else {
    *foreign_ = {{std::clamp(foreign_->units, least, most), from, counted.resets}, counted.departed};
  }
}

// With weights and several lanes a departure may be before the newest one: it counts as if it left with that. Units
// over the maximum are dropped only when they are past: a lowered maximum may be raised again.
void SlidingWindow::commit(Instant at, int weight) {
  heavy_ = (heavy_ && size() > 0) || weight > 1;
  const Instant t = size() > 0 ? std::max(rounded_up(at), times_.back()) : rounded_up(at);
  times_.insert(times_.end(), static_cast<std::size_t>(weight), t);
}

void SlidingWindow::heard(std::span<const Instant> times, const ByStrangers& strangers) {
  times_.assign(times.begin(), times.end());
  first_ = 0;
  foreign_.reset();
  if (strangers.units > 0) foreign_ = std::make_unique<Foreign>(Foreign{strangers, kAlways});
}

void SlidingWindow::repeat(std::int64_t times) {
  std::vector<Instant> all;
  for (std::int64_t n = 0; n < size(); ++n) all.insert(all.end(), static_cast<std::size_t>(times), time(n));
  times_ = std::move(all);
  first_ = 0;
}

// Drops only units that are too old for any departure from now on: the newest may still be given back, or `max` raised.
void SlidingWindow::refresh(Instant now) {
  while (size() > config_.max && time(0) + interval() <= now) drop_first();
}

void SlidingWindow::give_back(Instant at, int weight) {
  for (; weight > 0 && size() > 0 && times_.back() == at; --weight) times_.pop_back();
}

// The units that are free now, and each of the others at the moment when an older one leaves the window. So the last of
// them is no later than the next departure. No limit that holds requests up is told more than kMostRemembered; one in
// shadow mode may be, and need not remember it.
void SlidingWindow::commit_cost(Instant at, int cost) {
  heavy_ = true;
  Instant t = size() > 0 ? std::max(rounded_up(at), times_.back()) : rounded_up(at);
  for (cost = std::min(cost, kMostRemembered); cost > 0; --cost) {
    t = std::max(t, free_for(size()));
    times_.push_back(t);
  }
}

// Its units follow each other, from the first one on that is no earlier than it. Before them, at the same time, there
// may be some of another departure: then units are taken out that are earlier than its last, which stay, and no stretch
// of time has fewer than it should. Of a departure that is an interval old some may be dropped: nothing comes back.
// Then units that are still to come have room sooner.
void SlidingWindow::settle(Instant at, Instant now, int taken, int cost) {
  if (cost > taken) return commit_cost(now, cost - taken);
  if (at <= now - interval()) return;
  const auto first = std::lower_bound(times_.begin() + static_cast<std::ptrdiff_t>(first_), times_.end(), at);
  const auto its_own = [&](int units) { return first + std::min<std::ptrdiff_t>(units, times_.end() - first); };
  const auto next = times_.erase(its_own(cost), its_own(taken));
  const auto to_come = std::upper_bound(next, times_.end(), now);
  for (std::int64_t n = size() - (times_.end() - to_come); n < size(); ++n) {
    const Instant before = n > 0 ? time(n - 1) : kAlways;
    times_[first_ + static_cast<std::size_t>(n)] = std::max({rounded_up(now), before, free_for(n)});
  }
}

// Moves the first units that are no earlier than `from` less kGuard: replayed times may differ by that, and units
// stored with the newest are later than `from`. Moving a unit that is too old does no harm. If `from` is an interval or
// more before `to`, its units may be dropped already: new ones are added.
void SlidingWindow::moved(Instant from, Instant to, int weight) {
  const auto begin = times_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto last = std::lower_bound(begin, times_.end(), to);
  if (to - from >= interval()) {
    times_.insert(last, static_cast<std::size_t>(weight), to);
    return;
  }
  const auto first = std::lower_bound(begin, last, from - kGuard);
  const auto units = std::min<std::ptrdiff_t>(weight, last - first);
  std::fill(std::move(first + units, last, first), last, to);
}

Instant SlidingWindow::ahead(Instant now, std::int64_t units) const { return ahead_within(now, units, config_.max); }

Instant SlidingWindow::expected(Instant now, std::int64_t units, int weight, const OtherProcesses& others) const {
  return ahead_within(now, units + weight - 1, std::max<std::int64_t>(1, config_.max / (1 + others.count)));
}

Instant SlidingWindow::ahead_within(Instant now, std::int64_t units, std::int64_t most) const {
  const auto rounds = static_cast<Instant>(units / most);
  const std::int64_t in_the_way = size() - most + units % most;
  const Instant own = in_the_way < 0 ? now : std::max(now, time(in_the_way) + interval());
  return std::max(own + rounds * interval(), foreign_allows(units + 1));
}

double SlidingWindow::passes() const { return config_.max / interval(); }

// Free are those of the `max` places whose departures are an interval old by `till`.
double SlidingWindow::room(Instant, Instant till) const {
  const std::int64_t recent = std::min<std::int64_t>(since(till - interval() + 0.5), config_.max);
  const std::int64_t own = config_.max - recent;
  if (!foreign_ || foreign_->until <= till || foreign_->units == 0) return static_cast<double>(own);
  const std::int64_t rest = config_.max - since(foreign_->from) - foreign_->units;
  return static_cast<double>(std::max<std::int64_t>(0, std::min(own, rest)));
}

void SlidingWindow::shift(Instant by) {
  for (Instant& time : times_) time += by;
  if (foreign_) foreign_->from += by, foreign_->until += by, foreign_->told += by;
}

// One heavy request may take what light ones would get one by one. Otherwise a pacer beside it lets fewer than `max`
// pass in an interval in which it was idle for two spacings and for as much as a departure before may have been late:
// then all that is left to remember is nobody's place.
Instant SlidingWindow::forgettable_at() const {
  if (size() == 0) return kAlways;
  const Instant idle = 2 * interval() / config_.max + kLateEnough;
  const Instant own = times_.back() + (config_.beside_pacer && !heavy_ ? std::min(interval(), idle) : interval());
  return foreign_ ? std::max(own, foreign_->until) : own;
}

LimitReading SlidingWindow::read(Instant now) const {
  std::int64_t used = since(now - interval() + 1);
  if (foreign_ && foreign_->until > now) used = std::max(used, since(foreign_->from) + foreign_->units);
  return {.used = static_cast<double>(used),
          .of = static_cast<double>(config_.max),
          .opens_in = std::max(0.0, frontier(1) - now)};
}

std::string SlidingWindow::state() const {
  std::string text;
  for (std::int64_t n = 0; n < size(); ++n) text += ' ' + std::to_string(static_cast<std::int64_t>(time(n)));
  return text.empty() ? text : "1s" + text;
}

void SlidingWindow::drop_first() {
  if (2 * ++first_ < times_.size()) return;
  times_.erase(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

}  // namespace penstock::flow
