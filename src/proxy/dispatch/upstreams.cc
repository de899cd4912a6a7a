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

#include "penstock/quotas.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kMostUnmatched = 10'000;
constexpr std::int64_t kIdleBeforeForgotten = 60'000'000;
constexpr std::int64_t kCrowdedSweepEvery = 1'000'000;
constexpr std::int64_t kSweepEvery = 10'000'000;

constexpr const char* kOthers = "*:others";  // not a host:port, and as short in Redis keys

const std::string& name_of_queue(const UpstreamConfig& upstream) {
  return upstream.quota.empty() ? upstream.name : upstream.quota;
}
}  // namespace

Upstreams::Upstreams(const Services& services, QueueEvents& events)
    : services_(services), events_(events), sweeper_(services.loop, [this] { sweep(); }) {
  named_.resize(services_.config.upstreams.size());
  change_queues(services_.loop.now());
  make_missing();
  sweeper_.start(services_.loop.now() + kSweepEvery);
}

std::unique_ptr<Upstream> Upstreams::make_unmatched(std::string name) {
  const auto& settings = services_.config.unmatched;
  auto queue = std::make_shared<UpstreamQueue>(services_, name, settings, events_);
  return std::make_unique<Upstream>(services_, std::move(name), 0, settings, std::move(queue));
}

Upstream& Upstreams::find_or_make(const http::Target& target, std::size_t entry) {
  if (entry > 0) return *named_[entry - 1];
  std::string authority = target.authority();
  if (const auto found = unmatched_.find(authority); found != unmatched_.end()) return *found->second;
  const bool crowded = unmatched_.size() >= kMostUnmatched;
  if (crowded && services_.loop.now() - swept_ >= kCrowdedSweepEvery) sweep();
  if (unmatched_.size() >= kMostUnmatched) return others();
  auto& made = unmatched_[authority];
  made = make_unmatched(authority);
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

UpstreamQueue* Upstreams::find_queue(std::string_view name) const {
  if (Upstream* const upstream = find(name)) return &upstream->queue();
  const auto found = std::ranges::find(queues_, name, [](const auto& queue) { return std::string_view(queue->name); });
  return found == queues_.end() ? nullptr : found->get();
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
  if (!others_) others_ = make_unmatched(kOthers);
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
  forget_queues();
  services_.connections.sweep();
  sweeper_.start(now + kSweepEvery);
}

/// Those that no upstream has any more, once they have served what waits there.
void Upstreams::forget_queues() {
  std::erase_if(queues_, [](const auto& queue) { return queue.use_count() == 1 && queue->at_rest(); });
}

const Upstream::Queue& Upstreams::queue_of(const UpstreamConfig& upstream) const {
  return *std::ranges::find(queues_, name_of_queue(upstream), [](const auto& queue) { return queue->name; });
}

/// Matched by name: so an upstream that begins to draw on a quota of its own name, or ceases to, keeps its queue.
void Upstreams::change_queues(flow::Time now) {
  const Config& config = services_.config;
  std::unordered_map<std::string_view, UpstreamQueue*> left_over;
  for (const auto& queue : queues_) left_over[queue->name] = queue.get();
  const auto set = [&](const std::string& name, const UpstreamSettings& settings, bool is_of_quota) {
    const auto known = left_over.find(name);
    if (known == left_over.end()) {
      queues_.push_back(std::make_shared<UpstreamQueue>(services_, name, settings, events_));
      queues_.back()->is_of_quota = is_of_quota;
      return;
    }
    known->second->is_of_quota = is_of_quota;
    known->second->change(now, settings);
    left_over.erase(known);
  };
  for (const auto& quota : config.quotas) set(quota.name, settings_of_queue(config, quota), true);
  for (const auto& upstream : config.upstreams) {
    if (upstream.quota.empty()) set(upstream.name, upstream.settings, false);
  }
  for (const auto& [name, queue] : left_over) queue->change(now, queue->settings, true);
}

void Upstreams::change(flow::Time now) {
  std::erase_if(retired_, [](const auto& upstream) { return upstream->at_rest(); });
  forget_queues();
  change_queues(now);
  Named before = std::exchange(retired_, {});
  std::ranges::move(named_, std::back_inserter(before));
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < before.size(); ++i) places[before[i]->name] = i;
  named_.clear();
  for (const auto& upstream : services_.config.upstreams) {
    const auto known = places.find(upstream.name);
    named_.push_back(known == places.end() ? nullptr : std::move(before[known->second]));
    if (named_.back()) named_.back()->change(effective_settings(services_.config, upstream), queue_of(upstream));
  }
  for (auto& gone : before) {
    if (!gone) continue;
    gone->retire();
    retired_.push_back(std::move(gone));
  }
  make_missing();
  const auto& unmatched = services_.config.unmatched;
  const auto change_unmatched = [&](Upstream& upstream) {
    upstream.queue().change(now, unmatched);
    upstream.change(unmatched, upstream.shared_queue());
  };
  for (const auto& [authority, upstream] : unmatched_) change_unmatched(*upstream);
  if (others_) change_unmatched(*others_);
}

void Upstreams::renumbered() {
  for (const auto& queue : queues_) queue->renumbered();
  for (const auto& [authority, upstream] : unmatched_) upstream->queue().renumbered();
  if (others_) others_->queue().renumbered();
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
    named_[i] = std::make_unique<Upstream>(services_, upstream.name, entry,
                                           effective_settings(services_.config, upstream), queue_of(upstream));
  }
}

}  // namespace penstock::proxy
