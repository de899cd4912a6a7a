// SPDX-License-Identifier: Apache-2.0
// Refills are computed when a departure needs them.
#include "flow/token_bucket.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace penstock::flow {

namespace {
constexpr std::size_t kMostLows = 16;
}  // namespace

Instant TokenBucket::frontier(int weight) const {
  return refilled(used_.since, used_.tokens + weight - config_.capacity, config_.refill_amount);
}

void TokenBucket::commit(Instant at, int weight) {
  used_ = used_at(at);
  if (!lows_.empty()) lower_to(used_.tokens);
  used_.tokens += weight;
  if (!lows_.empty()) raise_from(at);
}

// Tokens of an earlier period are not given back, since a refill may have found the bucket full in between.
void TokenBucket::give_back(Instant at, int weight) {
  if (at >= used_.since) used_.tokens = std::max<std::int64_t>(0, used_.tokens - weight);
}

// A refill that finds the bucket full is lost. Had a departure taken fewer tokens, some refills since might have been:
// no more comes back than was in use all the time since then. Of departures before all that is remembered, what refills
// since cannot have paid was in use.
void TokenBucket::settle(Instant at, Instant now, int taken, int cost) {
  used_ = used_at(now);
  lows_.empty() ? lows_.push_back({now, used_.tokens}) : lower_to(used_.tokens);
  if (cost > taken) {
    used_.tokens += cost - taken;
  } else {
    take_back(at, now, taken - cost);
  }
}

void TokenBucket::take_back(Instant at, Instant now, std::int64_t tokens) {
  const auto behind = std::ranges::upper_bound(lows_, at, {}, &Low::from);
  const auto first = behind == lows_.begin() ? behind : behind - 1;
  if (first == behind) tokens -= static_cast<std::int64_t>(std::ceil((now - at) / period())) * config_.refill_amount;
  tokens = std::clamp<std::int64_t>(tokens, 0, first->least);
  used_.tokens -= tokens;
  for (auto low = first; low != lows_.end(); ++low) low->least -= tokens;
  const auto same = std::ranges::lower_bound(lows_.begin(), first, first->least, {}, &Low::least);
  if (same == first) return;
  same->least = first->least;
  lows_.erase(same + 1, first + 1);
}

// So few are in use now.
void TokenBucket::lower_to(std::int64_t tokens) {
  const auto low = std::ranges::lower_bound(lows_, tokens, {}, &Low::least);
  if (low == lows_.end()) return;
  low->least = tokens;
  lows_.erase(low + 1, lows_.end());
}

// All that is in use now was not before. Of the oldest moments less is known, which does no harm.
void TokenBucket::raise_from(Instant at) {
  if (used_.tokens <= lows_.back().least) return;
  lows_.push_back({std::max(at, lows_.back().from), used_.tokens});
  if (lows_.size() > kMostLows) lows_.erase(lows_.begin() + 1);
}

Instant TokenBucket::ahead(Instant now, std::int64_t units) const {
  const Used used = used_at(now);
  const std::int64_t missing = used.tokens + units + 1 - config_.capacity;
  return std::max(now, refilled(used.since, missing, std::min(config_.refill_amount, config_.capacity)));
}

double TokenBucket::passes() const { return config_.refill_amount / period(); }

double TokenBucket::room(Instant, Instant till) const {
  if (used_.since == kAlways) return config_.capacity;
  const Used used = used_at(till);
  return static_cast<double>(config_.capacity - used.tokens);
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
