// SPDX-License-Identifier: Apache-2.0
// See limit_use.h.
#include "observe/limit_use.h"

#include <algorithm>
#include <utility>

namespace penstock::observe {
namespace {

double fullness(const LimitSnapshot& limit) { return limit.of > 0 ? limit.used / limit.of : 0; }

std::uint64_t units_of(const std::vector<std::pair<std::string, std::uint64_t>>& all, const std::string& limit) {
  const auto known = std::ranges::find(all, limit, [](const auto& one) -> const std::string& { return one.first; });
  return known == all.end() ? 0 : known->second;
}

void show(Series<prometheus::Gauge>& series, Gauges& family, const prometheus::Labels& labels, bool known,
          double value) {
  if (!known) {
    series = {};
    return;
  }
  if (!series) series = {family, labels};
  series->Set(value);
}

}  // namespace

LimitUse::LimitUse(LimitFamilies& families, std::string label) : families_(families), label_(std::move(label)) {}

LimitUse::Limit* LimitUse::find(const std::string& name) {
  const auto found = std::ranges::find(limits_, name, &Limit::name);
  return found == limits_.end() ? nullptr : &*found;
}

void LimitUse::change(const std::vector<LimitConfig>& limits) {
  auto before = std::exchange(limits_, {});
  for (const LimitConfig& limit : limits) {
    if (limit.per != LimitConfig::Per::upstream || limit.mode == LimitConfig::Mode::shadow) continue;
    const std::string name{limit_name(limit)};
    const auto known = std::ranges::find(before, name, &Limit::name);
    if (known != before.end()) {
      limits_.push_back(std::move(*known));
    } else {
      limits_.push_back({.name = name, .units = {families_.limit_units, {{"upstream", label_}, {"limit", name}}}});
    }
  }
}

void LimitUse::note(const UpstreamSnapshot& upstream) {
  count(upstream);
  for (const LimitSnapshot& one : upstream.limits) {
    Limit* limit = one.known ? find(one.name) : nullptr;
    if (limit && (!limit->fullest || fullness(one) > fullness(*limit->fullest))) limit->fullest = &one;
  }
}

/// An upstream that was forgotten and is there again has counted from 0.
void LimitUse::count(const UpstreamSnapshot& upstream) {
  Counted& counted = counted_[upstream.name];
  counted.there = true;
  const auto before = std::exchange(counted.units, {});
  for (const LimitSnapshot& one : upstream.limits) {
    const std::uint64_t last = units_of(before, one.name);
    if (Limit* limit = find(one.name))
      limit->units->Increment(static_cast<double>(one.units - (one.units < last ? 0 : last)));
    counted.units.emplace_back(one.name, one.units);
  }
}

void LimitUse::show() {
  std::erase_if(counted_, [](const auto& one) { return !one.second.there; });
  for (auto& [upstream, counted] : counted_) counted.there = false;
  for (Limit& limit : limits_) {
    const LimitSnapshot* now = std::exchange(limit.fullest, nullptr);
    const prometheus::Labels labels{{"upstream", label_}, {"limit", limit.name}};
    const bool counts = now && now->of > 0, resets = now && now->resets_in.has_value();
    observe::show(limit.used, families_.limit_used, labels, counts, counts ? now->used : 0);
    observe::show(limit.capacity, families_.limit_capacity, labels, counts, counts ? now->of : 0);
    observe::show(limit.resets, families_.limit_resets, labels, resets, resets ? seconds(*now->resets_in) : 0);
  }
}

}  // namespace penstock::observe
