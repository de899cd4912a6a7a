// SPDX-License-Identifier: Apache-2.0
// Resets are lazy: overdue ones are applied when the state is next read.
#include "flow/counter.h"

#include <cstdio>

namespace penstock::flow {

Instant Counter::frontier(int weight) const {
  if (state_.reset == kNever) return kAlways;
  return state_.count + weight <= config_.max ? state_.reset + kGuard : kNever;
}

// The first period begins kGuard before its first departure, since in any period departures may begin kGuard after the
// reset.
void Counter::commit(Instant at, int weight) {
  if (state_.reset == kNever) state_.reset = at - kGuard;
  state_.latest = std::max(state_.latest, at);
  state_.count += weight;
}

void Counter::give_back(Instant at, int weight) {
  if (at > state_.reset) state_.count = std::max<std::int64_t>(0, state_.count - weight);
}

Instant Counter::ahead(Instant now, std::int64_t units) const {
  const State state = state_at(now);
  const std::int64_t resets = before(state, units) / config_.max;
  if (state.reset == kNever) return now + static_cast<Instant>(resets) * period();
  if (resets == 0) return std::max(now, state.reset + kGuard);
  return next_reset(state) + static_cast<Instant>(resets - 1) * period() + kGuard;
}

double Counter::passes() const { return config_.max / period(); }

double Counter::room(Instant, Instant) const { return static_cast<double>(config_.max - state_.count); }

void Counter::shift(Instant by) {
  state_.reset += by;
  state_.latest += by;
}

// What it owes counts in as many periods more.
Instant Counter::forgettable_at() const {
  if (state_.reset == kNever) return kAlways;
  const std::int64_t more = carries_ && state_.count > 0 ? (state_.count - 1) / config_.max : 0;
  return next_reset(state_) + static_cast<Instant>(more) * period();
}

LimitReading Counter::read(Instant now) const {
  const State state = state_at(now);
  LimitReading reading{.used = static_cast<double>(state.count), .of = static_cast<double>(config_.max), .opens_in = 0};
  if (state.reset == kNever) return reading;
  const Instant resets = next_reset(state);
  reading.opens_in = std::max(0.0, (state.count < config_.max ? state.reset : resets) + kGuard - now);
  reading.resets_in = std::max(0.0, resets - now);
  return reading;
}

/// The number and the leader of the reset, which Redis keeps, do not exist here.
std::string Counter::state() const {
  char text[128];
  std::snprintf(text, sizeof text, "1c %.4f %lld %.4f 0 - 0", state_.reset, static_cast<long long>(state_.count),
                state_.latest);
  return state_.reset == kNever ? "" : text;
}

// The next reset waits for the latest booked departure (next_reset()), which would else leave after it. Resets beyond
// that one come at each period.
Counter::State Counter::state_at(Instant now) const {
  if (now < state_.reset + period()) return state_;
  State state{.reset = next_reset(state_), .latest = state_.latest};
  const Instant more = std::floor((now - state.reset) / period());
  if (more > 0) state.reset += more * period();
  state.count = carried(state_.count, 1 + std::max(0.0, more));
  return state;
}

}  // namespace penstock::flow
