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
constexpr std::size_t kMostPauses = 10'000;  // of groups; whoever asks for more is waited for by itself only

}  // namespace

PausingBooker::PausingBooker(BookingOffice& office, std::string name, const std::vector<LimitConfig>& limits)
    : office_(office),
      name_(std::move(name)),
      hash_(office.config().prefix, name_),
      local_(limits, flow::instant_at_zero(loop::Loop::wall(), office.loop().now())) {}

PausingBooker::~PausingBooker() { office_.leave(name_); }

bool PausingBooker::ask(Time now, const flow::Ask& ask, flow::Booking& booking) {
  if (!pauses_.empty()) {
    forget_past(now);
    const auto whole = paused_until(kUpstream), own = paused_until(hash_of(ask.group));
    if (whole || own) {
      booking.scope = whole >= own ? Scope::upstream : Scope::group;
      booking.limited_by = flow::kHold;
      booking.ask_again = booking.not_before = whole >= own ? *whole : *own;
      return true;
    }
  }
  return local_.ask(now, ask, booking);
}

Time PausingBooker::ahead(Time now, std::string_view group, std::int64_t units, std::int64_t others) const {
  const Time limits = local_.ahead(now, group, units, others);
  if (pauses_.empty()) return limits;
  return std::max({limits, paused_until(kUpstream).value_or(now), paused_until(hash_of(group)).value_or(now)});
}

void PausingBooker::pause(Time now, std::string_view group, Time until) {
  const std::string hash = hash_of(group);
  auto& its_end = pauses_[hash];
  its_end = std::max(its_end, until);
  office_.redis().publish_to_all(name_ + " " + std::string(kPause) + hash + " " + std::to_string(until - now));
}

void PausingBooker::message(std::string_view words) {
  if (!words.starts_with(kPause)) return;
  words.remove_prefix(kPause.size());
  const auto gap = words.find(' ');
  if (gap == words.npos) return;
  const Time now = office_.loop().now();
  Time length = 0;
  std::from_chars(words.data() + gap + 1, words.data() + words.size(), length);
  if (pauses_.size() >= kMostPauses) forget_past(now);
  if (length <= 0 || pauses_.size() >= kMostPauses) return;
  auto& its_end = pauses_[std::string(words.substr(0, gap))];
  its_end = std::max(its_end, now + std::min(length, kLongestPause));
}

std::string PausingBooker::hash_of(std::string_view group) const {
  if (group.empty()) return std::string(kUpstream);
  const auto digits = hash_(group);
  return {digits.data(), digits.size()};
}

std::optional<Time> PausingBooker::paused_until(std::string_view hash) const {
  const auto found = pauses_.find(std::string(hash));
  return found == pauses_.end() ? std::nullopt : std::optional(found->second);
}

void PausingBooker::forget_past(Time now) {
  std::erase_if(pauses_, [now](const auto& pause) { return pause.second <= now; });
}

}  // namespace penstock::redis
