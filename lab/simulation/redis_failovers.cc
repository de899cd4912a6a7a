// SPDX-License-Identifier: Apache-2.0
// Replicas that take over, and slots that move.
#include <algorithm>
#include <utility>

#include "simulation/redis_site.h"

namespace penstock::simulation {

namespace {

// Of news, and of messages, among the nodes.
constexpr Time kSoonestNews = kMillisecond, kLatestNews = 100 * kMillisecond;
constexpr Time kSoonestMessage = 100, kLatestMessage = kMillisecond;
constexpr Time kKeysOfSlot = 10;  // so many steps of a move, which take one key each; the last takes the rest
constexpr Time kSoonestReturn = 500 * kMillisecond, kLatestReturn = 5 * kSecond;

}  // namespace

RedisNode::Databases RedisSite::inherited(std::size_t node, const Fault& fault) {
  const auto kept = kept_.find(&fault);
  return kept != kept_.end() ? kept->second.at(node) : nodes_[node].server->memory();
}

// ---- a master and its replica ---------------------------------------------------------------------------------------

/// A process that dials from now on is led to the replica, as sentinels would. The former master answers until it is
/// told, or as long as it lives.
bool RedisSite::promote_replica(const Fault& fault) {
  const std::size_t master = hosts_.leads;
  RedisServer& server = *nodes_[master].server;
  const Time end = fault.at + std::max<Time>(fault.lasts, 1);
  const bool dies = fault.kind == Fault::Kind::node_fails_over, stalls = fault.kind == Fault::Kind::node_outlived;
  if (dies) server.stop();
  if (stalls) hosts_.all[master].stalls_until = std::max(hosts_.all[master].stalls_until, end);
  const Time promoted = dies ? end : stalls ? fault.at + fault.lasts / 2 : fault.at;
  world_.at(promoted, [this, master, &fault] { lead_to_replica_of(master, fault); });
  world_.at(stalls ? end + world_.random().between(1, 20 * kMillisecond) : end, [this, &server, dies] {
    if (dies) server.start(RedisServer::Memory::empty, "run-" + std::to_string(++starts_));
    server.read_only(true);
    server.kill_clients();
  });
  return true;
}

void RedisSite::lead_to_replica_of(std::size_t master, const Fault& fault) {
  hosts_.leads = 1 - master;
  RedisServer& server = *nodes_[hosts_.leads].server;
  server.remember(inherited(master, fault));
  server.rename("run-" + std::to_string(++starts_));
  server.read_only(false);
}

// ---- a cluster ------------------------------------------------------------------------------------------------------

std::size_t RedisSite::partner(std::size_t node) const {
  const auto masters = static_cast<std::size_t>(plan_.masters);
  return (node + masters) % (2 * masters);
}

std::vector<std::size_t> RedisSite::masters_but(std::size_t without) const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    bool has_any = false;
    for (int slot = 0; slot < RedisSlots::kSlots && !has_any; ++slot)
      has_any = truth_.owner(slot) == static_cast<int>(i);
    if (i != without && has_any && nodes_[i].server->is_up()) all.push_back(i);
  }
  return all;
}

/// A node that is away does not get it, as in Redis.
void RedisSite::relay(std::size_t from, std::string_view channel, std::string_view payload) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (i == from) continue;
    world_.at(world_.now() + world_.random().between(kSoonestMessage, kLatestMessage),
              [this, i, to = std::string(channel), said = std::string(payload)] {
                const bool is_away = !nodes_[i].server->is_up() || hosts_.all[i].stalls_until > world_.now();
                if (!is_away) nodes_[i].server->hear(to, said);
              });
  }
}

void RedisSite::spread_news(std::size_t knows) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (i == knows) continue;
    world_.at(world_.now() + world_.random().between(kSoonestNews, kLatestNews), [this, i] {
      if (nodes_[i].deaf_until <= world_.now()) nodes_[i].slots.learn(truth_);
    });
  }
}

/// If the replica is away itself, nothing takes over.
void RedisSite::promote_partner_of(std::size_t node, const Fault& fault) {
  const std::size_t replica = partner(node);
  if (!nodes_[replica].server->is_up()) return;
  nodes_[replica].server->remember(inherited(node, fault));
  truth_.give_all(static_cast<int>(node), static_cast<int>(replica));
  nodes_[replica].slots.learn(truth_);
  spread_news(replica);
}

