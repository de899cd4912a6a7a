// SPDX-License-Identifier: Apache-2.0
// Counts the units of one window; the count of a later window begins with its first departure.
#include "flow/window.h"

#include <algorithm>
#include <cstdio>

#include "flow/limiter.h"

namespace penstock::flow {

namespace {
constexpr Instant kInexact = 1'050'000;  // of a moment in whole seconds, and of the way of an answer
}  // namespace

// After a change of the interval, all units of the old window may have left in the latest new window that it overlaps:
// they all count there.
void Window::refresh(Instant now) {
  if (start_ == kAlways || interval_ == interval()) return;
  start_ = start_at(now);
  interval_ = interval();
  latest_ = std::max(latest_, start_);
  more_.reset();
}

Instant Window::start_at(Instant now) const {
  if (start_ == kAlways || interval_ == interval()) return start_;
  return window_of(std::min(start_ + interval_ - 1, now + static_cast<Instant>(kHorizon)));
}

Instant Window::frontier(int weight) const {
  return gone() + weight <= config_.reservoir ? start_ + place(gone()) : start_ + interval();
}

Instant Window::after_guard(Instant t) const {
  const Instant guard = std::min(kGuard, std::floor(interval() / 10));
  const Instant start = window_of(t);
  if (t < start + guard) return start + guard;
  return t > start + interval() - guard ? start + interval() + guard : t;
}

void Window::commit(Instant at, int weight) {
  const Instant start = window_of(at);
  if (start > start_) start_ = start, count_ = 0, more_.reset();
  interval_ = interval();
  latest_ = std::max({latest_, start_, at});
  count_ += weight;
}

void Window::give_back(Instant at, int weight) {
  if (at >= start_ && at < start_ + interval()) count_ = std::max<std::int64_t>(0, count_ - weight);
}

void Window::commit_cost(Instant at, int cost) {
  commit(at, cost);
  if (const std::int64_t over = gone() - config_.reservoir; over > 0) carry_over(over);
}

void Window::carry_over(std::int64_t units) {
  const std::int64_t filled = (units - 1) / config_.reservoir;  // whole windows
  count_ = units - filled * config_.reservoir;
  more_ = std::make_unique<More>(More{.debt = count_, .from = start_});
  start_ += static_cast<Instant>(filled + 1) * interval();
  latest_ = std::max(latest_, start_);
}

// Had it been known, so much less would have been carried over from its window. If something has left behind that, no
// more than what counts in this window comes back.
void Window::settle(Instant at, Instant now, int taken, int cost) {
  if (cost > taken) return commit_cost(now, cost - taken);
  if (!more_ || more_->debt == 0 || window_of(at) != more_->from) return give_back(at, taken - cost);
  if (count_ > more_->debt || more_->told != kAlways) {
    const auto less = std::min<std::int64_t>(taken - cost, more_->debt);
    count_ -= less, more_->debt -= less;
    return;
  }
  const auto filled = static_cast<std::int64_t>(std::round((start_ - more_->from) / interval())) - 1;
  const std::int64_t over = count_ + filled * config_.reservoir - (taken - cost);
  start_ = more_->from, count_ = config_.reservoir + std::min<std::int64_t>(over, 0);
  more_.reset();
  if (over > 0) carry_over(over);
}

// A departure that moved over an edge counts in both windows.
void Window::moved(Instant from, Instant to, int weight) {
  const Instant start = window_of(to);
  if (start > window_of(from) && start >= start_) commit(to, weight);
}

// The upstream may write its reset in whole seconds. Of ours it has counted the answered request at least.
void Window::learn(Instant now, const Counted& counted) {
  const Instant off = std::min(kInexact, interval() / 4);
  if (start_ != window_of(now) || count_ == 0 || std::abs(counted.resets - start_ - interval()) > off) return;
  if (more_ && counted.departed < more_->told - kLongestWay) return;
  if (!more_) more_ = std::make_unique<More>();
  const std::int64_t most = std::max<std::int64_t>(0, counted.count - 1);
  more_->foreign = std::max(more_->foreign, std::min(most, counted.count - count_));
  if (counted.departed < more_->told) return;
  more_->told = counted.departed;
  more_->foreign = std::min(more_->foreign, most);
}

std::int64_t Window::before(Instant now, std::int64_t units) const {
  return units + (start_ >= window_of(now) ? std::min<std::int64_t>(gone(), config_.reservoir) : 0);
}

std::int64_t Window::in_its_step(Instant now, std::int64_t units) const {
  return config_.spread ? 0 : std::min(units, before(now, units) % config_.reservoir);
}

Instant Window::ahead(Instant now, std::int64_t units) const {
  const Instant start = std::max(start_, window_of(now));
  const std::int64_t before = this->before(now, units);
  const auto windows = static_cast<Instant>(before / config_.reservoir);
  return std::max(now, start + windows * interval() + place(before % config_.reservoir));
}

double Window::passes() const { return config_.reservoir / interval(); }

// What is left of the last window booked, and the windows that begin after it.
double Window::room(Instant now, Instant till) const {
  const bool is_over = start_ < window_of(now);
  const Instant start = is_over ? window_of(now) : start_;
  const std::int64_t gone = is_over ? 0 : this->gone();
  if (config_.spread) {
    const Instant front = gone < config_.reservoir ? start + place(gone) : start + interval();
    const Instant from = std::max(front, now);
    return from > till ? 0 : (till - from) * passes() + 1;
  }
  const double later = (window_of(till) - start) / interval();
  if (later < 0) return 0;
  return static_cast<double>(std::max<std::int64_t>(0, config_.reservoir - gone)) + later * config_.reservoir;
}

// After the shift its departures may be in two windows: all count in the window of the latest.
void Window::shift(Instant by) {
  if (start_ == kAlways) return;
  more_.reset();
  latest_ += by;
  start_ = window_of(latest_);
}

Instant Window::forgettable_at() const { return start_ + interval(); }

// A departure may be booked in the next window already, which closes this one: then that one is shown.
LimitReading Window::read(Instant now) const {
  const Instant counted = start_at(now), start = std::max(counted, window_of(now));
  const std::int64_t used = start > counted ? 0 : interval_ == interval() ? gone() : count_;
  const Instant opens = used < config_.reservoir ? start + place(used) : start + interval();
  return {.used = static_cast<double>(used),
          .of = static_cast<double>(config_.reservoir),
          .opens_in = after_guard(std::max(now, opens)) - now,
          .resets_in = start + interval() - now};
}

std::string Window::state() const {
  if (start_ == kAlways) return "";
  const std::int64_t debt = more_ ? more_->debt : 0;
  char text[160];
  const int written = std::snprintf(text, sizeof text, "%cw %.0f %lld %.0f", debt > 0 ? '3' : '1', start_,
                                    static_cast<long long>(count_), interval_);
  if (debt == 0) return text;
  std::snprintf(text + written, sizeof text - static_cast<std::size_t>(written), " %.0f %lld", more_->from,
                static_cast<long long>(debt));
  return text;
}

Instant Window::window_of(Instant t) const {
  const auto whole = static_cast<std::int64_t>(std::floor(t));
  return static_cast<Instant>(whole - (whole + kInstantZero) % config_.interval.count());
}

Instant Window::place(std::int64_t count) const {
  return config_.spread ? static_cast<Instant>(count) * interval() / config_.reservoir : 0;
}

}  // namespace penstock::flow
