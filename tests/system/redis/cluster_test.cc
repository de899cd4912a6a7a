// SPDX-License-Identifier: Apache-2.0
// Limits in a Redis Cluster of three masters and three replicas: shared on every node, kept while a slot moves under
// load, while a master dies and while a replica takes over; and only the upstreams that it concerns take notice.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "system/cluster_stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

TEST(RedisCluster, shares_limits_on_all_nodes) {
  ClusterStage stage(8);
  for (int i = 0; i < 3; ++i) stage.add("{ slidingWindow: { max: 4, interval: 1h, mode: refuse } }");
  for (std::size_t upstream = 0; upstream < 8; ++upstream) {
    for (int i = 0; i < 9; ++i) {
      EXPECT_EQ(stage.ask(stage.daemons[static_cast<std::size_t>(i) % 3], upstream), i < 4 ? 200 : 429) << upstream;
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(stage.nodes[i].server.run({"EXISTS", stage.key(i, "slidingWindow")}).integer, 1) << "each at its node";
  }
  for (const auto& daemon : stage.daemons) {
    EXPECT_FALSE(is_degraded(daemon)) << daemon.diagnostics();
    const auto processes = [&] { return Json::parse(daemon.admin("/status").body).at("redis").at("processes") == 3; };
    EXPECT_TRUE(eventually(processes)) << "each says at one node that it is there";
  }
  stage.expect_no_crossslot();
  // Every node that was named is closed to clients, replicas and those that nobody wrote down among them.
  for (auto& node : stage.nodes) {
    const auto is_denied = [&] { return stage.daemons[0].ask(get("http://" + node.at() + "/")).status == 403; };
    EXPECT_TRUE(eventually(is_denied)) << node.at();
  }
}

TEST(RedisCluster, says_which_node_is_down_and_which_upstreams_go_by_when_down) {
  ClusterStage stage(3);
  const Daemon& daemon = stage.add("{ slidingWindow: { max: 4, interval: 1h } }");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(stage.ask(daemon, i), 200);
  const auto redis = [&] { return Json::parse(daemon.admin("/status").body).at("redis"); };
  EXPECT_EQ(redis().at("kind"), "cluster");
  EXPECT_EQ(redis().at("tls"), false);
  const auto said = [&] { return redis().at("state").get<std::string>(); };
  EXPECT_THAT(said(), HasSubstr("Cluster up, "));
  stage.nodes[4].server.stop();  // nothing takes the place of the second
  stage.nodes[1].server.stop();
  const std::string words = "Cluster 2 of 3 nodes, DOWN: " + stage.nodes[1].at() + "; ";
  EXPECT_TRUE(eventually([&] { return said().starts_with(words); })) << said();
  EXPECT_TRUE(eventually([&] { return daemon.status(stage.names[1]).at("degraded") == true; }));
  EXPECT_EQ(daemon.status(stage.names[0]).at("degraded"), false);
  EXPECT_EQ(daemon.status(stage.names[2]).at("degraded"), false);
  const auto top = run_program({"top", "--once", "--admin", "http://127.0.0.1:" + std::to_string(daemon.admin_port())});
  EXPECT_THAT(top.out, HasSubstr("Redis " + words));
}

TEST(RedisCluster, hands_permits_over_by_messages_from_any_node) {
  ClusterStage stage(3);
  for (auto& origin : stage.origins)
    origin.otherwise([](Visit& visit) {
      if (visit.read_body()) visit.answer(200, "hello");
    });
  for (int i = 0; i < 2; ++i) stage.add("{ semaphore: { capacity: 1, lease: 6s } }");
  std::deque<Load> loads;
  for (auto& origin : stage.origins) loads.emplace_back(stage.ports(), origin.url(), 2);
  for (auto& origin : stage.origins) EXPECT_TRUE(origin.await(100));
  for (auto& load : loads) expect_only_successes(load.stop());
  for (auto& origin : stage.origins) EXPECT_EQ(origin.most_at_once(), 1u);
  stage.expect_no_crossslot();
}

TEST(RedisCluster, keeps_limits_while_a_slot_moves_under_load) {
  EventfulCluster stage("share");
  stage.move_slot(stage.slot(0), stage.nodes[0], stage.nodes[1]);
  EXPECT_TRUE(stage.is_shared_again(stage.nodes[1]));
  const auto since = stage.origins[0].count();
  EXPECT_TRUE(stage.origins[0].await(since + 25)) << "the others have not used it up";
  EXPECT_TRUE(stage.nodes[1].has(stage.key(0, "head")));
  stage.expect_kept(kHorizonLost);
}

/// Not even the node that had it: a master and all its replicas may be lost for good.
TEST(RedisCluster, tells_once_of_a_slot_that_no_node_has_and_shares_again_when_one_has) {
  ClusterStage stage(3);
  const Daemon& daemon = stage.add("{ pacer: { qps: 1000 } }", "refuse");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(stage.ask(daemon, i), 200);
  const auto slot = stage.slot(0);
  const auto is_gone = [&] {  // a node may hear once more of the owner that it was
    return std::ranges::all_of(stage.nodes, [&](ClusterNode& node) {
      return node.server.run({"CLUSTER", "DELSLOTS", slot}).is_error();
    });
  };
  ASSERT_TRUE(eventually(is_gone));
  EXPECT_TRUE(eventually([&] { return stage.ask(daemon, 0) == 503 && !is_up(daemon); })) << daemon.diagnostics();
  const auto words = "no node has slot " + slot + ", where keys of ours belong";
  EXPECT_TRUE(comes_to_say(daemon, words)) << daemon.diagnostics();
  EXPECT_TRUE(throughout(1s, [&] { return stage.ask(daemon, 1) == 200 && stage.ask(daemon, 2) == 200; }));
  EXPECT_EQ(lines_with(daemon.diagnostics(), words), 1u) << daemon.diagnostics();
  ASSERT_FALSE(stage.nodes[0].server.run({"CLUSTER", "ADDSLOTS", slot}).is_error());
  for (auto& node : stage.nodes)
    ASSERT_TRUE(eventually([&] { return node.server.run({"CLUSTER", "ADDSLOTS", slot}).is_error(); }));
  EXPECT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); })) << daemon.diagnostics();
  EXPECT_EQ(stage.ask(daemon, 0), 200);
}

