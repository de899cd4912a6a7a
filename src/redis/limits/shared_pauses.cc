// SPDX-License-Identifier: Apache-2.0
// Pauses by group hash, and their messages.
#include "redis/limits/shared_pauses.h"

#include <algorithm>

#include "redis/limits/pause_words.h"

namespace penstock::redis {

using flow::Time;

namespace {
constexpr std::string_view kPause = "pause ";
}

SharedPauses::SharedPauses(SharedRedis& shared, std::string_view upstream)
    : shared_(shared), upstream_(upstream), hash_(shared.config().prefix, upstream, shared.config().secret) {}

void SharedPauses::extend(Time now, std::string_view group, Time until) {
  const std::string whom = pause_name(hash_, group);
  remember(now, whom, until);
  shared_.redis().publish_to_all(upstream_ + " " + std::string(kPause) + whom + " " + std::to_string(until - now));
}

bool SharedPauses::shorten(Time latest) {
  const bool of_all = whole_ > latest;
  whole_ = std::min(whole_, latest);
  return groups_.shorten(latest) || of_all;
}

void SharedPauses::message(Time now, std::string_view words) {
  if (!words.starts_with(kPause)) return;
  if (const auto told = read_told_pause(words.substr(kPause.size()))) remember(now, told->whom, now + told->length);
}

void SharedPauses::remember(Time now, std::string_view hash, Time until) {
  if (hash == kWholeUpstream) {
    whole_ = std::max(whole_, until);
  } else {
    groups_.extend(now, hash, until);
  }
}

Time SharedPauses::of_group(std::string_view group) const {
  if (groups_.empty() || group.empty()) return 0;
  const auto digits = hash_(group);
  return groups_.until({digits.data(), digits.size()});
}

}  // namespace penstock::redis
