// SPDX-License-Identifier: Apache-2.0
// See learned_reports.h.
#include "redis/limits/learned_reports.h"

namespace penstock::redis {

LearnedReports::LearnedReports(loop::Loop& loop, Tell tell)
    : loop_(loop), tell_(std::move(tell)), timer_(loop, [this] { tell_all(); }) {}

void LearnedReports::add(std::string_view group, const ScriptArgs::Learned& learned) {
  if (!waits_) {
    tell_(group, learned);
    waits_ = true;
    return timer_.start(loop_.now() + kGathered);
  }
  const auto [held, is_new] = held_.try_emplace({std::string(group), learned.limit}, learned);
  if (!is_new && learned.departed >= held->second.departed) held->second = learned;
}

void LearnedReports::tell_all() {
  waits_ = !held_.empty();
  if (waits_) timer_.start(loop_.now() + kGathered);
  for (const auto& [of, learned] : std::exchange(held_, {})) tell_(of.first, learned);
}

}  // namespace penstock::redis