TEST(RedisCluster, keeps_limits_where_a_replica_takes_over) {
  EventfulCluster stage("share");
  EXPECT_FALSE(stage.nodes[3].server.run({"CLUSTER", "FAILOVER", "TAKEOVER"}).is_error());
  EXPECT_TRUE(stage.is_shared_again(stage.nodes[3])) << stage.daemons[0].diagnostics();
  EXPECT_FALSE(stage.nodes[0].is_master());
  stage.expect_kept(kHorizonLost);
}

TEST(RedisCluster, keeps_limits_where_a_master_dies) {
  EventfulCluster stage("share");
  stage.nodes[0].server.stop(SIGKILL);
  EXPECT_TRUE(eventually([&] { return stage.nodes[3].is_master(); }));
  EXPECT_TRUE(stage.is_shared_again(stage.nodes[3])) << stage.daemons[0].diagnostics();
  for (const auto& daemon : stage.daemons)
    EXPECT_TRUE(comes_to_say(daemon, "Redis at " + stage.nodes[0].at() + " is not needed any more"));
  stage.expect_kept(kHorizonLost);
}

/// The master goes on answering us. After its node time-out it stops by itself, while the others have made another the
/// master.
TEST(RedisCluster, keeps_limits_where_a_master_is_cut_off_from_the_others_alone) {
  EventfulCluster stage("share", ClusterNodes::Reached::through_relays);
  stage.nodes.cut_off(0, false);
  EXPECT_TRUE(eventually([&] { return stage.nodes[3].is_master(); }));
  EXPECT_TRUE(stage.is_shared_again(stage.nodes[3])) << stage.daemons[0].diagnostics();
  EXPECT_TRUE(stage.nodes[0].is_master()) << "as far as it knows";
  const auto head = [&] { return stage.nodes[0].server.run({"GET", stage.key(0, "head")}).text; };
  EXPECT_TRUE(eventually([&] { return head() == "CLUSTERDOWN The cluster is down"; })) << head();
  stage.expect_kept(kHorizonLost);
  stage.nodes.join_again();
  EXPECT_TRUE(eventually([&] { return !stage.nodes[0].is_master(); }));
  EXPECT_TRUE(throughout(1s, [&] { return stage.origins[0].count() <= EventfulCluster::kMost; }));
}

TEST(RedisCluster, keeps_limits_where_a_master_is_cut_off_from_the_others_and_from_us) {
  EventfulCluster stage("share", ClusterNodes::Reached::through_relays);
  stage.nodes.cut_off(0, true);
  EXPECT_TRUE(eventually([&] { return stage.nodes[3].is_master(); }));
  EXPECT_TRUE(stage.is_shared_again(stage.nodes[3])) << stage.daemons[0].diagnostics();
  stage.nodes.join_again();
  EXPECT_TRUE(eventually([&] { return !stage.nodes[0].is_master(); }));
  stage.expect_kept(kHorizonLost);
}

