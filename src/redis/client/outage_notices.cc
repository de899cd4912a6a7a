// SPDX-License-Identifier: Apache-2.0
// See outage_notices.h.
#include "redis/client/outage_notices.h"

#include <cstdio>
#include <utility>

namespace penstock::redis {

namespace {
constexpr std::int64_t kBetweenReminders = 60'000'000;
constexpr std::int64_t kBetweenNotices = 10'000'000;  // for a Redis that comes and goes
}  // namespace

OutageNotices::OutageNotices(NoticeSink notices, std::string place, std::int64_t now)
    : notices_(std::move(notices)), place_("Redis at " + std::move(place)), down_since_(now) {}

void OutageNotices::down(std::int64_t now, const std::string& why) {
  if (!down_since_) down_since_ = now;
  const auto enough = told_up_ ? kBetweenNotices : kBetweenReminders;
  if (told_down_ && now - *told_down_ < enough) return;
  told_down_ = now;
  told_up_ = false;
  notices_({LogLevel::warn, place_ + " is down: " + why});
}

void OutageNotices::up(std::int64_t now) {
  const auto since = *std::exchange(down_since_, {});
  if (std::exchange(told_up_, true)) return;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", static_cast<double>(now - since) / 1e6);
  notices_({LogLevel::info, place_ + " is up again, after " + seconds + " s"});
}

void OutageNotices::say(LogLevel level, const std::string& what) { notices_({level, place_ + ": " + what}); }

}  // namespace penstock::redis
