// SPDX-License-Identifier: Apache-2.0
// Made when first asked for; those of "*" swept out when nothing has used them for a while.
#include "proxy/destinations.h"

#include <utility>

namespace penstock::proxy {

namespace {
constexpr std::size_t kMostUnmatched = 10'000;
constexpr std::int64_t kIdleBeforeForgotten = 60'000'000;
constexpr std::int64_t kCrowdedSweepEvery = 1'000'000;
constexpr std::int64_t kSweepEvery = 10'000'000;
}  // namespace

Destinations::Destinations(const Services& services, DestinationOwner& owner)
    : services_(services), owner_(owner), sweeper_(services.loop, [this] { sweep(); }) {
  std::size_t entry = 0;
  for (const auto& upstream : services_.config.upstreams) {
    named_.push_back(make(upstream.name, ++entry, upstream.settings));
  }
  sweeper_.start(services_.loop.now() + kSweepEvery);
}

std::unique_ptr<Destination> Destinations::make(std::string name, std::size_t entry, const UpstreamSettings& settings) {
  return std::make_unique<Destination>(services_, std::move(name), entry, settings, owner_);
}

Destination* Destinations::find_or_make(const http::Target& target, std::size_t entry) {
  if (entry > 0) return named_[entry - 1].get();
  std::string authority = target.authority();
  if (const auto found = unmatched_.find(authority); found != unmatched_.end()) return found->second.get();
  const bool crowded = unmatched_.size() >= kMostUnmatched;
  if (crowded && services_.loop.now() - swept_ >= kCrowdedSweepEvery) sweep();
  if (unmatched_.size() >= kMostUnmatched) return nullptr;
  auto& made = unmatched_[authority];
  made = make(authority, 0, services_.config.unmatched);
  return made.get();
}

void Destinations::sweep() {
  const auto now = services_.loop.now();
  swept_ = now;
  const bool crowded = unmatched_.size() >= kMostUnmatched;
  std::erase_if(unmatched_, [&](const auto& entry) {
    const Destination& destination = *entry.second;
    const bool at_rest = destination.heart.idle() && !destination.being_served;
    return at_rest && (crowded || now - destination.last_used >= kIdleBeforeForgotten);
  });
  sweeper_.start(now + kSweepEvery);
}

}  // namespace penstock::proxy
