// SPDX-License-Identifier: Apache-2.0
// See cluster_stage.h. Nodes take a second to miss one, and about another to agree on a replica. A message between two
// of them names its sender first, so that a relay knows whose connection it is.
#include "system/cluster_stage.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <initializer_list>

namespace penstock::trial {

using Reached = ClusterNodes::Reached;

namespace {
constexpr int kFirst = 0, kSecond = 4;  // the nodes of the url
}  // namespace

// One node.

ClusterNode::ClusterNode(bool relayed, test::Authority* authority, const test::Wanted& wanted)
    : shown(authority ? std::optional(authority->issue(wanted)) : std::nullopt),
      relay(relayed ? std::make_unique<Relay>() : nullptr),
      bus_relay(relayed ? std::make_unique<Relay>(bus.number()) : nullptr),
      server(options(authority, shown ? wanted.names[0] : "")) {
  if (relay) relay->lead_to(server.port());
}

std::vector<std::string> ClusterNode::options(const test::Authority* authority, const std::string& name) const {
  std::vector<std::string> all{"--cluster-enabled",
                               "yes",
                               "--cluster-port",
                               std::to_string(bus.number()),
                               "--cluster-node-timeout",
                               "1000",
                               "--cluster-require-full-coverage",
                               "no",
                               "--repl-diskless-sync-delay",
                               "0"};
  const auto add = [&](std::initializer_list<std::string> more) { all.insert(all.end(), more); };
  if (relay)
    add({"--cluster-announce-port", std::to_string(relay->port()), "--cluster-announce-bus-port",
         std::to_string(bus_relay->port())});
  if (shown)
    add({"--tls-port", std::to_string(tls.number()), "--tls-cert-file", shown->certificate, "--tls-key-file",
         shown->key, "--tls-ca-cert-file", authority->file(), "--tls-auth-clients", "no", "--tls-cluster", "yes",
         "--tls-replication", "yes", "--cluster-announce-hostname", name});
  return all;
}

bool ClusterNode::agrees(int nodes) {
  const auto told = server.run({"CLUSTER", "INFO"}).text;
  const auto known = "cluster_known_nodes:" + std::to_string(nodes) + "\r\n";
  return told.find("cluster_state:ok") != std::string::npos && told.find(known) != std::string::npos;
}

// All nodes.

ClusterNodes::ClusterNodes(Reached how) : how_(how) {
  for (int i = 0; i < 6; ++i) {
    auto* const authority = how == Reached::over_tls ? &authority_ : nullptr;
    test::Wanted wanted{.names = {"node" + std::to_string(i) + ".internal"}, .addresses = {}};
    if (i == kFirst || i == kSecond) wanted.addresses = {"127.0.0.1"};  // by which keys() names them
    auto& node = nodes_.emplace_back(how == Reached::through_relays, authority, wanted);
    node.server.run({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
  }
  nodes_[0].server.run({"CLUSTER", "ADDSLOTSRANGE", "0", "5460"});
  nodes_[1].server.run({"CLUSTER", "ADDSLOTSRANGE", "5461", "10922"});
  nodes_[2].server.run({"CLUSTER", "ADDSLOTSRANGE", "10923", "16383"});
  for (std::size_t i = 1; i < 6; ++i)
    nodes_[0].server.run({"CLUSTER", "MEET", "127.0.0.1", nodes_[i].port(), nodes_[i].bus_port()});
  for (auto& node : nodes_) EXPECT_TRUE(eventually([&] { return node.agrees(); })) << node.info("replication");
  for (std::size_t i = 3; i < 6; ++i) {
    const auto master = nodes_[i - 3].id();
    EXPECT_TRUE(eventually([&] { return !nodes_[i].server.run({"CLUSTER", "REPLICATE", master}).is_error(); }));
  }
  if (how == Reached::over_tls) expect_names_known();
  for (std::size_t i = 3; i < 6; ++i)
    EXPECT_TRUE(eventually([&] { return nodes_[i].info("replication").find("link_status:up") != std::string::npos; }));
}

/// All are gone before the first port is given back: they would dial it, and it may be another test's by then.
ClusterNodes::~ClusterNodes() {
  for (auto& node : nodes_) node.server.stop(SIGKILL);
}

/// Nodes tell each other's names later than their addresses.
void ClusterNodes::expect_names_known() {
  for (auto& node : nodes_)
    EXPECT_TRUE(eventually([&] { return lines_with(node.server.run({"CLUSTER", "NODES"}).text, ".internal") == 6; }));
}

std::string ClusterNodes::keys() const {
  const std::string hosts = nodes_[kFirst].at() + "," + nodes_[kSecond].at();
  if (how_ != Reached::over_tls) return "url: 'redis+cluster://" + hosts + "'";
  return "url: 'rediss+cluster://" + hosts + "', tls: { ca: '" + authority_.file() + "' }";
}

std::size_t ClusterNodes::owner(const std::string& key) {
  for (std::size_t i = 0; i < 3; ++i)
    if (nodes_[i].has(key)) return i;
  ADD_FAILURE() << "no master has " << key;
  return 0;
}

void ClusterNodes::cut_off(std::size_t node, bool from_us) {
  const auto id = nodes_[node].id();
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (i != node) nodes_[i].bus_relay->hold_those_of(id);
  nodes_[node].bus_relay->hold();
  nodes_[node].relay->hold(from_us ? "" : "penstock:");  // how our connections name themselves
}

void ClusterNodes::join_again() {
  for (auto& node : nodes_) node.bus_relay->pass(), node.relay->pass();
}

// Upstreams on all of them.

ClusterStage::ClusterStage(int upstreams, Reached how) : nodes(how) {
  for (int number = 0; static_cast<int>(names.size()) < upstreams; ++number) {
    const std::string name = "u" + std::to_string(number);
    if (!nodes[names.size() % 3].has("penstock:{" + name + "}:head")) continue;
    names.push_back(name);
    origins.emplace_back();
  }
}

ClusterStage::~ClusterStage() {
  for (auto& origin : origins) EXPECT_EQ(origin.complaint(), "");
}

Daemon& ClusterStage::add(const std::string& limits, const std::string& when_down, const std::string& timeout) {
  std::string yaml =
      "redis: { " + nodes.keys() + ", timeout: " + timeout + ", whenDown: " + when_down + " }\nupstreams:\n";
  for (std::size_t i = 0; i < names.size(); ++i)
    yaml += "  " + names[i] + ": { match: '" + origins[i].host() + "', limits: [ " + limits + " ] }\n";
  Daemon& daemon = daemons.emplace_back(Given{.yaml = yaml});
  EXPECT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); })) << daemon.diagnostics();
  return daemon;
}