/// Each node has a certificate for the name that it announces, and for no other.
TEST(RedisCluster, over_tls_keeps_limits_where_replicas_take_over) {
  EventfulCluster stage("share", ClusterNodes::Reached::over_tls);
  EXPECT_FALSE(stage.nodes[3].server.run({"CLUSTER", "FAILOVER", "TAKEOVER"}).is_error());
  EXPECT_TRUE(stage.is_shared_again(stage.nodes[3])) << stage.daemons[0].diagnostics();
  stage.nodes[1].server.stop(SIGKILL);
  EXPECT_TRUE(eventually([&] { return stage.nodes[4].is_master(); }));
  EXPECT_TRUE(stage.is_shared_again(stage.nodes[4])) << stage.daemons[0].diagnostics();
  for (const auto& daemon : stage.daemons)
    EXPECT_EQ(lines_with(daemon.diagnostics(), "certificate"), 0u) << daemon.diagnostics();
  stage.expect_kept(kHorizonLost);
}

TEST(RedisCluster, finds_a_replica_where_the_only_node_of_its_url_has_died) {
  ClusterStage stage(1);
  const Daemon daemon({.yaml = "redis: { whenDown: refuse, timeout: 3s, url: 'redis+cluster://" + stage.nodes[0].at() +
                               "' }\nupstreams: { " + stage.names[0] + ": { match: 127.0.0.1, rate: 1000/s } }\n"});
  ASSERT_TRUE(eventually([&] { return is_up(daemon); })) << daemon.diagnostics();
  EXPECT_EQ(stage.ask(daemon, 0), 200);
  stage.nodes[0].server.stop(SIGKILL);
  // It is connected to the replica before its limits are shared there: until then, requests are refused.
  EXPECT_TRUE(eventually([&] {
    return speaks_to(daemon, stage.nodes[3].at()) && is_up(daemon) && !is_degraded(daemon);
  })) << daemon.diagnostics();
  EXPECT_EQ(stage.ask(daemon, 0), 200);
}

/// A cluster of one node, which announces a name, and shows a certificate for the address and for these names.
struct NamedNode {
  explicit NamedNode(std::vector<std::string> names)
      : shown(authority.issue({.names = std::move(names), .addresses = {"127.0.0.1"}})) {
    server.run({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  }
  std::vector<std::string> options() const {
    return {"--tls-port",
            std::to_string(held.number()),
            "--tls-cert-file",
            shown.certificate,
            "--tls-key-file",
            shown.key,
            "--tls-ca-cert-file",
            authority.file(),
            "--tls-auth-clients",
            "no",
            "--tls-cluster",
            "yes",
            "--cluster-enabled",
            "yes",
            "--cluster-port",
            std::to_string(bus.number()),
            "--cluster-announce-hostname",
            "node.internal"};
  }
  std::string yaml() const {
    return "redis: { timeout: 3s, whenDown: refuse, url: 'rediss+cluster://127.0.0.1:" + std::to_string(held.number()) +
           "', tls: { ca: '" + authority.file() + "' } }\nupstreams: { api: { match: 127.0.0.1, rate: 10/s } }\n";
  }

  test::Authority authority;
  const test::Issued shown;
  const test::HeldPort held, bus;
  test::RedisServer server{options()};
};

TEST(RedisCluster, verifies_each_node_by_the_name_that_it_announces) {
  const NamedNode right({"node.internal"}), wrong({"other.internal"});
  const Origin origin;
  const Daemon daemon({.yaml = right.yaml()}), deceived({.yaml = wrong.yaml()});
  EXPECT_TRUE(eventually([&] { return is_up(daemon); })) << daemon.diagnostics();
  EXPECT_EQ(daemon.ask(get(origin.url("/"))).status, 200);
  EXPECT_TRUE(comes_to_say(deceived, "its certificate is for another name")) << deceived.diagnostics();
  EXPECT_EQ(deceived.diagnostics().find("If that address"), std::string::npos) << "it was reached";
  EXPECT_EQ(deceived.ask(get(origin.url("/"))).status, 503);
}

/// What docs/limits.md says that a user needs besides, in a Cluster.
std::vector<std::string> more_rules_of_the_docs() {
  std::ifstream page(PENSTOCK_SOURCES "/docs/limits.md");
  const std::string text{std::istreambuf_iterator<char>(page), {}}, before = "in a Cluster `";
  const auto from = text.find(before) + before.size();
  std::istringstream words(text.substr(from, text.find('`', from) - from));
  return {std::istream_iterator<std::string>(words), {}};
}

struct RuleOfTheDocs {
  RuleOfTheDocs() {
    alone.server.run({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    EXPECT_TRUE(eventually([&] { return alone.agrees(1); }));
    const auto more = more_rules_of_the_docs();
    rule.insert(rule.end(), more.begin(), more.end());
  }
  std::string yaml() const {
    return "redis: { whenDown: refuse, timeout: 3s, url: 'redis+cluster://penstock:PASSWORD@" + alone.at() +
           "' }\nupstreams: { api: { match: 127.0.0.1, rate: 10/s } }\n";
  }
  bool grant(const std::vector<std::string>& words) {
    return !alone.server.run({"ACL", "SETUSER", "penstock", "reset"}).is_error() &&
           !alone.server.run({words.begin(), words.end()}).is_error();
  }

  ClusterNode alone;
  std::vector<std::string> rule = acl_rule_of_the_docs(0);
};

TEST(RedisCluster, needs_no_more_than_the_rule_of_the_docs) {
  RuleOfTheDocs stage;
  ASSERT_THAT(stage.rule, testing::IsSupersetOf({"+asking", "+cluster|slots", "+evalsha"}));
  ASSERT_TRUE(stage.grant(stage.rule));
  const Origin origin;
  const Daemon daemon({.yaml = stage.yaml()});
  EXPECT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); })) << daemon.diagnostics();
  EXPECT_EQ(daemon.ask(get(origin.url("/"))).status, 200);
  EXPECT_THAT(refused_by(stage.alone.server), testing::ElementsAre("client|setname"));
}

