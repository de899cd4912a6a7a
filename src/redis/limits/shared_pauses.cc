// SPDX-License-Identifier: Apache-2.0
// Pauses by group hash, and their messages.
#include "redis/limits/shared_pauses.h"

#include <algorithm>

#include "redis/limits/pause_words.h"

namespace penstock::redis {

using flow::Time;

SharedPauses::SharedPauses(SharedRedis& shared, std::string_view upstream)
    : shared_(shared), hash_(shared.config().prefix, upstream, shared.config().secret) {}

void SharedPauses::extend(Time now, std::string_view group, Time until) {
  remember(now, pause_name(hash_, group), until);
}

bool SharedPauses::shorten(Time latest) {
  const bool of_all = whole_ > latest;
  whole_ = std::min(whole_, latest);
  return groups_.shorten(latest) || of_all;
}

/// Its own may have been long on its way, and be over.
void SharedPauses::message(Time now, std::string_view words) {
  if (!words.starts_with(kPauseWord)) return;
  const auto read = read_pause(words.substr(kPauseWord.size()));
  if (read && read->sender != shared_.process_name()) remember(now, read->target, now + read->length);
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
