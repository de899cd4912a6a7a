// SPDX-License-Identifier: Apache-2.0
// A Redis Cluster: one connection to each node that has a slot of ours, and one, to any of them, for messages, which
// every node passes on to all. Learns which node has which slots when it begins, when a node says that a slot is
// elsewhere, while something is out of reach or a slot has no node, and once a minute. For make_servers.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "redis/client/map_refresh.h"
#include "redis/client/outage_notices.h"
#include "redis/client/redis.h"
#include "redis/client/servers.h"
#include "redis/client/unserved_slots.h"
#include "redis/wire/network.h"
#include "redis/wire/slot_map.h"
#include "redis/wire/slots_finder.h"

namespace penstock::redis {

class Cluster final : public Servers, RedisEvents, Neighbours {
 public:
  /// See make_servers().
  Cluster(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
          std::span<const std::string_view> scripts, std::string_view process, RedisEvents& events, NoticeSink notices);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Redis* server_for(Slot slot) override;
  const Redis* find_server(Slot slot) const override;
  void publish_to_all(std::string_view payload) override;
  bool up() const override;
  bool subscribed() const override { return listener_ && listener_->subscribed(); }
  bool messages_come() const override { return !listener_ || listener_->messages_come(); }
  std::vector<std::string> lacks() const override;
  void tick(bool in_use) override;
  Counts counts() const override;
  std::vector<RedisNodeSnapshot> nodes() const override;

 private:
  struct Node {
    RedisConfig config;
    std::int64_t last_used = 0;                  // when it was asked for
    std::optional<std::int64_t> last_forward{};  // when ASK last sent a call there; it may have no slot yet
    std::unique_ptr<Redis> redis;
  };

  // Of each node.
  void on_found(const std::vector<Endpoint>& there) override { events_.on_found(there); }
  void on_up() override;
  void on_down() override;
  void on_message(std::string_view payload) override { events_.on_message(payload); }
  void on_subscribed(bool subscribed) override { events_.on_subscribed(subscribed); }
  void on_messages(bool come) override { events_.on_messages(come); }
  void on_round_trip(std::int64_t microseconds) override { events_.on_round_trip(microseconds); }
  void on_failure(FailureKind kind) override;
  std::string find_hash_tag(const Redis& redis) override;
  bool redirect(const Redis& by, Call& call, Failure& why) override;

  Node* find_node(const Endpoint& endpoint) const;
  Node& find_or_connect(const SlotMap::Node& node);
  RedisConfig node_config(const SlotMap::Node& node) const;
  std::optional<SlotMap::Node> redirect_target(const Endpoint& endpoint) const;
  Redis* first_up() const;
  void choose_listener();
  std::vector<Place> map_sources();
  void refresh_map();
  void map_read(std::expected<SlotMap, Failure> map);
  void report_unserved();
  void drop_unused_nodes();

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  Network& network_;
  const RedisConfig& config_;
  const std::span<const std::string_view> scripts_;
  const std::string process_;
  RedisEvents& events_;
  const NoticeSink sink_;
  OutageNotices notices_;  // of a cluster whose slot map is not known

  std::size_t first_host_ = 0;  // of the configuration, to be asked first
  SlotMap map_;
  UnservedSlots unserved_;
  std::vector<std::unique_ptr<Node>> nodes_;
  Redis* listener_ = nullptr;                 // the node whose second connection receives messages; null: none is up
  Counts dropped_counts_;                     // of nodes that are not used any more
  bool slots_refused_ = false;                // our user may not ask for the map
  std::map<Slot, Endpoint> moved_meanwhile_;  // by MOVED during a refresh: may be newer than the map that it reads
  std::unique_ptr<SlotsFinder> finder_;       // the one that is done stays until the next is made
  MapRefresh refresh_;
};

}  // namespace penstock::redis
