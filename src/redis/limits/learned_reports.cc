// SPDX-License-Identifier: Apache-2.0
// See learned_reports.h. The count of a window only grows: the answer that tells of more is later, whichever request
// left first.
#include "redis/limits/learned_reports.h"

#include <cstdlib>

namespace penstock::redis {

namespace {
/// The end of one window may be told with that much difference (µs).
constexpr std::int64_t kSameEnd = 500'000;

bool is_later(const ScriptArgs::Learned& one, const ScriptArgs::Learned& other) {
  if (std::abs(one.resets - other.resets) > kSameEnd) return one.resets > other.resets;
  return one.count >= other.count;
}
}  // namespace

LearnedReports::LearnedReports(loop::Loop& loop, Tell tell)
    : loop_(loop), tell_(std::move(tell)), timer_(loop, [this] { tell_all(); }) {}

void LearnedReports::add(std::string_view group, const ScriptArgs::Learned& learned) {
  if (!waits_) {
    tell_(group, learned);
    waits_ = true;
    return timer_.start(loop_.now() + kGathered);
  }
  const auto [held, is_new] = held_.try_emplace({std::string(group), learned.limit}, learned);
  if (!is_new && is_later(learned, held->second)) held->second = learned;
}

void LearnedReports::tell_all() {
  waits_ = !held_.empty();
  if (waits_) timer_.start(loop_.now() + kGathered);
  for (const auto& [of, learned] : std::exchange(held_, {})) tell_(of.first, learned);
}

}  // namespace penstock::redis
