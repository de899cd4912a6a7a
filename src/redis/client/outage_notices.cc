// SPDX-License-Identifier: Apache-2.0
// See outage_notices.h.
#include "redis/client/outage_notices.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace penstock::redis {

namespace {
constexpr std::int64_t kBetweenReasons = 60'000'000;  // where the new one is a sequel, or was reported before
constexpr std::int64_t kBetweenNotices = 10'000'000;  // for a Redis that comes and goes
constexpr std::size_t kMostReasons = 8;               // of one outage, or of several within a minute
}  // namespace

OutageNotices::OutageNotices(NoticeSink notices, std::string place, std::int64_t now)
    : notices_(std::move(notices)), place_("Redis at " + std::move(place)), down_since_(now) {}

void OutageNotices::down(std::int64_t now, const Failure& why) {
  if (!down_since_) down_since_ = now;
  if (end_reported_) std::erase_if(reasons_, [now](const Reason& one) { return now - one.at >= kBetweenReasons; });
  if (!is_due(now, why)) return;
  std::erase_if(reasons_, [&](const Reason& one) { return one.cause == cause_of(why); });
  if (reasons_.size() == kMostReasons) return;
  last_reported_ = now;
  end_reported_ = false;
  reasons_.push_back({cause_of(why), now});
  notices_({LogLevel::warn, place_ + " is down: " + why.text});
}

/// Each reason is reported once an outage: a cause that is new at once, everything else after a while.
bool OutageNotices::is_due(std::int64_t now, const Failure& why) const {
  const auto known = std::ranges::find(reasons_, cause_of(why), &Reason::cause);
  const bool is_known = known != reasons_.end();
  if (is_known && !end_reported_ && known->at >= *down_since_) return false;
  const bool is_new = !is_known || now - known->at >= kBetweenReasons;
  if (is_new && !is_of_restart(why)) return true;
  return !last_reported_ || now - *last_reported_ >= (end_reported_ ? kBetweenNotices : kBetweenReasons);
}

void OutageNotices::up(std::int64_t now) {
  const auto since = *std::exchange(down_since_, {});
  if (std::exchange(end_reported_, true)) return;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", static_cast<double>(now - since) / 1e6);
  notices_({LogLevel::info, place_ + " is up again, after " + seconds + " s"});
}

void OutageNotices::no_longer_needed() {
  if (std::exchange(end_reported_, true)) return;
  notices_({LogLevel::info, place_ + " is not needed any more"});
}

void OutageNotices::say(LogLevel level, const std::string& what) { notices_({level, place_ + ": " + what}); }

}  // namespace penstock::redis
