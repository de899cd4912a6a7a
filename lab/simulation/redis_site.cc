// SPDX-License-Identifier: Apache-2.0
// What happens to one server, and to the node of a cluster that has the upstream's slot, or to another.
#include "simulation/redis_site.h"

#include <algorithm>
#include <utility>

namespace penstock::simulation {

namespace {

constexpr Time kCallsOfScript = 8;  // mean number of commands that a script calls

std::string key_in(std::string_view upstream, std::string_view rest) {
  return std::string(kPrefix) + ":{" + std::string(upstream) + "}" + std::string(rest);
}

/// Each master has as many slots as the others; the upstream's are those of the first.
int first_owner(int slot, int masters) {
  const auto part = [masters](int which) { return which * masters / RedisSlots::kSlots; };
  return (part(slot) - part(RedisSlots::slot_of(key_in(kUpstream, ""))) + masters) % masters;
}

}  // namespace

std::string upstream_beside(int node, int masters) {
  for (int i = 0;; ++i) {
    std::string name = "beside" + std::to_string(i);
    if (first_owner(RedisSlots::slot_of(key_in(name, "")), masters) == node) return name;
  }
}

RedisSite::RedisSite(World& world, const Plan& plan, const Time& wall_at_begin)
    : world_(world), plan_(plan), wall_at_begin_(wall_at_begin), slot_(RedisSlots::slot_of(key_in(kUpstream, ""))) {
  const bool has_replica = is_cluster() || std::ranges::any_of(plan.faults, is_of_replica, &Fault::kind);
  nodes_.resize(static_cast<std::size_t>(std::max(1, plan.masters) * (has_replica ? 2 : 1)));
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    auto clock = [this, &node] { return wall_at_begin_ + world_.now() + node.ahead; };
    node.server =
        std::make_unique<RedisServer>(clock, is_cluster() ? "node-" + std::to_string(i) + "-0" : std::string("run-0"));
    hosts_.all.push_back({*node.server});
  }
  if (is_cluster()) found_cluster();
}

void RedisSite::found_cluster() {
  for (int slot = 0; slot < RedisSlots::kSlots; ++slot) truth_.give(slot, first_owner(slot, plan_.masters));
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.slots = RedisSlots(static_cast<int>(i));
    node.slots.learn(truth_);
    node.server->join(node.slots,
                      [this, i](std::string_view channel, std::string_view payload) { relay(i, channel, payload); });
  }
}

void RedisSite::mutate_scripts(const std::string& from, const std::string& to) {
  for (const Node& node : nodes_) node.server->mutate_scripts(from, to);
}

std::vector<std::string> RedisSite::keys_after(Time passed) {
  std::vector<std::string> all;
  for (Node& node : nodes_) {
    node.ahead += passed;
    if (!node.server->is_up() && is_cluster()) continue;
    for (auto& key : node.server->keys(kPrefix)) all.push_back(std::move(key.key));
  }
  return all;
}

// ---- one server -----------------------------------------------------------------------------------------------------

std::size_t RedisSite::index_of(const Fault& fault) const {
  if (!is_cluster()) return hosts_.leads;
  const auto at_home = static_cast<std::size_t>(home());
  const auto others = masters_but(at_home);
  if (!fault.elsewhere || others.empty()) return at_home;
  return others[static_cast<std::size_t>(fault.at / kMillisecond) % others.size()];
}

void RedisSite::foresee(const Fault& fault) {
  using Kind = Fault::Kind;
  const Time before = std::max<Time>(0, fault.at - fault.back);
  if (fault.kind == Kind::redis_goes_back) world_.at(before, [this, &fault] { server_of(fault).save(); });
  if (!is_of_replica(fault.kind) || fault.back == 0) return;
  world_.at(before, [this, &fault] {
    for (const Node& node : nodes_) kept_[&fault].push_back(node.server->memory());
  });
}

bool RedisSite::stop(const Fault& fault, RedisServer::Memory memory) {
  RedisServer& server = server_of(fault);
  server.stop();
  ++starts_;
  world_.at(fault.at + std::max<Time>(fault.lasts, 1),
            [this, &server, memory] { server.start(memory, "run-" + std::to_string(starts_)); });
  return true;
}

template <typename Begin, typename End>
bool RedisSite::meanwhile(const Fault& fault, Begin begin, End end) {
  RedisServer& server = server_of(fault);
  begin(server);
  if (fault.lasts > 0) world_.at(fault.at + fault.lasts, [&server, end] { end(server); });
  return true;
}

bool RedisSite::happen(const Fault& fault) {
  using Kind = Fault::Kind;
  using Memory = RedisServer::Memory;
  RedisServer& server = server_of(fault);
  switch (fault.kind) {
    case Kind::redis_stops: return stop(fault, Memory::kept);
    case Kind::redis_loses_memory: return stop(fault, Memory::empty);
    case Kind::redis_goes_back: return stop(fault, Memory::snapshot);
    case Kind::redis_flushed: server.flush(); return true;
    case Kind::scripts_flushed: server.script_flush(); return true;
    case Kind::redis_stalls: {
      Time& until = hosts_.all[index_of(fault)].stalls_until;
      until = std::max(until, world_.now() + fault.lasts);
      return true;
    }
    case Kind::clients_killed: server.kill_clients(); return true;
    case Kind::clock_steps: nodes_[index_of(fault)].ahead += fault.step; return true;
    case Kind::out_of_memory:
      return meanwhile(
          fault, [](auto& its) { its.out_of_memory(true); }, [](auto& its) { its.out_of_memory(false); });
    case Kind::read_only:
      return meanwhile(
          fault, [](auto& its) { its.read_only(true); }, [](auto& its) { its.read_only(false); });
    case Kind::publishes_lost:
      return meanwhile(
          fault, [](auto& its) { its.lose_messages(true); }, [](auto& its) { its.lose_messages(false); });
    case Kind::denied:
      return meanwhile(
          fault, [&](auto& its) { its.deny(fault.command); }, [](auto& its) { its.allow_all(); });
    case Kind::id_changes:
      server.rename("run-" + std::to_string(++starts_));
      server.kill_clients();
      return true;
    case Kind::script_fails: server.fail_script(1 + static_cast<std::size_t>(fault.at % kCallsOfScript)); return true;
    case Kind::key_erased: server.erase(key_in(kUpstream, fault.key)); return true;
    case Kind::key_foreign: server.set_foreign(key_in(kUpstream, fault.key), fault.lasts / kMillisecond); return true;
    default: break;
  }
  return is_cluster() ? happen_to_cluster(fault) : is_of_replica(fault.kind) && promote_replica(fault);
}

bool RedisSite::happen_to_cluster(const Fault& fault) {
  using Kind = Fault::Kind;
  switch (fault.kind) {
    case Kind::slot_moves: return move_slot(fault);
    case Kind::node_fails_over: return fail_over(fault);
    case Kind::node_taken_over: return take_over(fault);
    case Kind::node_outlived: return outlive(fault);
    case Kind::cluster_down: return go_down(fault);
    default: return false;
  }
}

}  // namespace penstock::simulation
