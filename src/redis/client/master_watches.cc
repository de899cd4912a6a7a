// SPDX-License-Identifier: Apache-2.0
// See master_watches.h.
#include "redis/client/master_watches.h"

#include <utility>

namespace penstock::redis {

MasterWatches::MasterWatches(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                             MasterWatchEvents& events)
    : config_(config) {
  for (std::size_t i = 0; config.sentinel && i < config.sentinel->hosts.size(); ++i)
    all_.emplace_back(loop, resolver, network, config, i, events);
}

std::vector<RedisNodeSnapshot> MasterWatches::nodes() const {
  std::vector<RedisNodeSnapshot> nodes;
  for (const auto& watch : all_) nodes.push_back({.name = watch.place(), .up = watch.subscribed()});
  return nodes;
}

Refusals MasterWatches::refused() const {
  Refusals refused;
  for (const auto& watch : all_) refused.add(watch.refused());
  return refused;
}

std::vector<std::string> MasterWatches::lacks() const {
  std::vector<std::string> rules;
  if (all_.empty()) return rules;
  for (const auto& rule : refused().missing(as_sentinel(config_))) rules.push_back(std::string(kOfSentinels) + rule);
  return rules;
}

std::vector<Notice> MasterWatches::take_news() {
  std::vector<Notice> news;
  for (auto& watch : all_) {
    if (auto failure = watch.take_login_failure(); !failure.empty())
      news.push_back({LogLevel::warn, std::move(failure)});
  }
  const auto now = refused();
  if (std::exchange(reported_, now) == now) return news;
  if (now.none()) {
    news.push_back({LogLevel::info, "its sentinels refuse nothing any more"});
    return news;
  }
  const auto config = as_sentinel(config_);
  news.push_back({LogLevel::warn,
                  "its sentinels refuse something: " + now.text(config) + costs_of_sentinels(now.missing(config))});
  return news;
}

}  // namespace penstock::redis
