// SPDX-License-Identifier: Apache-2.0
// A request passes two gates: that of the upstream and that of its group. The one that lets fewer pass counts.
#include "flow/gates.h"

#include <algorithm>
#include <utility>

namespace penstock::flow {

namespace {
using What = Commands::Probe::What;
}  // namespace

Gate* Gates::find(std::string_view group) {
  const auto found = by_group_.find(group);
  return found == by_group_.end() ? nullptr : &found->second;
}

Gate& Gates::of(std::string_view group) {
  if (Gate* known = find(group)) return *known;
  return by_group_.try_emplace(std::string(group), serial_ + 1).first->second;
}

template <typename Use>
void Gates::each_of(std::string_view group, Use use) {
  if (by_group_.empty()) return;
  if (Gate* whole = find({})) use(*whole, std::string_view{});
  if (group.empty()) return;
  if (Gate* own = find(group)) use(*own, group);
}

void Gates::forget_done(std::string_view group) {
  for (const std::string_view name : {std::string_view{}, group}) {
    const auto found = by_group_.find(name);
    if (found != by_group_.end() && found->second.done()) by_group_.erase(found);
  }
}

// ---- pauses ---------------------------------------------------------------------------------------------------------

Time Gates::close(Time now, std::string_view group, const Pause& pause) {
  forget_unused(now);
  Gate& gate = of(group);
  const Time until = pause.length ? now + *pause.length : gate.usual_pause(now, pause.refused);
  const Time end = std::min(until, now + pause.most);
  if (gate.probes()) tell(gate, group, What::ended);
  if (!pause.alone && pause.refused && gate.flies(*pause.refused)) gate.share();
  gate.close(end, ++serial_, pause.alone);
  return end;
}

void Gates::learn(Time now, std::string_view group, Time until) {
  forget_unused(now);
  if (Gate& gate = of(group); until > gate.until()) gate.close(until, ++serial_);
}

bool Gates::shorten(Time latest) {
  const bool some = any_closed(latest);
  for (auto& [group, gate] : by_group_) gate.shorten(latest);
  return some;
}

Time Gates::until(std::string_view group) const {
  Time latest = 0;
  if (by_group_.empty()) return latest;
  for (const std::string_view name : {std::string_view{}, group}) {
    if (const auto found = by_group_.find(name); found != by_group_.end())
      latest = std::max(latest, found->second.until());
  }
  return latest;
}

int Gates::rounds_until(std::string_view group, std::size_t before) const {
  int most = 0;
  if (by_group_.empty()) return most;
  for (const std::string_view name : {std::string_view{}, group}) {
    const auto found = by_group_.find(name);
    if (found != by_group_.end()) most = std::max(most, found->second.rounds_until(before));
  }
  return most;
}

bool Gates::is_tried() const {
  const auto whole = by_group_.find(std::string_view{});
  return whole != by_group_.end() && whole->second.is_tried();
}

bool Gates::any_closed(Time now) const {
  return std::ranges::any_of(by_group_, [now](const auto& one) { return one.second.until() > now; });
}

bool Gates::has_room(Time now, std::size_t most) {
  if (by_group_.size() >= most && now >= swept_ + kBetweenSweeps) sweep(now);
  return by_group_.size() < most;
}

std::optional<std::string_view> Gates::probed(Time now) const {
  std::optional<std::string_view> found;
  for (const auto& [group, gate] : by_group_) {
    const bool elsewhere = gate.is_tried_elsewhere() && waits_for(group);
    if (gate.until() > now || !(gate.is_tried() || elsewhere)) continue;
    if (group.empty()) return group;
    found = group;
  }
  return found;
}

/// In amortised constant time.
void Gates::forget_unused(Time now) {
  if (by_group_.size() >= most_) sweep(now);
}

/// Requests that want a departure, and may not have asked yet because no slot is free.
bool Gates::waits_for(std::string_view group) const {
  if (group.empty()) return lanes_.wants().requests > 0;
  bool some = false;
  lanes_.each_of_group(group, [&](const Lane& lane) { some |= lane.wants() > 0; });
  return some;
}

void Gates::sweep(Time now) {
  swept_ = now;
  std::erase_if(by_group_, [&](const auto& one) {
    return one.second.unused(now) && !one.second.alone() && !waits_for(one.first);
  });
  most_ = std::max(kFew, 2 * by_group_.size());
}

// ---- departures -----------------------------------------------------------------------------------------------------

std::size_t Gates::allowance(Time now, Gate& gate, std::string_view group) {
  const bool was_open = gate.opened();
  const std::size_t allowed = gate.allowance(now);
  if (!was_open && gate.opened()) tell(gate, group, What::opened);
  return allowed;
}

std::size_t Gates::admit(Time now, std::string_view group, std::size_t wanted, Booking& stop) {
  each_of(group, [&](Gate& gate, std::string_view name) {
    std::size_t allowed = allowance(now, gate, name);
    if (allowed == 0 && gate.wants_probe(now)) {
      tell(gate, name, What::ask);
      if (gate.alone()) gate.may_probe(true, now + kProbeRight), allowed = gate.allowance(now);
    }
    if (allowed >= wanted) return;
    wanted = allowed;
    stop.stop = Booking::Stop::turn;
    stop.scope = name.empty() ? Booking::Scope::upstream : Booking::Scope::group;
    stop.limited_by = kPause;
    stop.ask_again = gate.again(now);
    stop.not_before = std::max(now, gate.until());
  });
  forget_done(group);
  return wanted;
}

std::uint32_t Gates::pass(std::string_view group, std::size_t count) {
  each_of(group, [&](Gate& gate, std::string_view) { gate.use(count); });
  return by_group_.empty() ? 0 : serial_;
}

void Gates::give_back(std::string_view group, const Departure& departure) {
  each_of(group, [&](Gate& gate, std::string_view) {
    if (gate.counts(departure.gates)) gate.give_back();
  });
}

bool Gates::took_off(std::string_view group, std::uint32_t index, const Departure& departure) {
  bool counts = false;
  each_of(group, [&](Gate& gate, std::string_view) {
    if (!gate.counts(departure.gates)) return;
    gate.took_off(index);
    tend_by(gate);
    counts = true;
  });
  return counts;
}

void Gates::left(Time now, std::string_view group, std::uint32_t index) {
  each_of(group, [&](Gate& gate, std::string_view) { gate.left(index, now), tend_by(gate); });
}

void Gates::await_judgement(Time now, std::string_view group, std::uint32_t index) {
  each_of(group, [&](Gate& gate, std::string_view) { gate.await_judgement(index, now); });
}

// ---- what is heard of them ------------------------------------------------------------------------------------------

bool Gates::leave(std::string_view group, std::uint32_t index, bool answered) {
  bool counted = false;
  each_of(group, [&](Gate& gate, std::string_view name) {
    counted |= gate.flies(index);
    if (!answered) return gate.failed(index);
    if (gate.answered(index)) tell(gate, name, What::opened);
  });
  forget_done(group);
  return counted;
}

void Gates::hear(Time now, const PauseNews& news) {
  if (news.what == PauseNews::What::begun) return learn(now, news.group, news.until);
  Gate* gate = find(news.group);
  if (!gate || gate->alone()) return;
  if (news.what == PauseNews::What::opened) return gate->opened_elsewhere();
  gate->may_probe(news.what == PauseNews::What::may_probe, news.until);
  tend_by(*gate);
}

/// Looks at all gates, but not often.
void Gates::tend(Time now) {
  if (now < tend_at_) return;
  tend_at_ = Gate::kNever;
  for (auto& [group, gate] : by_group_) {
    if (gate.tend_at() <= now) allowance(now, gate, group);
    if (gate.wants_more_time(now)) tell(gate, group, What::ask);
    tend_by(gate);
  }
  tend_at_ = std::max(tend_at_, now + kBetweenLooks);
}

bool Gates::asks() const { return std::ranges::find(to_tell_, What::ask, &Commands::Probe::what) != to_tell_.end(); }

void Gates::tell(const Gate& gate, std::string_view group, What what) {
  if (!gate.alone()) to_tell_.push_back({std::string(group), what});
}

void Gates::tell(std::vector<Commands::Probe>& probes) {
  std::ranges::move(to_tell_, std::back_inserter(probes));
  to_tell_.clear();
}

}  // namespace penstock::flow
