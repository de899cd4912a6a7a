// SPDX-License-Identifier: Apache-2.0
// Refills are computed when a departure needs them.
#include "flow/token_bucket.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace penstock::flow {

namespace {
// What is in use is remembered for twice the time in which an empty bucket is full.
constexpr std::size_t kMostLows = 8;
constexpr Instant kLowsUntilFull = 4;
}  // namespace

Instant TokenBucket::frontier(int weight) const {
  return refilled(used_.since, used_.tokens + weight - config_.capacity, config_.refill_amount);
}

void TokenBucket::commit(Instant at, int weight) {
  used_ = used_at(at);
  if (!lows_.empty()) note_low(at);
  used_.tokens += weight;
}

// Tokens of an earlier period are not given back, since a refill may have found the bucket full in between.
void TokenBucket::give_back(Instant at, int weight) {
  if (at >= used_.since) used_.tokens = std::max<std::int64_t>(0, used_.tokens - weight);
}

// A refill that finds the bucket full is lost. Had a departure taken fewer tokens, some refills since might have been:
// no more comes back than was in use all the time since then. Of departures before all that is remembered, what refills
// since cannot have paid was in use.
void TokenBucket::correct(Instant at, Instant now, int more) {
  used_ = used_at(now);
  lows_.empty() ? lows_.push_back({now, used_.tokens}) : note_low(now);
  if (more > 0) {
    used_.tokens += more;
  } else {
    take_back(at, now, -std::int64_t{more});
  }
}

void TokenBucket::take_back(Instant at, Instant now, std::int64_t tokens) {
  auto first = std::upper_bound(lows_.begin(), lows_.end(), at, [](Instant t, const Low& low) { return t < low.from; });
  if (first == lows_.begin()) {
    tokens -= static_cast<std::int64_t>(std::ceil((now - at) / period())) * config_.refill_amount;
  } else {
    --first;
  }
  for (auto low = first; low != lows_.end(); ++low) tokens = std::min(tokens, low->least);
  tokens = std::max<std::int64_t>(0, tokens);
  used_.tokens -= tokens;
  for (; first != lows_.end(); ++first) first->least -= tokens;
}

// Before a departure is counted: the fewest are in use then.
void TokenBucket::note_low(Instant now) {
  lows_.back().least = std::min(lows_.back().least, used_.tokens);
  const Instant full_in = refilled(0, config_.capacity, config_.refill_amount);
  if (now < lows_.back().from + full_in / kLowsUntilFull) return;
  lows_.push_back({now, used_.tokens});
  if (lows_.size() > kMostLows) lows_.erase(lows_.begin());
}

Instant TokenBucket::ahead(Instant now, std::int64_t units) const {
  const Used used = used_at(now);
  const std::int64_t missing = used.tokens + units + 1 - config_.capacity;
  return std::max(now, refilled(used.since, missing, std::min(config_.refill_amount, config_.capacity)));
}

void TokenBucket::shift(Instant by) {
  used_.since += by;
  for (Low& low : lows_) low.from += by;
}

Instant TokenBucket::forgettable_at() const { return refilled(used_.since, used_.tokens, config_.refill_amount); }

LimitReading TokenBucket::read(Instant now) const {
  const Used used = used_at(now);
  return {
      .used = static_cast<double>(used.tokens),
      .of = static_cast<double>(config_.capacity),
      .opens_in = std::max(0.0, refilled(used.since, used.tokens + 1 - config_.capacity, config_.refill_amount) - now),
      .resets_in = std::max(0.0, refilled(used.since, used.tokens, config_.refill_amount) - now)};
}

std::string TokenBucket::state() const {
  std::string all = text(used_);
  if (all.empty() || lows_.empty()) return all;
  all.front() = '2';
  for (const Low& low : lows_) {
    char text[64];
    std::snprintf(text, sizeof text, " %.4f %lld", low.from, static_cast<long long>(low.least));
    all += text;
  }
  return all;
}

std::string TokenBucket::state_less(const TokenBucket& other) const {
  const std::int64_t others = other.used_.since == kAlways ? 0 : other.used_at(used_.since).tokens;
  return text({.since = used_.since, .tokens = std::max<std::int64_t>(0, used_.tokens - others)});
}

std::string TokenBucket::text(const Used& used) {
  char text[96];
  std::snprintf(text, sizeof text, "1b %.4f %lld", used.since, static_cast<long long>(used.tokens));
  return used.since == kAlways ? "" : text;
}

TokenBucket::Used TokenBucket::used_at(Instant t) const {
  if (used_.since == kAlways) return {.since = t};
  const Instant refills = std::floor((t - used_.since) / period());
  if (refills <= 0) return used_;
  const Instant left = static_cast<Instant>(used_.tokens) - refills * config_.refill_amount;
  return {.since = used_.since + refills * period(), .tokens = static_cast<std::int64_t>(std::max(0.0, left))};
}

Instant TokenBucket::refilled(Instant since, std::int64_t tokens, std::int64_t each) const {
  if (tokens <= 0) return since;
  return since + static_cast<Instant>((tokens + each - 1) / each) * period();
}

}  // namespace penstock::flow
