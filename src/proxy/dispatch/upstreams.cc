// SPDX-License-Identifier: Apache-2.0
// Finding and making upstreams; upstreams of "*" are removed by a sweep when unused for a while.
#include "proxy/dispatch/upstreams.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace penstock::proxy {

namespace {
constexpr std::size_t kMostUnmatched = 10'000;
constexpr std::int64_t kIdleBeforeForgotten = 60'000'000;
constexpr std::int64_t kCrowdedSweepEvery = 1'000'000;
constexpr std::int64_t kSweepEvery = 10'000'000;

constexpr const char* kOthers = "*:others";  // not a host:port, and as short in Redis keys
}  // namespace

Upstreams::Upstreams(const Services& services, QueueEvents& events)
    : services_(services), events_(events), sweeper_(services.loop, [this] { sweep(); }) {
  named_.resize(services_.config.upstreams.size());
  make_missing();
  sweeper_.start(services_.loop.now() + kSweepEvery);
}

std::unique_ptr<Upstream> Upstreams::make(std::string name, std::size_t entry, const UpstreamSettings& settings) {
  return std::make_unique<Upstream>(services_, std::move(name), entry, settings, events_);
}

Upstream& Upstreams::find_or_make(const http::Target& target, std::size_t entry) {
  if (entry > 0) return *named_[entry - 1];
  std::string authority = target.authority();
  if (const auto found = unmatched_.find(authority); found != unmatched_.end()) return *found->second;
  const bool crowded = unmatched_.size() >= kMostUnmatched;
  if (crowded && services_.loop.now() - swept_ >= kCrowdedSweepEvery) sweep();
  if (unmatched_.size() >= kMostUnmatched) return others();
  auto& made = unmatched_[authority];
  made = make(authority, 0, services_.config.unmatched);
  return *made;
}

Upstream* Upstreams::find(std::string_view name) const {
  for (const auto& upstream : named_) {
    if (upstream->name == name) return upstream.get();
  }
  const auto found = unmatched_.find(std::string(name));
  if (found != unmatched_.end()) return found->second.get();
  return others_ && others_->name == name ? others_.get() : nullptr;
}

std::vector<const Upstream*> Upstreams::busiest(std::size_t most) const {
  std::vector<const Upstream*> all;
  visit([&](const Upstream& upstream) { all.push_back(&upstream); });
  if (all.size() <= most) return all;
  using Ranked = std::pair<std::tuple<std::size_t, flow::Time, bool>, std::size_t>;  // and its place in `all`
  std::vector<Ranked> ranked;
  ranked.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& scheduler = all[i]->queue().scheduler();
    ranked.push_back({{scheduler.pending() + scheduler.in_flight(), all[i]->last_used(), all[i]->entry != 0}, i});
  }
  std::ranges::nth_element(ranked, ranked.begin() + static_cast<std::ptrdiff_t>(most), std::greater{}, &Ranked::first);
  ranked.resize(most);
  std::ranges::sort(ranked, {}, &Ranked::second);
  std::vector<const Upstream*> chosen;
  chosen.reserve(most);
  for (const auto& [rank, place] : ranked) chosen.push_back(all[place]);
  return chosen;
}

Upstream& Upstreams::others() {
  if (!others_) others_ = make(kOthers, 0, services_.config.unmatched);
  if (!std::exchange(others_told_, true)) {
    services_.notices(
        {.level = LogLevel::warn,
         .text = std::to_string(kMostUnmatched) +
                 " hosts that no upstream names are in use or have limits to remember: further ones share "
                 "one queue and its limits, " +
                 kOthers});
  }
  return *others_;
}

void Upstreams::sweep() {
  const auto now = services_.loop.now();
  swept_ = now;
  const bool crowded = unmatched_.size() >= kMostUnmatched;
  const auto unused = [&](const Upstream& upstream) {
    return now - upstream.last_used() >= kIdleBeforeForgotten && upstream.forgettable(now);
  };
  std::erase_if(unmatched_,
                [&](const auto& entry) { return crowded ? entry.second->forgettable(now) : unused(*entry.second); });
  if (others_ && unused(*others_)) others_.reset();
  std::erase_if(retired_, [](const auto& upstream) { return upstream->at_rest(); });
  services_.connections.sweep();
  sweeper_.start(now + kSweepEvery);
}

void Upstreams::change(flow::Time now) {
  std::erase_if(retired_, [](const auto& upstream) { return upstream->at_rest(); });
  Named before = std::exchange(retired_, {});
  std::ranges::move(named_, std::back_inserter(before));
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < before.size(); ++i) places[before[i]->name] = i;
  named_.clear();
  for (const auto& upstream : services_.config.upstreams) {
    const auto known = places.find(upstream.name);
    named_.push_back(known == places.end() ? nullptr : std::move(before[known->second]));
    if (named_.back()) named_.back()->change(now, upstream.settings);
  }
  for (auto& gone : before) {
    if (!gone) continue;
    gone->change(now, gone->settings, true);
    retired_.push_back(std::move(gone));
  }
  make_missing();
  for (const auto& [authority, upstream] : unmatched_) upstream->change(now, services_.config.unmatched);
  if (others_) others_->change(now, services_.config.unmatched);
}

/// Gives each new upstream the lowest free entry number: at first that is its place in the configuration.
void Upstreams::make_missing() {
  std::set<std::size_t> taken;
  for (const auto* all : {&named_, &retired_}) {
    for (const auto& upstream : *all) {
      if (upstream) taken.insert(upstream->entry);
    }
  }
  std::size_t entry = 0;
  for (std::size_t i = 0; i < named_.size(); ++i) {
    if (named_[i]) continue;
    while (taken.contains(++entry)) continue;
    const auto& upstream = services_.config.upstreams[i];
    named_[i] = make(upstream.name, entry, upstream.settings);
  }
}

}  // namespace penstock::proxy
