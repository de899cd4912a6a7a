// SPDX-License-Identifier: Apache-2.0
// An error reply says which key holds a foreign value; what has left meanwhile is replayed once it has gone.
#include "redis/limits/quarantine.h"

#include "flow/limit_remap.h"

namespace penstock::redis {

using flow::LimitIndex;
using flow::Time;

Quarantine::Quarantine(UpstreamCalls& calls, Shadow& shadow, const Fleet& fleet, const std::vector<LimitConfig>& limits,
                       OnChange on_change)
    : calls_(calls), shadow_(shadow), fleet_(fleet), limits_(limits), on_change_(std::move(on_change)) {}

std::vector<LimitIndex> Quarantine::of(flow::LaneKey lane) const {
  std::vector<LimitIndex> limits;
  for (const Part& one : all_) {
    const bool governs_it = governs(limits_[static_cast<std::size_t>(one.limit)], lane.route);
    if (governs_it && (one.group.empty() || one.group == lane.group)) limits.push_back(one.limit);
  }
  return limits;
}

/// The limit that can be quarantined, and its group's key, if that is why a script has failed. Behind the key, Redis
/// says where in the script that was; no key has a blank.
std::optional<std::pair<LimitIndex, std::string_view>> Quarantine::limit_in(const Failure& why) const {
  constexpr std::string_view kCorrupt = "CORRUPT ";
  if (why.kind != FailureKind::corrupt) return std::nullopt;
  std::string_view key = why.text;
  key.remove_prefix(std::min(kCorrupt.size(), key.size()));
  const auto found = calls_.args().limit_of(key.substr(0, key.find(' ')));
  if (!found) return std::nullopt;
  const LimitConfig& limit = limits_[static_cast<std::size_t>(found->first)];
  if (std::holds_alternative<SemaphoreConfig>(limit.kind)) return std::nullopt;  // each ask has to tell what is held
  return found;
}

bool Quarantine::met(flow::LaneKey lane, std::span<const LimitIndex> without, const Failure& why) {
  const auto found = limit_in(why);
  if (!found || std::ranges::find(without, found->first) != without.end()) return false;
  const Part one(found->first, found->second.empty() ? std::string_view() : lane.group);
  if (contains(one)) return true;
  if (all_.size() == kMost) return false;
  all_.push_back(one);
  calls_.shared().notice(LogLevel::error, named(one) + " goes on without Redis: " + why.text);
  divide();
  on_change_(false);
  return true;
}

void Quarantine::tick() {
  if (all_.empty()) return;
  divide();  // among as many as there are by now
  for (const Part& one : all_) try_together(one);
}

/// Asks Redis whether the value is still foreign. Once Redis has none for that limit, it is told what this process has
/// let go.
void Quarantine::try_together(const Part& one) {
  replay(one, {}, [this, one] {
    replay(one, shadow_.all().limits().limit(one.limit, one.group).state(), [this, one] { leave(one); });
  });
}

void Quarantine::replay(const Part& one, std::string_view state, std::function<void()> taken) {
  if (calls_.memory().generation().empty()) return;
  calls_.begin_replay(ScriptArgs::Replay::afterwards, {});
  calls_.add_state(one.limit, one.group, state, {});
  calls_.replay(
      [alive = calls_.ref(), this, changes = calls_.changes(), taken = std::move(taken)](const Outcome& outcome, Time) {
        if (!alive || calls_.changes() != changes || !outcome) return;
        auto elements = outcome->elements();
        const bool open = elements.next().text() == "open";
        elements.next(), elements.next();  // now, and when to ask again
        if (open && elements.next().integer() == 0) taken();
      });
}

void Quarantine::leave(const Part& one) {
  if (std::erase(all_, one) == 0) return;
  divide();
  calls_.shared().notice(LogLevel::info, named(one) + " is shared again");
  on_change_(true);
}

void Quarantine::change(std::span<const LimitIndex> moved) {
  for (Part& one : all_) {
    one.limit = flow::renumbered(one.limit, moved);
    if (one.limit != flow::kNoLimit && !calls_.args().shares(one.limit)) one.limit = flow::kNoLimit;
  }
  std::erase_if(all_, [](const Part& one) { return one.limit == flow::kNoLimit; });
}

std::vector<LimitIndex> Quarantine::by_part() const {
  std::vector<LimitIndex> limits;
  if (calls_.when_down() != WhenDown::share) return limits;
  for (const Part& one : all_) limits.push_back(one.limit);
  return limits;
}

void Quarantine::divide() {
  if (calls_.when_down() == WhenDown::share) shadow_.divide_some(calls_.now(), by_part(), fleet_.alive());
}

std::string Quarantine::named(const Part& one) const {
  const auto& limit = limits_[static_cast<std::size_t>(one.limit)];
  return "limit " + std::string(limit_name(limit)) + " of " + calls_.upstream() +
         (one.group.empty() ? "" : " for one group");
}

}  // namespace penstock::redis