TEST(RedisCluster, names_each_command_of_the_rule_of_the_docs_that_is_refused) {
  RuleOfTheDocs stage;
  for (const auto& word : stage.rule) {
    if (!word.starts_with("+")) continue;
    auto without = stage.rule;
    std::erase(without, word);
    ASSERT_TRUE(stage.grant(without));
    const Daemon daemon({.yaml = stage.yaml()});
    EXPECT_TRUE(comes_to_say(daemon, "to grant it: ACL SETUSER penstock " + word)) << daemon.diagnostics();
  }
}

TEST(RedisCluster, that_is_none_or_lacks_slots_is_told_in_words) {
  ClusterNode alone;
  const test::RedisServer plain;
  const Closed closed;
  ClusterNode in_part;  // by default a cluster without all slots serves none
  in_part.server.run({"CONFIG", "SET", "cluster-require-full-coverage", "yes"});
  in_part.server.run({"CLUSTER", "ADDSLOTSRANGE", "0", "16382"});
  const Origin origin;
  const auto says = [&origin](const std::string& url, const std::string& words) {
    const Daemon daemon({.yaml = "redis: { whenDown: refuse, url: '" + url +
                                 "' }\nupstreams: { api: { match: 127.0.0.1, rate: 10/s } }\n"});
    EXPECT_TRUE(comes_to_say(daemon, words)) << daemon.diagnostics();
    EXPECT_EQ(daemon.ask(get(origin.url("/"))).status, 503) << "whenDown";
    EXPECT_TRUE(throughout(1s, [&] { return !is_up(daemon); })) << "it is tried again and again";
    EXPECT_EQ(lines_with(daemon.diagnostics(), words), 1U) << daemon.diagnostics();
  };
  says("redis+cluster://" + alone.at(),
       "its cluster has given no slots to any node; redis-cli --cluster fix gives them");
  says("redis+cluster://127.0.0.1:" + std::to_string(plain.port()),
       "it is no Redis Cluster: write redis:// in redis.url");
  says("redis+cluster://" + in_part.at(), "or a slot has no node: redis-cli --cluster check tells");
  says("redis+cluster://" + closed.host(), closed.host() + ": Connection refused");
  says("redis://" + alone.at(), "it is a Redis Cluster: write redis+cluster://HOST:6379 in redis.url");
  for (auto* node : {&alone, &in_part}) node->server.run({"CONFIG", "SET", "requirepass", "s3cret"});
  says("redis+cluster://" + alone.at() + "," + in_part.at(), "NOAUTH Authentication required");
}

}  // namespace
}  // namespace penstock::trial
