// SPDX-License-Identifier: Apache-2.0
// A part starts from what was left of the whole limit, divided by the processes.
#include "flow/part_of_limit.h"

#include <cmath>
#include <type_traits>
#include <variant>

#include "flow/adaptive.h"
#include "flow/make_limit.h"

namespace penstock::flow {

namespace {

/// In a period that began after this process last heard, the others may have taken all: it waits for the next period.
/// If the period is longer than this (µs), it takes its part at once.
constexpr Instant kMostInVain = 10'000'000;

Instant period_of(const WindowConfig& window) { return static_cast<Instant>(window.interval.count()); }
Instant period_of(const SlidingWindowConfig& window) { return static_cast<Instant>(window.interval.count()); }
Instant period_of(const CounterConfig& counter) { return static_cast<Instant>(counter.period.count()); }

/// A window beside a busy pacer is always full. The pacer's part goes on at once, at its own rate, and all such parts
/// together are the whole. So nothing of what was left in the window is divided.
bool ignores_what_was_left(const SlidingWindowConfig& part) { return part.beside_pacer; }
template <typename Count>
bool ignores_what_was_left(const Count&) {
  return false;
}

}  // namespace

PartOfLimit::PartOfLimit(std::unique_ptr<Limit> whole, const LimitConfig::Kind& part, const Remaining& left,
                         int processes, Instant now, bool of_costs)
    : whole_(std::move(whole)), part_(make_limit(part, of_costs)), kind_(part), now_(now) {
  if (const auto* bucket = std::get_if<TokenBucketConfig>(&part)) untouched_ = std::make_unique<TokenBucket>(*bucket);
  if (left.until == kAlways) return;
  const auto units = static_cast<std::int64_t>(std::floor(static_cast<double>(left.units) / processes));
  std::visit([&](const auto& kind) { begin(kind, units, left.until); }, part);
}

PartOfLimit::PartOfLimit(const PartOfLimit& other)
    : whole_(other.whole_->copy()),
      part_(other.part_->copy()),
      untouched_(other.untouched_ ? std::make_unique<TokenBucket>(*other.untouched_) : nullptr),
      kind_(other.kind_),
      now_(other.now_),
      until_(other.until_),
      units_(other.units_) {}

void PartOfLimit::begin(const PacerConfig& part, std::int64_t units, Instant until) {
  part_->commit(until, static_cast<int>(std::max<std::int64_t>(0, part.max_burst - units)));
}

void PartOfLimit::begin(const TokenBucketConfig& part, std::int64_t units, Instant until) {
  untouched_->commit(until, static_cast<int>(std::max<std::int64_t>(0, part.capacity - units)));
  part_ = std::make_unique<TokenBucket>(*untouched_);
}

/// Of an adaptive limit not units are left, but the rate is known: see lua/adaptive.lua.
void PartOfLimit::begin(const AdaptiveConfig& part, std::int64_t units, Instant until) {
  static_cast<Adaptive&>(*part_).begin(std::clamp(static_cast<double>(units) / 1e6, part.min, part.max), until);
}

void PartOfLimit::begin(const SemaphoreConfig&, std::int64_t, Instant) {}

template <typename Count>
void PartOfLimit::begin(const Count& part, std::int64_t units, Instant until) {
  if (ignores_what_was_left(part)) return;
  const Instant period = period_of(part);
  const bool slides = std::is_same_v<Count, SlidingWindowConfig>;
  const Instant guard = slides ? 0 : kGuard;
  if (until > now_) {
    until_ = until + guard, units_ = std::max<std::int64_t>(0, units);
  } else if (period <= kMostInVain) {
    until_ = slides ? now_ + period : until + (std::floor((now_ - until) / period) + 1) * period + guard;
  }
}

Remaining PartOfLimit::left_alone(Instant now, const Remaining& told) const {
  const bool flows = std::holds_alternative<PacerConfig>(kind_) || std::holds_alternative<AdaptiveConfig>(kind_) ||
                     std::holds_alternative<TokenBucketConfig>(kind_);
  const Instant until = flows ? std::max(now, part_->frontier(1)) : std::max(until_, part_->forgettable_at());
  return until < now && until < told.until ? told : Remaining{.until = until, .units = 0};
}

/// Of what was left of the whole limit no more may leave, however much of the part is unused.
LimitReading PartOfLimit::read(Instant now) const {
  LimitReading reading = part_->read(now);
  if (until_ <= now) return reading;
  reading.used = std::max(reading.used, reading.of - static_cast<double>(std::max<std::int64_t>(0, units_)));
  if (units_ < 1) reading.opens_in = std::max(reading.opens_in.value_or(0), until_ - now);
  return reading;
}

/// Of limits that pace, the part's state: by the whole rate the pacer would seem idle in between, and its next moment
/// free now.
std::string PartOfLimit::state() const {
  const bool paces = std::holds_alternative<PacerConfig>(kind_) || std::holds_alternative<AdaptiveConfig>(kind_);
  std::string paced = paces ? part_->state() : std::string();
  return paced.empty() ? whole_->state() : paced;
}

/// What was taken from the bucket, so that Redis refills it with its own use as one bucket: two buckets that are
/// refilled separately would refill twice.
std::string PartOfLimit::taken() const {
  return untouched_ ? static_cast<const TokenBucket&>(*part_).state_less(*untouched_) : std::string();
}

void PartOfLimit::shift(Instant by) {
  whole_->shift(by), part_->shift(by);
  if (untouched_) untouched_->shift(by);
  until_ += by;
}

void PartOfLimit::commit(Instant at, int weight) {
  whole_->commit(at, weight);
  part_->commit(at, weight);
  if (at < until_) units_ -= weight;
}

void PartOfLimit::give_back(Instant at, int weight) {
  whole_->give_back(at, weight);
  part_->give_back(at, weight);
  if (at < until_) units_ += weight;
}

void PartOfLimit::commit_cost(Instant at, int cost) {
  whole_->commit_cost(at, cost);
  part_->commit_cost(at, cost);
  if (at < until_) units_ -= cost;
}

void PartOfLimit::settle(Instant at, Instant now, int taken, int cost) {
  whole_->settle(at, now, taken, cost);
  part_->settle(at, now, taken, cost);
  if ((cost > taken ? now : at) < until_) units_ += taken - cost;
}

}  // namespace penstock::flow
