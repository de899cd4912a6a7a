// SPDX-License-Identifier: Apache-2.0
// See shared_limits.h.
#include "app/shared_limits.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace penstock::app {

namespace {
using Limits = std::vector<LimitConfig>;
bool shares(const Limits& limits) { return std::ranges::any_of(limits, &LimitConfig::shared); }

base::SipKey random_label_key() {
  std::random_device random;
  const auto word = [&] { return static_cast<std::uint64_t>(random()) << 32 | random(); };
  return {word(), word()};
}

bool groups_by_header(const UpstreamSettings& settings) {
  return settings.group && settings.group->by == GroupRule::By::header;
}
}  // namespace

SharedLimits::SharedLimits(loop::Loop& loop, loop::Resolver& resolver, const Config& config,
                           const std::string& state_folder, redis::HubWatch watch, NoticeSink notices)
    : config_(config), labels_(random_label_key()) {
  if (!config_.redis) return;
  processes_file_ =
      std::make_unique<ProcessesFile>(loop, state_folder.empty() ? "" : state_folder + "/processes", notices);
  watch.on_processes = [this, &loop](int seen) { processes_file_->seen(loop.now(), seen); };
  hub_ = std::make_unique<redis::LimiterHub>(loop, resolver, *config_.redis, std::move(watch), std::move(notices));
  hub_->remember(processes_file_->kept(), processes_file_->path());
  share_labels();
}

/// Upstreams with shared limits book through Redis; the others need not wait for it. With a secret, labels are made
/// with that.
void SharedLimits::provide(proxy::Services& services) {
  services.labels = config_.redis && !config_.redis->secret.empty() ? nullptr : &labels_;
  if (!hub_) return;
  services.make_limiter = [this](const std::string& name, const Limits& limits, flow::LimiterEvents& events) {
    return shares(limits) ? hub_->make_limiter(name, limits, events) : hub_->make_pausing_limiter(name, limits, events);
  };
  services.fits_limiter = [](const Limits& before, const Limits& after) { return shares(before) == shares(after); };
}

/// The processes agree on a key for labels only if needed: if groups are made by a header, and no secret is set.
void SharedLimits::share_labels() {
  if (!hub_ || !config_.redis->secret.empty()) return;
  const bool any = std::ranges::any_of(config_.upstreams, groups_by_header, &UpstreamConfig::settings);
  if (any || groups_by_header(config_.unmatched)) hub_->share_labels(labels_);
}

std::optional<RedisSnapshot> SharedLimits::snapshot() const {
  if (!hub_) return std::nullopt;
  RedisSnapshot now{.up = hub_->up(),
                    .degraded = hub_->degraded(),
                    .refused = hub_->lacks(),
                    .limits_differ = hub_->limits_differ(),
                    .calls = hub_->counts().calls};
  for (std::size_t i = 0; i < redis::kFailureLabels.size(); ++i) {
    now.errors.emplace_back(redis::kFailureLabels[i], hub_->counts().errors[i]);
  }
  return now;
}

}  // namespace penstock::app
