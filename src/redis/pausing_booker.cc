// SPDX-License-Identifier: Apache-2.0
// Pauses before limits.
#include "redis/pausing_booker.h"

#include <algorithm>
#include <charconv>

#include "redis/booking_office.h"

namespace penstock::redis {

using flow::Time;
using Scope = flow::Booking::Scope;

namespace {

constexpr std::string_view kPause = "pause ";
constexpr std::string_view kUpstream = "-";
constexpr Time kLongestPause = 24LL * 3600 * 1'000'000;

}  // namespace

PausingBooker::PausingBooker(BookingOffice& office, std::string name, const std::vector<LimitConfig>& limits)
    : office_(office),
      name_(std::move(name)),
      hash_(office.config().prefix, name_, office.config().secret),
      local_(limits, flow::instant_at_zero(loop::Loop::wall(), office.loop().now())) {}

PausingBooker::~PausingBooker() { office_.leave(name_, *this); }

bool PausingBooker::ask(Time now, const flow::Ask& ask, flow::Booking& booking) {
  const Time own = paused_until(ask.group);
  const Time until = std::max(own, whole_);
  if (until <= now || ask.weight == 0) return local_.ask(now, ask, booking);
  booking.scope = whole_ >= own ? Scope::upstream : Scope::group;
  booking.limited_by = flow::kHold;
  booking.ask_again = booking.not_before = until;
  return true;
}

Time PausingBooker::ahead(Time now, std::string_view group, std::int64_t units, std::int64_t others) const {
  return std::max({local_.ahead(now, group, units, others), whole_, paused_until(group)});
}

void PausingBooker::pause(Time now, std::string_view group, Time until) {
  const auto digits = hash_(group);
  const std::string_view whom = group.empty() ? kUpstream : std::string_view(digits.data(), digits.size());
  remember(now, whom, until);
  office_.redis().publish_to_all(name_ + " " + std::string(kPause) + std::string(whom) + " " +
                                 std::to_string(until - now));
}

void PausingBooker::message(std::string_view words) {
  if (!words.starts_with(kPause)) return;
  words.remove_prefix(kPause.size());
  const auto gap = words.find(' ');
  if (gap == words.npos) return;
  Time length = 0;
  std::from_chars(words.data() + gap + 1, words.data() + words.size(), length);
  const Time now = office_.loop().now();
  if (length > 0) remember(now, words.substr(0, gap), now + std::min(length, kLongestPause));
}

void PausingBooker::remember(Time now, std::string_view hash, Time until) {
  if (hash == kUpstream) {
    whole_ = std::max(whole_, until);
  } else {
    groups_.extend(now, hash, until);
  }
}

Time PausingBooker::paused_until(std::string_view group) const {
  if (groups_.empty() || group.empty()) return 0;
  const auto digits = hash_(group);
  return groups_.until({digits.data(), digits.size()});
}

}  // namespace penstock::redis
