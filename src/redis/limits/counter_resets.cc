// SPDX-License-Identifier: Apache-2.0
// One timer for the earliest reset.
#include "redis/limits/counter_resets.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flow/limit_remap.h"

namespace penstock::redis {

namespace {
constexpr flow::Time kTakeOver = 1'000'000;  // see reset.lua

bool is_narrow(const LimitConfig& limit) { return flow::scope_of(limit) != flow::Booking::Scope::upstream; }
}  // namespace

CounterResets::CounterResets(UpstreamCalls& calls, const Quarantine& quarantine, const WaitList& wait_list,
                             const std::vector<LimitConfig>& limits)
    : calls_(calls),
      quarantine_(quarantine),
      wait_list_(wait_list),
      limits_(limits),
      led_(calls, limits),
      timer_(calls.shared().loop(), [this] { fire(); }) {
  find_counters();
}

void CounterResets::find_counters() {
  counters_.clear();
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (!limits_[i].shared || !std::holds_alternative<CounterConfig>(limits_[i].kind)) continue;
    counters_.push_back({static_cast<flow::LimitIndex>(i), is_narrow(limits_[i])});
  }
}

void CounterResets::answered(flow::Time now, flow::LaneKey lane, const flow::Booking& booking) {
  for (const Counter& counter : counters_) {
    if (counter.narrow) {
      const bool waits = booking.stop == flow::Booking::Stop::turn && booking.limited_by == counter.limit;
      if (waits) want(counter.limit, calls_.args().routes().narrowed(lane), std::max(now, booking.not_before - kEdge));
    } else if (!wanted_.contains({counter.limit, flow::LaneName()})) {
      want(counter.limit, {}, now);
    }
  }
}

/// Asks for a reset at `at`; the earlier of two requests counts. `lane` is one that waits for it, empty for the
/// upstream's own counter.
void CounterResets::want(flow::LimitIndex counter, flow::LaneKey lane, flow::Time at) {
  const auto [known, is_new] = wanted_.try_emplace({counter, flow::LaneName(lane)}, at);
  known->second = std::min(known->second, at);
  wake_by(at);
}

void CounterResets::wake_by(flow::Time at) {
  if (!timer_.running() || at < timer_.at()) timer_.start(at);
}

void CounterResets::clear() {
  led_.clear();
  wanted_.clear();
  timer_.stop();
}

void CounterResets::change(const std::vector<LimitConfig>& before, std::span<const flow::LimitIndex> moved) {
  find_counters();
  led_.change(moved);
  const auto wanted = std::exchange(wanted_, {});
  timer_.stop();
  for (const auto& [which, at] : wanted) {
    const auto now_at = flow::renumbered(which.first, moved);
    if (std::ranges::find(counters_, now_at, &Counter::limit) == counters_.end()) continue;
    const bool same =
        before[static_cast<std::size_t>(which.first)].kind == limits_[static_cast<std::size_t>(now_at)].kind;
    want(now_at, which.second, same ? at : calls_.now());
  }
  sleep();
}

void CounterResets::fire() {
  const auto now = calls_.now();
  std::vector<std::pair<flow::LimitIndex, flow::LaneName>> due;
  std::erase_if(wanted_, [&](const auto& wish) {
    if (wish.second > now) return false;
    due.push_back(wish.first);
    return true;
  });
  for (const auto& [counter, lane] : due) reset(counter, lane);
  led_.drop_ended(now);
  sleep();
}

void CounterResets::sleep() {
  const auto earliest = std::ranges::min_element(wanted_, {}, [](const auto& wish) { return wish.second; });
  if (earliest != wanted_.end()) wake_by(earliest->second);
  if (const flow::Time end = led_.first_end(); end != LedCounters::kNever) wake_by(end);
}

void CounterResets::reset(flow::LimitIndex counter, const flow::LaneName& lane) {
  const LimitConfig& limit = limits_[static_cast<std::size_t>(counter)];
  const bool of_group = limit.per == LimitConfig::Per::group;
  if (!calls_.connected() || quarantine_.contains(counter, of_group ? lane.group : std::string())) return;
  const auto& config = std::get<CounterConfig>(limit.kind);
  if (!is_narrow(limit)) want(counter, {}, calls_.now() + config.period.count());  // in case no answer comes
  calls_.reset(counter, lane, [alive = calls_.ref(), this, limit, lane](const Outcome& outcome, flow::Time) {
    if (alive) was_reset(limit, lane, outcome);
  });
}

/// A lease ends a little after the next reset is due, as reset.lua has it, whether this process asks for that or not.
void CounterResets::was_reset(const LimitConfig& counter, const flow::LaneName& lane, const Outcome& outcome) {
  if (!calls_.worked(outcome) || !calls_.connected()) return;
  const flow::LimitIndex place = continues_as(counter);
  if (place == flow::kNoLimit) return;
  const flow::Time now = calls_.now();
  auto elements = outcome->elements();
  const std::string_view status = elements.next().text();
  elements.next();  // now
  const auto next = elements.next().integer();
  const flow::Time due = next == 0 ? now : calls_.clock().to_loop(next);
  const flow::Time ends = due + std::min(std::get<CounterConfig>(counter.kind).period.count() / 2, kTakeOver);
  const bool of_group = counter.per == LimitConfig::Per::group;
  if (led_.answered({place, of_group ? lane.group : std::string()}, status, ends)) wake_by(ends);
  const bool needed = is_narrow(counter) ? wait_list_.waits(lines_of(calls_, lane).line) : wait_list_.in_use(now);
  if (next == 0 || !needed) return;
  // In place of what was wanted in case no answer came, which is a little early, and would be in vain.
  if (!is_narrow(counter)) wanted_.erase({place, flow::LaneName(lane)});
  want(place, lane, std::max(due, now + kEdge));
}

/// The place of the limit that continues this one in Redis, whatever has changed meanwhile.
flow::LimitIndex CounterResets::continues_as(const LimitConfig& limit) const {
  const auto same = [&](const LimitConfig& other) { return other.shared && flow::same_limit(other, limit); };
  const auto found = std::ranges::find_if(limits_, same);
  return found == limits_.end() ? flow::kNoLimit : static_cast<flow::LimitIndex>(found - limits_.begin());
}

}  // namespace penstock::redis