std::vector<std::uint16_t> ClusterStage::ports() const {
  std::vector<std::uint16_t> all;
  for (const auto& daemon : daemons) all.push_back(daemon.port());
  return all;
}

std::string ClusterStage::slot(std::size_t upstream) {
  return std::to_string(nodes[0].server.run({"CLUSTER", "KEYSLOT", key(upstream, "head")}).integer);
}

void ClusterStage::move_slot(const std::string& slot, ClusterNode& from, ClusterNode& to,
                             const std::function<void()>& underway) {
  const auto from_id = from.id(), to_id = to.id();
  EXPECT_FALSE(to.server.run({"CLUSTER", "SETSLOT", slot, "IMPORTING", from_id}).is_error());
  EXPECT_FALSE(from.server.run({"CLUSTER", "SETSLOT", slot, "MIGRATING", to_id}).is_error());
  while (true) {
    const auto keys = from.server.run({"CLUSTER", "GETKEYSINSLOT", slot, "1"}).items;
    if (keys.empty()) break;
    const auto moved = from.server.run({"MIGRATE", "127.0.0.1", to.port(), keys[0].text, "0", "5000"});
    EXPECT_FALSE(moved.is_error()) << moved.text;
  }
  if (underway) underway();
  for (auto* node : {&to, &from})
    EXPECT_FALSE(node->server.run({"CLUSTER", "SETSLOT", slot, "NODE", to_id}).is_error());
}

void ClusterStage::expect_no_crossslot() {
  for (auto& node : nodes) {
    if (node.server.pid() == 0) continue;
    EXPECT_EQ(node.info("errorstats").find("CROSSSLOT"), std::string::npos) << node.at();
  }
  for (const auto& daemon : daemons) EXPECT_EQ(errors(daemon, "unsupported"), 0);
}

// Under load.

EventfulCluster::EventfulCluster(const std::string& when_down, Reached how, const std::string& timeout)
    : ClusterStage(8, how) {
  for (int i = 0; i < 3; ++i)
    add("{ pacer: { qps: 50 } }, { slidingWindow: { max: " + std::to_string(kMost) + ", interval: 1h, mode: refuse } }",
        when_down, timeout);
  for (auto& origin : origins) loads.emplace_back(ports(), origin.url(), 4);
  for (auto& origin : origins) EXPECT_TRUE(origin.await(50));
}

bool EventfulCluster::is_shared_again(const ClusterNode& first_by) {
  return eventually([&] {
    return std::ranges::all_of(
        daemons, [&](const Daemon& one) { return speaks_to(one, first_by.at()) && is_up(one) && !is_degraded(one); });
  });
}

void EventfulCluster::expect_kept(std::size_t lost_at_most) {
  for (auto& origin : origins)
    EXPECT_TRUE(eventually([&] { return origin.count() + lost_at_most >= kMost; })) << origin.count();
  EXPECT_TRUE(throughout(
      1s, [&] { return std::ranges::all_of(origins, [](const Origin& origin) { return origin.count() <= kMost; }); }));
  for (std::size_t i = 0; i < origins.size(); ++i)
    std::printf("%s: %zu of %zu left\n", names[i].c_str(), origins[i].count(), kMost);
  for (auto& load : loads) load.stop();
  expect_no_crossslot();
}

bool speaks_to(const Daemon& daemon, const std::string& node) {
  return daemon.metric("penstock_redis_node_up", "node=\"" + node + "\"") == 1;
}

}  // namespace penstock::trial
