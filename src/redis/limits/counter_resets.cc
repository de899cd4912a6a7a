// SPDX-License-Identifier: Apache-2.0
// One timer for the earliest reset.
#include "redis/limits/counter_resets.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "flow/limit_remap.h"

namespace penstock::redis {

CounterResets::CounterResets(UpstreamCalls& calls, const Quarantine& quarantine, const WaitList& wait_list,
                             const std::vector<LimitConfig>& limits)
    : calls_(calls),
      quarantine_(quarantine),
      wait_list_(wait_list),
      limits_(limits),
      timer_(calls.shared().loop(), [this] { fire(); }) {
  find_counters();
}

void CounterResets::find_counters() {
  counters_.clear();
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (!limits_[i].shared || !std::holds_alternative<CounterConfig>(limits_[i].kind)) continue;
    counters_.push_back({static_cast<flow::LimitIndex>(i), limits_[i].per == LimitConfig::Per::group});
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

/// Asks for a reset at `at`; the earlier of two requests counts. `group` is the group's name, empty for the upstream's
/// own counter.
void CounterResets::want(flow::LimitIndex counter, std::string_view group, flow::Time at) {
  const auto [known, is_new] = wanted_.try_emplace({counter, std::string(group)}, at);
  known->second = std::min(known->second, at);
  if (!timer_.running() || at < timer_.at()) timer_.start(at);
}

void CounterResets::clear() {
  wanted_.clear();
  timer_.stop();
}

void CounterResets::change(const std::vector<LimitConfig>& before, std::span<const flow::LimitIndex> moved) {
  find_counters();
  const auto wanted = std::exchange(wanted_, {});
  timer_.stop();
  for (const auto& [which, at] : wanted) {
    const auto now_at = flow::renumbered(which.first, moved);
    if (std::ranges::find(counters_, now_at, &Counter::limit) == counters_.end()) continue;
    const bool same =
        before[static_cast<std::size_t>(which.first)].kind == limits_[static_cast<std::size_t>(now_at)].kind;
    want(now_at, which.second, same ? at : calls_.now());
  }
}

void CounterResets::fire() {
  const auto now = calls_.now();
  std::vector<std::pair<flow::LimitIndex, std::string>> due;
  std::erase_if(wanted_, [&](const auto& wish) {
    if (wish.second > now) return false;
    due.push_back(wish.first);
    return true;
  });
  for (const auto& [counter, group] : due) reset(counter, group);
  sleep();
}

void CounterResets::sleep() {
  const auto earliest = std::ranges::min_element(wanted_, {}, [](const auto& wish) { return wish.second; });
  if (earliest != wanted_.end()) timer_.start(earliest->second);
}

void CounterResets::reset(flow::LimitIndex counter, const std::string& group) {
  if (!calls_.connected() || quarantine_.contains(counter, group)) return;
  const LimitConfig& limit = limits_[static_cast<std::size_t>(counter)];
  const auto& config = std::get<CounterConfig>(limit.kind);
  if (group.empty()) want(counter, {}, calls_.now() + config.period.count());  // in case no answer comes
  calls_.reset(counter, group, [alive = calls_.ref(), this, limit, group](const Outcome& outcome, flow::Time) {
    if (alive) was_reset(limit, group, outcome);
  });
}

void CounterResets::was_reset(const LimitConfig& counter, const std::string& group, const Outcome& outcome) {
  if (!calls_.worked(outcome) || !calls_.connected()) return;
  const flow::Time now = calls_.now();
  auto elements = outcome->elements();
  elements.next();  // the status
  elements.next();  // now
  const auto next = elements.next().integer();
  const bool needed = group.empty() ? wait_list_.in_use(now) : wait_list_.group_of(calls_.key_of(group)) != nullptr;
  const flow::LimitIndex place = continues_as(counter);
  if (next > 0 && needed && place != flow::kNoLimit)
    want(place, group, std::max(calls_.clock().to_loop(next), now + kEdge));
}

/// The place of the limit that continues this one in Redis, whatever has changed meanwhile.
flow::LimitIndex CounterResets::continues_as(const LimitConfig& limit) const {
  const auto same = [&](const LimitConfig& other) { return other.shared && flow::same_limit(other, limit); };
  const auto found = std::ranges::find_if(limits_, same);
  return found == limits_.end() ? flow::kNoLimit : static_cast<flow::LimitIndex>(found - limits_.begin());
}

}  // namespace penstock::redis
