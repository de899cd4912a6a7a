// SPDX-License-Identifier: Apache-2.0
// See shared_limits.h.
#include "app/shared_limits.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "flow/group_hash.h"
#include "flow/local_limiter.h"
#include "penstock/quotas.h"

namespace penstock::app {

namespace {
using Limits = std::vector<LimitConfig>;
bool shares(const Limits& limits) { return std::ranges::any_of(limits, &LimitConfig::shared); }

base::SipKey random_label_key() {
  std::random_device random;
  const auto word = [&] { return static_cast<std::uint64_t>(random()) << 32 | random(); };
  return {word(), word()};
}

/// One for all, so that where two are one server it counts this process once.
std::string name_of_process() {
  const auto digits = flow::GroupHash::digits_of(redis::sockets().draw());
  return {digits.data(), digits.size()};
}

std::string name_of(WhenDown rule) {
  constexpr std::array kNames{"share", "wait", "open", "refuse"};
  return kNames[static_cast<std::size_t>(rule)];
}

std::string kind_of_redis(const RedisConfig& redis) {
  if (redis.sentinel) return "sentinel";
  return redis.cluster.empty() ? "single" : "cluster";
}

/// Its groups have labels of a key that the processes agree on. With a secret, labels are made with that.
bool needs_labels(const Config& config, const UpstreamSettings& settings) {
  const auto* const redis = redis_of(config, settings);
  return settings.group && settings.group->by == GroupRule::By::header && redis && redis->secret.empty();
}

/// Calls when the last that was to be seen is gone, be it answered or not.
struct AllSeen {
  std::function<void()> call;
  base::WeakSelf<SharedLimits>::Ref owner;
  ~AllSeen() {
    if (owner) call();
  }
};
}  // namespace

SharedLimits::SharedLimits(loop::Loop& loop, loop::Resolver& resolver, Networks networks, const Config& config,
                           std::string state_folder, Watch watch, NoticeSink notices)
    : loop_(loop),
      resolver_(resolver),
      config_(config),
      state_folder_(std::move(state_folder)),
      watch_(std::move(watch)),
      notices_(std::move(notices)),
      who_(name_of_process()),
      labels_(random_label_key()) {
  change(std::move(networks));
}

SharedLimits::~SharedLimits() { self_.expire(); }

std::unique_ptr<SharedLimits::One> SharedLimits::make(const RedisConfig& config,
                                                      std::unique_ptr<redis::Network> network, One* former) {
  auto one = std::make_unique<One>(One{.config = config, .network = std::move(network), .file = nullptr});
  const std::string& name = one->config.name;
  const auto tell = [this, name](const Notice& notice) {
    notices_({notice.level, all_.size() > 1 ? "redis." + name + ": " + notice.text : notice.text});
  };
  const std::string path = "/processes" + (name == RedisConfig{}.name ? "" : "." + name);
  one->file = former ? std::move(former->file)
                     : std::make_unique<ProcessesFile>(loop_, state_folder_.empty() ? "" : state_folder_ + path, tell);
  redis::HubWatch watch{.on_found = watch_.on_found,
                        .on_round_trip = [this, name](Duration took) { watch_.on_round_trip(name, took); },
                        .on_processes = [this, file = one->file.get()](int seen) { file->seen(loop_.now(), seen); },
                        .labels = config.secret.empty() ? &labels_ : nullptr};
  one->hub = std::make_unique<redis::LimiterHub>(loop_, resolver_, one->config, std::move(watch), tell,
                                                 one->network ? *one->network : redis::sockets(), who_);
  one->hub->remember(one->file->kept(), "an earlier run saw so many (" + one->file->path() + ")");
  if (!former) return one;
  if (former->hub->processes() > 1) one->hub->remember(former->hub->processes(), "so many were seen before the reload");
  one->before = former->before;
  one->before.add(former->hub->counts());
  one->resets_before = former->resets_before + former->hub->leadership().resets;
  return one;
}

void SharedLimits::change(Networks networks) {
  former_ = std::exchange(all_, {});
  for (std::size_t i = 0; i < config_.redis.size(); ++i) {
    const auto& config = config_.redis[i];
    const auto known =
        std::ranges::find_if(former_, [&](const auto& one) { return one && one->config.name == config.name; });
    if (known != former_.end() && (*known)->config == config) {
      all_.push_back(std::move(*known));
      former_.erase(known);
    } else {
      all_.push_back(make(config, std::move(networks[i]), known == former_.end() ? nullptr : known->get()));
    }
  }
  share_labels();
}

redis::LimiterHub* SharedLimits::hub_of(const UpstreamSettings& settings) const {
  const auto* const redis = redis_of(config_, settings);
  if (!redis) return all_.empty() ? nullptr : all_.front()->hub.get();  // of an entry that is removed
  return all_[static_cast<std::size_t>(redis - config_.redis.data())]->hub.get();
}

void SharedLimits::provide(proxy::Services& services) {
  services.labels = &labels_;
  services.make_limiter = [this](const proxy::LimiterOf& of, flow::LimiterEvents& events,
                                 std::unique_ptr<flow::Limiter> former) {
    return make_limiter(of, events, std::move(former));
  };
  services.fits_limiter = [this](const flow::Limiter& limiter, const proxy::LimiterOf& of) {
    return fits(limiter, of);
  };
}

/// Upstreams with shared limits book through Redis; the others need not wait for it.
std::unique_ptr<flow::Limiter> SharedLimits::make_limiter(const proxy::LimiterOf& of, flow::LimiterEvents& events,
                                                          std::unique_ptr<flow::Limiter> former) {
  if (auto* const hub = hub_of(of.settings)) {
    return shares(of.limits) ? hub->make_limiter(of.upstream, of.limits, events, std::move(former))
                             : hub->make_pausing_limiter(of.upstream, of.limits, events, std::move(former));
  }
  return redis::make_local_limiter(loop_, of.limits, std::move(former));
}

bool SharedLimits::fits(const flow::Limiter& limiter, const proxy::LimiterOf& of) const {
  if (const auto* const hub = hub_of(of.settings)) return hub->keeps(of.upstream, limiter, shares(of.limits));
  return dynamic_cast<const flow::LocalLimiter*>(&limiter) != nullptr;
}

/// The processes agree on a key for labels only if needed. All ask the same Redis: the first without a secret.
void SharedLimits::share_labels() {
  const bool any = needs_labels(config_, config_.unmatched) ||
                   std::ranges::any_of(config_.upstreams, [this](const UpstreamConfig& upstream) {
                     return needs_labels(config_, effective_settings(config_, upstream));
                   });
  const auto first = std::ranges::find_if(all_, [](const auto& one) { return one->config.secret.empty(); });
  for (auto one = all_.begin(); one != all_.end(); ++one)
    (*one)->hub->share_labels(any && one == first ? &labels_ : nullptr);
}

bool SharedLimits::look_ahead(const std::string& limiter, const std::function<void()>& told) {
  return std::ranges::any_of(all_, [&](const auto& one) { return one->hub->look_ahead(limiter, told); });
}

void SharedLimits::look(std::function<void()> seen) {
  const auto all = std::make_shared<AllSeen>(std::move(seen), self_.ref());
  for (const auto& one : all_) one->hub->look([all] {});
}

std::vector<RedisSnapshot> SharedLimits::snapshot() const {
  std::vector<RedisSnapshot> all;
  for (const auto& one : all_) {
    const auto& hub = *one->hub;
    const WhenDown rule = one->config.when_down;
    const bool shared = hub.up() && !hub.degraded();
    redis::Counts counts = one->before;
    counts.add(hub.counts());
    auto& now = all.emplace_back(RedisSnapshot{.name = one->config.name,
                                               .up = hub.up(),
                                               .processes = hub.processes(),
                                               .kind = kind_of_redis(one->config),
                                               .tls = one->config.tls.has_value(),
                                               .mode = shared ? "shared" : name_of(rule),
                                               .share_of = !shared && rule == WhenDown::share ? hub.sharers() : 1,
                                               .degraded = hub.degraded(),
                                               .refused = hub.lacks(),
                                               .limits_differ = hub.limits_differ(),
                                               .nodes = hub.nodes(),
                                               .calls = counts.calls,
                                               .counters_led = hub.leadership().led,
                                               .counter_resets = one->resets_before + hub.leadership().resets});
    for (std::size_t i = 0; i < redis::kFailureLabels.size(); ++i)
      now.errors.emplace_back(redis::kFailureLabels[i], counts.errors[i]);
  }
  return all;
}

bool SharedLimits::degraded(const std::string& upstream) const {
  return std::ranges::any_of(all_, [&](const auto& one) { return one->hub->degraded(upstream); });
}

}  // namespace penstock::app
