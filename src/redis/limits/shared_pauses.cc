// SPDX-License-Identifier: Apache-2.0
// Pauses by group hash, and their messages.
#include "redis/limits/shared_pauses.h"

#include <algorithm>
#include <charconv>

namespace penstock::redis {

using flow::Time;

namespace {

constexpr std::string_view kUpstream = "-";
constexpr Time kLongestPause = 24LL * 3600 * 1'000'000;

}  // namespace

SharedPauses::SharedPauses(SharedRedis& shared, std::string_view upstream, std::string_view what)
    : shared_(shared),
      upstream_(upstream),
      what_(std::string(what) + " "),
      hash_(shared.config().prefix, upstream, shared.config().secret) {}

void SharedPauses::extend(Time now, std::string_view group, Time until) {
  const auto digits = hash_(group);
  const std::string_view whom = group.empty() ? kUpstream : std::string_view(digits.data(), digits.size());
  remember(now, whom, until);
  shared_.redis().publish_to_all(upstream_ + " " + what_ + std::string(whom) + " " + std::to_string(until - now));
}

void SharedPauses::message(Time now, std::string_view words) {
  if (!words.starts_with(what_)) return;
  words.remove_prefix(what_.size());
  const auto gap = words.find(' ');
  if (gap == std::string_view::npos) return;
  Time length = 0;
  std::from_chars(words.data() + gap + 1, words.data() + words.size(), length);
  if (length > 0) remember(now, words.substr(0, gap), now + std::min(length, kLongestPause));
}

void SharedPauses::remember(Time now, std::string_view hash, Time until) {
  if (hash == kUpstream) {
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
