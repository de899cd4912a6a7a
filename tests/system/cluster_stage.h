// SPDX-License-Identifier: Apache-2.0
// A Redis Cluster of three masters and a replica of each, reached directly, through relays or over TLS, and daemons
// that keep limits there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/held_port.h"
#include "support/redis_server.h"
#include "support/tls_authority.h"
#include "system/redis_stage.h"

namespace penstock::trial {

struct ClusterNode {
  /// `relayed`: what it announces are relays. With an `authority` it speaks TLS, to its fellows too, and announces the
  /// first name of its certificate.
  explicit ClusterNode(bool relayed = false, test::Authority* authority = nullptr, const test::Wanted& wanted = {});

  std::string id() { return server.run({"CLUSTER", "MYID"}).text; }
  /// Where it is, as it announces.
  std::string port() const { return std::to_string(relay ? relay->port() : shown ? tls.number() : server.port()); }
  std::string bus_port() const { return std::to_string(bus_relay ? bus_relay->port() : bus.number()); }
  std::string at() const { return "127.0.0.1:" + port(); }
  std::string info(std::string_view section) { return server.run({"INFO", section}).text; }
  bool is_master() { return info("replication").find("role:master") != std::string::npos; }
  /// It knows of so many, and its cluster works.
  bool agrees(int nodes = 6);
  bool has(const std::string& key) { return !server.run({"GET", key}).is_error(); }

  const test::HeldPort bus, tls;
  const std::optional<test::Issued> shown;        ///< over TLS
  const std::unique_ptr<Relay> relay, bus_relay;  ///< where it is relayed
  test::RedisServer server;

 private:
  std::vector<std::string> options(const test::Authority* authority, const std::string& name) const;
};

/// Three masters, then a replica of each.
class ClusterNodes {
 public:
  enum class Reached : std::uint8_t { directly, through_relays, over_tls };
  explicit ClusterNodes(Reached how = Reached::directly);
  ~ClusterNodes();
  ClusterNodes(const ClusterNodes&) = delete;

  ClusterNode& operator[](std::size_t nth) { return nodes_[nth]; }
  auto begin() { return nodes_.begin(); }
  auto end() { return nodes_.end(); }

  /// For `redis`: the url, which names two nodes, and what TLS needs.
  std::string keys() const;
  /// Which of the masters had the key's slot in the beginning.
  std::size_t owner(const std::string& key);
  /// The replica that had the same slots.
  ClusterNode& replica_of(std::size_t master) { return nodes_[master + 3]; }
  /// Cuts a node off from all others; only where there are relays. `from_us`: from daemons, too.
  void cut_off(std::size_t node, bool from_us);
  /// Lets everything pass again.
  void join_again();

 private:
  void expect_names_known();

  const Reached how_;
  test::Authority authority_;
  std::deque<ClusterNode> nodes_;
};

/// An upstream for each of the names, whose keys lie on all masters: the first on the first, the second on the second
/// and so on.
class ClusterStage {
 public:
  explicit ClusterStage(int upstreams, ClusterNodes::Reached how = ClusterNodes::Reached::directly);
  ~ClusterStage();

  Daemon& add(const std::string& limits, const std::string& when_down = "share", const std::string& timeout = "3s");
  std::vector<std::uint16_t> ports() const;
  int ask(const Daemon& daemon, std::size_t upstream) const { return daemon.ask(get(origins[upstream].url())).status; }
  std::string key(std::size_t upstream, const std::string& name) const {
    return "penstock:{" + names[upstream] + "}:" + name;
  }
  std::string slot(std::size_t upstream);
  /// With its keys, one after the other, as redis-cli does it. `underway` is called when all keys are there, and the
  /// slot is not yet.
  void move_slot(const std::string& slot, ClusterNode& from, ClusterNode& to,
                 const std::function<void()>& underway = {});
  /// No command ever had keys of two slots.
  void expect_no_crossslot();

  ClusterNodes nodes;
  std::vector<std::string> names;
  std::deque<Origin> origins;
  std::deque<Daemon> daemons;
};

constexpr std::size_t kHorizonLost = 8;  // 50 ms at 50/s, for each of three daemons

/// Three daemons with eight upstreams on all nodes, under load; of each no more than kMost may ever leave, at 50 a
/// second.
struct EventfulCluster : ClusterStage {
  static constexpr std::size_t kMost = 300;

  explicit EventfulCluster(const std::string& when_down, ClusterNodes::Reached how = ClusterNodes::Reached::directly,
                           const std::string& timeout = "3s");
  /// All upstreams are served by Redis again, by all daemons, and the first by that node.
  bool is_shared_again(const ClusterNode& first_by);
  /// All that is left is used up, and then nothing leaves.
  void expect_kept(std::size_t lost_at_most);

  std::deque<Load> loads;
};

/// Whether that daemon says that the Redis at `node` answers it.
bool speaks_to(const Daemon& daemon, const std::string& node);

}  // namespace penstock::trial