/// As a replica, if another has taken over meanwhile.
void RedisSite::come_back(std::size_t node, Time at) {
  world_.at(at, [this, node] {
    const auto masters = masters_but(nodes_.size());
    const bool is_master = std::ranges::find(masters, partner(node)) == masters.end();
    nodes_[node].slots.learn(truth_);
    nodes_[node].server->start(is_master ? RedisServer::Memory::kept : RedisServer::Memory::empty,
                               "node-" + std::to_string(node) + "-" + std::to_string(++starts_));
  });
}

bool RedisSite::fail_over(const Fault& fault) {
  const std::size_t node = index_of(fault);
  nodes_[node].server->stop();
  const Time promoted = world_.now() + std::max<Time>(fault.lasts, 1);
  world_.at(promoted, [this, node, &fault] { promote_partner_of(node, fault); });
  come_back(node, promoted + world_.random().between(kSoonestReturn, kLatestReturn));
  return true;
}

bool RedisSite::take_over(const Fault& fault) {
  const std::size_t node = index_of(fault);
  nodes_[node].deaf_until = world_.now() + std::max<Time>(fault.lasts, 1);
  promote_partner_of(node, fault);
  world_.at(nodes_[node].deaf_until, [this, node] { nodes_[node].slots.learn(truth_); });
  return true;
}

/// When it goes on, it first answers what has come meanwhile, and then hears the news.
bool RedisSite::outlive(const Fault& fault) {
  const std::size_t node = index_of(fault);
  Time& stalls = hosts_.all[node].stalls_until;
  stalls = std::max(stalls, world_.now() + fault.lasts);
  nodes_[node].deaf_until = stalls + world_.random().between(1, 20 * kMillisecond);
  world_.at(world_.now() + fault.lasts / 2, [this, node, &fault] { promote_partner_of(node, fault); });
  world_.at(nodes_[node].deaf_until, [this, node] { nodes_[node].slots.learn(truth_); });
  return true;
}

bool RedisSite::go_down(const Fault& fault) {
  for (Node& node : nodes_) node.slots.set_down(true);
  world_.at(fault.at + std::max<Time>(fault.lasts, 1), [this] {
    for (Node& node : nodes_) node.slots.set_down(false);
  });
  return true;
}

// ---- a slot that moves ----------------------------------------------------------------------------------------------

bool RedisSite::move_slot(const Fault& fault) {
  const int slot = fault.elsewhere ? RedisSlots::slot_of(std::string(kPrefix) + ":processes") : slot_;
  const auto from = static_cast<std::size_t>(truth_.owner(slot));
  const auto others = masters_but(from);
  if (others.empty() || !nodes_[from].server->is_up()) return true;
  const Move move{slot, from, others[world_.random().below(others.size())]};
  nodes_[move.to].slots.import(slot, static_cast<int>(from));
  nodes_[from].slots.migrate(slot, static_cast<int>(move.to));
  for (Time step = 1; step < kKeysOfSlot; ++step) {
    world_.at(fault.at + step * fault.lasts / kKeysOfSlot, [this, move] { move_key(move); });
  }
  world_.at(fault.at + fault.lasts, [this, move] { end_move(move); });
  return true;
}

/// One of those that are left, if any is.
void RedisSite::move_key(const Move& move) {
  auto keys = nodes_[move.from].server->keys();
  std::erase_if(keys, [&](const auto& key) { return RedisSlots::slot_of(key.key) != move.slot; });
  if (keys.empty()) return;
  const std::string& key = keys[world_.random().below(keys.size())].key;
  if (auto value = nodes_[move.from].server->take(key)) nodes_[move.to].server->put(key, std::move(*value));
}

/// The new node knows it first, then the former one.
void RedisSite::end_move(const Move& move) {
  RedisServer& from = *nodes_[move.from].server;
  for (const auto& key : from.keys()) {
    if (RedisSlots::slot_of(key.key) != move.slot) continue;
    if (auto value = from.take(key.key)) nodes_[move.to].server->put(key.key, std::move(*value));
  }
  truth_.give(move.slot, static_cast<int>(move.to));
  nodes_[move.to].slots.settle();
  nodes_[move.to].slots.give(move.slot, static_cast<int>(move.to));
  world_.at(world_.now() + kSoonestNews, [this, move] {
    nodes_[move.from].slots.settle();
    nodes_[move.from].slots.give(move.slot, static_cast<int>(move.to));
  });
  spread_news(move.to);
}

}  // namespace penstock::simulation
