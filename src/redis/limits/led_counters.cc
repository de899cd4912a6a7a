// SPDX-License-Identifier: Apache-2.0
// What is led is counted over all upstreams at once, see leadership.h.
#include "redis/limits/led_counters.h"

#include <algorithm>
#include <utility>

#include "flow/limit_remap.h"

namespace penstock::redis {

bool LedCounters::answered(const Which& which, std::string_view status, flow::Time until) {
  Leadership& leadership = calls_.shared().leadership();
  const bool resets = status == "ok", leads = resets || status == "early";
  if (leads) {
    const bool is_new = ends_.insert_or_assign(which, until).second;
    if (is_new)
      ++leadership.led, tell(which, "is reset by this process, " + calls_.shared().process_name() + ", from now on");
  } else if (ends_.erase(which) > 0) {
    --leadership.led;
    tell(which,
         status == "deposed" ? "is reset by another process from now on" : "is not in use any more, and not reset");
  }
  if (resets) ++leadership.resets, tell(which, "was reset");
  return leads;
}

void LedCounters::drop_ended(flow::Time now) {
  const auto dropped = std::erase_if(ends_, [&](const auto& lease) {
    if (lease.second > now) return false;
    tell(lease.first, "is not reset by this process any more");
    return true;
  });
  calls_.shared().leadership().led -= static_cast<std::int64_t>(dropped);
}

flow::Time LedCounters::first_end() const {
  const auto first = std::ranges::min_element(ends_, {}, [](const auto& lease) { return lease.second; });
  return first == ends_.end() ? kNever : first->second;
}

void LedCounters::change(std::span<const flow::LimitIndex> moved) {
  const auto before = std::exchange(ends_, {});
  for (const auto& [which, end] : before) {
    const auto now_at = flow::renumbered(which.limit, moved);
    const bool goes_on = now_at != flow::kNoLimit && limits_[static_cast<std::size_t>(now_at)].shared;
    if (goes_on) ends_.emplace(Which{now_at, which.group}, end);
  }
  calls_.shared().leadership().led -= static_cast<std::int64_t>(before.size() - ends_.size());
}

void LedCounters::clear() {
  calls_.shared().leadership().led -= static_cast<std::int64_t>(ends_.size());
  ends_.clear();
}

void LedCounters::tell(const Which& which, std::string_view what) const {
  const LimitConfig& counter = limits_[static_cast<std::size_t>(which.limit)];
  std::string text = "the counter " + std::string(limit_name(counter)) + " of " + calls_.upstream();
  if (!counter.route.empty()) text += " for the route " + counter.route;
  if (!which.group.empty())
    text += " for the group " + flow::label_of(calls_.key_of(which.group), calls_.shared().label_key());
  calls_.shared().notice(LogLevel::debug, text.append(" ").append(what));
}

}  // namespace penstock::redis
