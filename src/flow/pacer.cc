// SPDX-License-Identifier: Apache-2.0
// A departure's units first fill the burst's bucket; units that do not fit are paced. The bucket leaks only while the
// pacer is idle.
#include "flow/pacer.h"

#include <algorithm>
#include <cstdio>

namespace penstock::flow {

Instant Pacer::frontier(int) const { return next(); }

void Pacer::commit(Instant at, int weight) {
  const Instant from = std::max(at, next());
  const double held = held_at(from), filled = std::min<double>(held, config_.max_burst) + weight;
  const double level = std::min<double>(filled, config_.max_burst);
  last_ = from;
  level_ = std::max(level, held);
  debt_ = filled - level;
}

// Takes back only the newest departure, and only if all of it was paced: an earlier one's time could be used only by a
// departure at exactly that time. The departure before it is assumed to have had the same weight.
void Pacer::give_back(Instant at, int weight) {
  const Instant before = next() - time_of(weight);
  if (rounded_up(before) != at) return;
  last_ = before - time_of(weight);
  debt_ = weight;
}

// Of the newest departure what was paced first goes, then what is in the bucket, which is as it would be without. The
// time that an earlier one took too much is over, or taken by those behind it.
void Pacer::settle(Instant at, Instant now, int taken, int cost) {
  if (cost > taken) return commit(now, cost - taken);
  if (rounded_up(last_) != at) return;
  debt_ -= taken - cost;
  if (debt_ >= 0) return;
  level_ = std::max(0.0, level_ + debt_);
  debt_ = 0;
}

Instant Pacer::ahead(Instant now, std::int64_t units) const {
  const double over = level_at(now) + static_cast<double>(units) - config_.max_burst;
  return std::max(now, next()) + time_of(std::max(0.0, over));
}

double Pacer::passes() const { return config_.qps / 1'000'000; }

double Pacer::room(Instant now, Instant till) const {
  const Instant from = std::max(now, next());
  return from > till ? 0 : config_.max_burst - level_at(now) + (till - from) * passes() + 1;
}

void Pacer::shift(Instant by) { last_ += by; }

Instant Pacer::forgettable_at() const { return next() + time_of(level_) / config_.burst_allowance_factor; }

LimitReading Pacer::read(Instant now) const {
  return {.used = level_at(now),
          .of = static_cast<double>(config_.max_burst),
          .rate = config_.qps,
          .opens_in = std::max(0.0, next() - now)};
}

std::string Pacer::state() const {
  char text[128];
  std::snprintf(text, sizeof text, "2p %.4f %.15g %.15g %.15g", last_, debt_, level_, config_.qps);
  return last_ == kAlways ? "" : text;
}

double Pacer::held_at(Instant t) const {
  const Instant idle = std::max(0.0, t - next());
  return std::max(0.0, level_ - idle * config_.qps * config_.burst_allowance_factor / 1'000'000);
}

}  // namespace penstock::flow
