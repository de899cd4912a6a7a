// SPDX-License-Identifier: Apache-2.0
// Where there is one Redis, it answers for all keys.
#include "redis/client/make_servers.h"

#include <utility>

#include "redis/client/cluster.h"

namespace penstock::redis {

namespace {

class OnlyServer final : public Servers {
 public:
  OnlyServer(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
             std::span<const std::string_view> scripts, std::string_view process, RedisEvents& events,
             NoticeSink notices)
      : redis_(loop, resolver, network, config, scripts, process, events, std::move(notices)) {}

  Redis* server_for(Slot) override { return &redis_; }
  const Redis* find_server(Slot) const override { return &redis_; }
  void publish_to_all(std::string_view payload) override { redis_.publish_to_all(payload); }
  bool up() const override { return redis_.up(); }
  bool subscribed() const override { return redis_.subscribed(); }
  bool messages_come() const override { return redis_.messages_come(); }
  std::vector<std::string> lacks() const override { return redis_.lacks(); }
  void tick(bool in_use) override { redis_.tick(in_use); }
  Counts counts() const override { return redis_.counts(); }
  std::vector<RedisNodeSnapshot> nodes() const override { return redis_.nodes(); }

 private:
  Redis redis_;
};

}  // namespace

std::unique_ptr<Servers> make_servers(loop::Loop& loop, loop::Resolver& resolver, Network& network,
                                      const RedisConfig& config, std::span<const std::string_view> scripts,
                                      std::string_view process, RedisEvents& events, NoticeSink notices) {
  if (config.cluster.empty())
    return std::make_unique<OnlyServer>(loop, resolver, network, config, scripts, process, events, std::move(notices));
  return std::make_unique<Cluster>(loop, resolver, network, config, scripts, process, events, std::move(notices));
}

}  // namespace penstock::redis
