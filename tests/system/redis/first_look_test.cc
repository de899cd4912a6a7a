// SPDX-License-Identifier: Apache-2.0
// A Redis at first sight: what `check --live` says of a Cluster, of a server that tells no id, and what is said of a
// node that cannot be reached.
#include <gmock/gmock.h>

#include <fstream>

#include "system/cluster_stage.h"
#include "system/sentinel_stage.h"

namespace penstock::trial {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Finished check_live(const std::string& yaml) {
  const Folder folder;
  const std::string file = folder.path + "/penstock.yaml";
  std::ofstream(file) << "version: 1\n" << yaml;
  return run_program({"check", "--live", file});
}

/// Has all slots.
struct LoneNode {
  explicit LoneNode(const std::vector<std::string>& more = {}) : server(options(more)) {
    server.run({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    EXPECT_TRUE(eventually([&] {
      return server.run({"CLUSTER", "INFO"}).text.find("cluster_state:ok") != std::string::npos;
    }));
  }
  std::vector<std::string> options(const std::vector<std::string>& more) const {
    std::vector<std::string> all{"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus.number())};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string at() const { return "127.0.0.1:" + std::to_string(server.port()); }
  /// `before`: hosts of the url that are to come first, each with a comma.
  std::string yaml(const std::string& before = "") const {
    return "redis: { whenDown: refuse, url: 'redis+cluster://" + before + at() +
           "' }\nupstreams: { api: { match: 127.0.0.1, rate: 10/s } }\n";
  }

  const test::HeldPort bus;
  test::RedisServer server;
};

TEST(RedisClusterAtFirst, is_looked_at_by_check_live) {
  const LoneNode node;
  const auto ended = check_live(node.yaml());
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr(": 1 of 1 node with slots answers\nRedis "));
  EXPECT_THAT(ended.out, HasSubstr(", cluster, without TLS, as user default\n"));
  EXPECT_THAT(ended.out, HasSubstr("its user may do all that Penstock needs"));
}

TEST(RedisClusterAtFirst, is_well_for_check_live_though_the_first_host_of_the_url_is_down) {
  const Closed closed;
  const LoneNode node;
  const auto ended = check_live(node.yaml(closed.host() + ","));
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr(" at " + node.at() + ", cluster, without TLS, as user default\n"));
}

TEST(RedisClusterAtFirst, has_each_of_its_nodes_told_of_by_check_live) {
  ClusterNodes nodes;
  const std::string yaml = "redis: { " + nodes.keys() + " }\n";
  const auto tells_of = [](ClusterNode& node) {
    return AllOf(HasSubstr(" at " + node.at() + ", cluster, without TLS, as user default\n" + node.at() +
                           ": a round trip takes "),
                 HasSubstr("\n" + node.at() + ": its user may do all that Penstock needs\n"));
  };
  const auto is_down = [](ClusterNode& node) {
    return HasSubstr("Redis at " + node.at() + " is down: its cluster says that a node is there: Connection refused");
  };
  for (const std::size_t slotless : {3, 4, 5}) nodes[slotless].server.stop();
  nodes[1].server.run({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const auto well = check_live(yaml);
  EXPECT_EQ(well.code, 0) << well.err;
  EXPECT_THAT(well.out, AllOf(HasSubstr("3 of 3 nodes with slots answer\n"), tells_of(nodes[0]), tells_of(nodes[1]),
                              tells_of(nodes[2])));
  EXPECT_THAT(well.err, HasSubstr(nodes[1].at() + ": maxmemory-policy is allkeys-lru"));
  nodes[1].server.stop();
  const auto ill = check_live(yaml);
  EXPECT_EQ(ill.code, 1);
  EXPECT_THAT(ill.err, is_down(nodes[1]));
  EXPECT_THAT(ill.out, AllOf(HasSubstr("2 of 3 nodes with slots answer\n"), tells_of(nodes[0]), tells_of(nodes[2])));
  nodes[2].server.stop();
  EXPECT_THAT(check_live(yaml).err, AllOf(is_down(nodes[1]), is_down(nodes[2])));
}

TEST(RedisClusterAtFirst, whose_node_cannot_be_reached_is_told_how_to_name_it) {
  const Closed closed;
  const LoneNode node({"--cluster-announce-port", std::to_string(closed.port)});
  const std::string words =
      closed.host() +
      " is down: its cluster says that a node is there: Connection refused. If that address cannot be "
      "reached from here, name another one by cluster-announce-ip and cluster-announce-port at "
      "each node";
  EXPECT_THAT(check_live(node.yaml()).err, HasSubstr(words));
  const Daemon daemon({.yaml = node.yaml()});
  EXPECT_TRUE(comes_to_say(daemon, words)) << daemon.diagnostics();
}

TEST(RedisAtFirst, that_tells_no_id_is_said_what_that_costs) {
  test::RedisServer redis;
  ASSERT_FALSE(redis.run({"ACL", "SETUSER", "shy", "on", ">s3cret", "~*", "&*", "+@all", "-info"}).is_error());
  const auto ended =
      check_live("redis: { url: 'redis://shy:s3cret@127.0.0.1:" + std::to_string(redis.port()) + "' }\n");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("INFO is refused: a Redis that came back with an old memory is found out by its "
                                   "times alone, and a new semaphore grants nothing for half a lease"));
}

}  // namespace
}  // namespace penstock::trial
