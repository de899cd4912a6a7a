// SPDX-License-Identifier: Apache-2.0
// The Redis of a run, and what goes wrong there: a server, with a replica where a fault needs one, or the nodes of a
// cluster. Each node has its own memory, clock and id. Nodes of a cluster have their own knowledge of the slots, too:
// news of one reaches the others later.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/network.h"
#include "simulation/plan.h"
#include "simulation/redis_server.h"
#include "simulation/redis_slots.h"
#include "simulation/world.h"

namespace penstock::simulation {

inline constexpr const char *kUpstream = "api", *kPrefix = "p";

/// A further upstream; that node has its slot when the run begins.
std::string upstream_beside(int node, int masters);

class RedisSite {
 public:
  /// `wall_at_begin` is read when a clock is. All must outlive it.
  RedisSite(World& world, const Plan& plan, const Time& wall_at_begin);
  RedisSite(const RedisSite&) = delete;
  RedisSite& operator=(const RedisSite&) = delete;

  Hosts& hosts() { return hosts_; }
  void mutate_scripts(const std::string& from, const std::string& to);
  /// To be called before the run: some of what a fault needs is kept earlier than it happens.
  void foresee(const Fault& fault);
  /// False: it is a fault of no Redis.
  bool happen(const Fault& fault);
  /// All clocks go forward. Returns what keys there are then.
  std::vector<std::string> keys_after(Time passed);

 private:
  struct Node {
    Time ahead = 0;  // of the world's time
    RedisSlots slots{RedisSlots::kNobody};
    std::unique_ptr<RedisServer> server;
    Time deaf_until = 0;  // until then it hears no news of the cluster
  };

  // Of any server.
  RedisServer& server_of(const Fault& fault) { return *nodes_[index_of(fault)].server; }
  std::size_t index_of(const Fault& fault) const;
  bool stop(const Fault& fault, RedisServer::Memory memory);
  template <typename Begin, typename End>
  bool meanwhile(const Fault& fault, Begin begin, End end);

  // Of a master and its replica.
  bool promote_replica(const Fault& fault);
  void lead_to_replica_of(std::size_t master, const Fault& fault);

  // Of a cluster.
  void found_cluster();
  bool is_cluster() const { return plan_.masters > 0; }
  int home() const { return truth_.owner(slot_); }
  std::size_t partner(std::size_t node) const;
  /// The masters that answer, without that one.
  std::vector<std::size_t> masters_but(std::size_t without) const;
  /// What the replica of that node has when it takes over.
  RedisNode::Databases inherited(std::size_t node, const Fault& fault);
  void relay(std::size_t from, std::string_view channel, std::string_view payload);
  /// All nodes but `knows` learn later how things stand now.
  void spread_news(std::size_t knows);
  void promote_partner_of(std::size_t node, const Fault& fault);
  void come_back(std::size_t node, Time at);
  bool happen_to_cluster(const Fault& fault);
  bool fail_over(const Fault& fault);
  bool take_over(const Fault& fault);
  bool outlive(const Fault& fault);
  bool go_down(const Fault& fault);
  bool move_slot(const Fault& fault);
  struct Move {
    int slot;
    std::size_t from, to;
  };
  void move_key(const Move& move);
  void end_move(const Move& move);

  World& world_;
  const Plan& plan_;
  const Time& wall_at_begin_;
  std::deque<Node> nodes_;  // the masters, then the replica of each
  Hosts hosts_;
  int starts_ = 0;
  int slot_ = 0;                                                    // of the upstream
  RedisSlots truth_{RedisSlots::kNobody};                           // which node has which slot, known or not
  std::map<const Fault*, std::vector<RedisNode::Databases>> kept_;  // what each replica will have then
};

}  // namespace penstock::simulation
