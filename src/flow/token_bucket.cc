// SPDX-License-Identifier: Apache-2.0
// Refills are computed when a departure needs them.
#include "flow/token_bucket.h"

#include <algorithm>
#include <cstdio>

namespace penstock::flow {

Instant TokenBucket::frontier(int weight) const {
  return refilled(used_.since, used_.tokens + weight - config_.capacity, config_.refill_amount);
}

void TokenBucket::commit(Instant at, int weight) {
  used_ = used_at(at);
  used_.tokens += weight;
}

// Tokens of an earlier period are not given back, since a refill may have found the bucket full in between.
void TokenBucket::give_back(Instant at, int weight) {
  if (at >= used_.since) used_.tokens = std::max<std::int64_t>(0, used_.tokens - weight);
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

void TokenBucket::shift(Instant by) { used_.since += by; }

Instant TokenBucket::forgettable_at() const { return refilled(used_.since, used_.tokens, config_.refill_amount); }

LimitReading TokenBucket::read(Instant now) const {
  const Used used = used_at(now);
  return {
      .used = static_cast<double>(used.tokens),
      .of = static_cast<double>(config_.capacity),
      .opens_in = std::max(0.0, refilled(used.since, used.tokens + 1 - config_.capacity, config_.refill_amount) - now),
      .resets_in = std::max(0.0, refilled(used.since, used.tokens, config_.refill_amount) - now)};
}

std::string TokenBucket::state() const { return text(used_); }

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
