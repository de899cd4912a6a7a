// SPDX-License-Identifier: Apache-2.0
// One timer for the earliest reset.
#include "redis/limits/counter_resets.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "flow/limit_remap.h"

namespace penstock::redis {

CounterResets::CounterResets(loop::Loop& loop, const std::vector<LimitConfig>& limits, Reset reset)
    : loop_(loop), reset_(std::move(reset)), timer_(loop, [this] { fire(); }) {
  find_counters(limits);
}

void CounterResets::find_counters(const std::vector<LimitConfig>& limits) {
  counters_.clear();
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!limits[i].shared || !std::holds_alternative<CounterConfig>(limits[i].kind)) continue;
    counters_.push_back({static_cast<flow::LimitIndex>(i), limits[i].per == LimitConfig::Per::group});
  }
}

void CounterResets::answered(flow::Time now, std::string_view group, const flow::Booking& booking) {
  for (const Counter& counter : counters_) {
    if (counter.of_group) {
      const bool waits = booking.stop == flow::Booking::Stop::turn && booking.limited_by == counter.limit;
      if (waits) want(counter.limit, group, std::max(now, booking.not_before - kEdge));
    } else if (!wanted_.contains({counter.limit, std::string()})) {
      want(counter.limit, {}, now);
    }
  }
}

void CounterResets::want(flow::LimitIndex counter, std::string_view group, flow::Time at) {
  const auto [known, is_new] = wanted_.try_emplace({counter, std::string(group)}, at);
  known->second = std::min(known->second, at);
  if (!timer_.running() || at < timer_.at()) timer_.start(at);
}

void CounterResets::clear() {
  wanted_.clear();
  timer_.stop();
}

void CounterResets::change(const std::vector<LimitConfig>& before, const std::vector<LimitConfig>& limits,
                           std::span<const flow::LimitIndex> moved) {
  find_counters(limits);
  const auto wanted = std::exchange(wanted_, {});
  timer_.stop();
  for (const auto& [which, at] : wanted) {
    const auto now_at = flow::renumbered(which.first, moved);
    if (std::ranges::find(counters_, now_at, &Counter::limit) == counters_.end()) continue;
    const bool same =
        before[static_cast<std::size_t>(which.first)].kind == limits[static_cast<std::size_t>(now_at)].kind;
    want(now_at, which.second, same ? at : loop_.now());
  }
}

void CounterResets::fire() {
  const auto now = loop_.now();
  std::vector<std::pair<flow::LimitIndex, std::string>> due;
  std::erase_if(wanted_, [&](const auto& wish) {
    if (wish.second > now) return false;
    due.push_back(wish.first);
    return true;
  });
  for (const auto& [counter, group] : due) reset_(counter, group);
  sleep();
}

void CounterResets::sleep() {
  const auto earliest = std::ranges::min_element(wanted_, {}, [](const auto& wish) { return wish.second; });
  if (earliest != wanted_.end()) timer_.start(earliest->second);
}

}  // namespace penstock::redis
