// SPDX-License-Identifier: Apache-2.0
// Redis behind Sentinel: the limits follow the master, whatever happens to one, and what is wrong is said in words.
#include <gmock/gmock.h>

#include <fstream>

#include "support/tls_authority.h"
#include "system/sentinel_stage.h"

namespace penstock::trial {
namespace {

constexpr std::string_view kWindow = "penstock:{api}:window";

std::string by_url(const std::string& url, const std::string& keys = "") {
  return "redis: { timeout: 3s, whenDown: refuse, url: '" + url + "'" + keys +
         " }\nupstreams: { api: { match: 127.0.0.1, limits: [ { window: { reservoir: 1000, interval: 24h } } ] } }\n";
}

bool is_served(const Daemon& daemon, const Origin& origin) { return daemon.ask(get(origin.url("/"))).status == 200; }

double node_up(const Daemon& daemon, const std::string& node) {
  return daemon.metric("penstock_redis_node_up", "node=\"" + node + "\",redis=\"default\"");
}

std::string role_of(test::RedisServer& redis) {
  const auto told = redis.run({"ROLE"});
  return told.items.empty() ? "" : told.items[0].text;
}

/// Two that share a limit and have used it.
struct Served {
  Served() {
    for (const auto* daemon : {&one, &other}) {
      EXPECT_TRUE(eventually([&] { return is_up(*daemon); })) << daemon->diagnostics();
      EXPECT_TRUE(is_served(*daemon, origin));
    }
  }
  /// Waits until both have left the old master, which may go on answering: until then a request of either may still be
  /// served by the old one, or refused while its process changes over.
  void expect_served_again() {
    auto& promoted = stage.promoted();
    for (const auto* daemon : {&one, &other}) {
      ASSERT_TRUE(eventually([&] { return is_served_by(promoted, *daemon); }, 40s)) << daemon->diagnostics();
      EXPECT_TRUE(is_up(*daemon));
    }
  }
  /// Whether a request of `daemon` is counted there.
  bool is_served_by(test::RedisServer& redis, const Daemon& daemon) const {
    const auto before = redis.run({"GET", kWindow}).text;
    return is_served(daemon, origin) && redis.run({"GET", kWindow}).text != before;
  }

  SentinelStage stage;
  Origin origin;
  Daemon one{{.yaml = by_url(stage.url())}}, other{{.yaml = by_url(stage.url())}};
};

TEST(RedisBySentinel, follows_the_master_that_is_promoted_when_one_dies) {
  Served served;
  served.stage.master.stop(SIGKILL);
  served.expect_served_again();
}

TEST(RedisBySentinel, follows_the_master_that_is_promoted_when_one_hangs_and_wakes_up) {
  Served served;
  auto& master = served.stage.master;
  master.pause();
  served.expect_served_again();
  master.resume();
  ASSERT_TRUE(eventually([&] { return role_of(master) == "slave"; }, 40s));
  EXPECT_TRUE(is_served(served.one, served.origin));
  EXPECT_TRUE(is_served(served.other, served.origin));
}

TEST(RedisBySentinel, follows_the_master_that_is_promoted_when_one_is_cut_off) {
  Served served;
  served.stage.relay.hold();
  served.expect_served_again();
  served.stage.relay.pass();
  EXPECT_TRUE(is_served(served.one, served.origin));
}

/// It answers us and thinks that it is the master, while its sentinels have another one.
TEST(RedisBySentinel, leaves_a_master_that_is_cut_off_from_its_sentinels_alone) {
  Served served;
  auto& stage = served.stage;
  stage.relay.hold("penstock:");  // how our connections name themselves
  stage.promoted();
  served.expect_served_again();
  ASSERT_EQ(role_of(stage.master), "master");
  const auto before = stage.master.run({"GET", kWindow}).text;
  EXPECT_NE(before, "");
  EXPECT_TRUE(is_served(served.one, served.origin));
  EXPECT_TRUE(is_served(served.other, served.origin));
  EXPECT_EQ(stage.master.run({"GET", kWindow}).text, before);
}

/// The old master is demoted while it lives, and would go on answering.
TEST(RedisBySentinel, leaves_a_master_that_is_one_no_longer) {
  Served served;
  ASSERT_FALSE(served.stage.s1.server.run({"SENTINEL", "FAILOVER", "mymaster"}).is_error());
  served.expect_served_again();
}

/// Of a redis.url that names one sentinel alone.
TEST(RedisBySentinel, lets_clients_reach_no_server_that_it_knows_of) {
  SentinelStage stage;
  const Daemon daemon({.yaml = by_url("redis+sentinel://" + stage.s1.at() + "/mymaster")});
  ASSERT_TRUE(eventually([&] { return is_up(daemon); })) << daemon.diagnostics();
  ASSERT_TRUE(eventually([&] { return node_up(daemon, stage.s1.at()) == 1; }));
  for (const auto port : {stage.relay.port(), stage.replica_one.port(), stage.replica_two.port(),
                          stage.s1.server.port(), stage.s2.server.port(), stage.s3.server.port()})
    expect_denied(daemon.ask(get("http://127.0.0.1:" + std::to_string(port) + "/")), "");
}

TEST(RedisBySentinel, asks_the_next_sentinel_where_one_does_not_answer) {
  SentinelStage stage;
  const Closed closed;
  const Daemon daemon({.yaml = by_url("redis+sentinel://" + closed.host() + "," + stage.s2.at() + "/mymaster")});
  EXPECT_TRUE(eventually([&] { return is_up(daemon); })) << daemon.diagnostics();
}

TEST(RedisBySentinel, tells_which_servers_answer) {
  SentinelStage stage;
  const Daemon daemon({.yaml = by_url(stage.url())});
  ASSERT_TRUE(eventually([&] { return is_up(daemon); })) << daemon.diagnostics();
  EXPECT_EQ(node_up(daemon, "127.0.0.1:" + std::to_string(stage.relay.port())), 1);
  for (const auto* one : {&stage.s1, &stage.s2, &stage.s3})
    EXPECT_TRUE(eventually([&] { return node_up(daemon, one->at()) == 1; }));
  stage.s2.server.pause();
  EXPECT_TRUE(eventually([&] { return node_up(daemon, stage.s2.at()) == 0; })) << "one that hangs says nothing";
  EXPECT_TRUE(is_up(daemon));
  stage.s2.server.resume();
  EXPECT_TRUE(eventually([&] { return node_up(daemon, stage.s2.at()) == 1; }));
}

TEST(RedisBySentinel, is_looked_at_by_check_live) {
  const Folder folder;
  const test::RedisServer master;
  const SentinelProcess sentinel(folder.path, master.port(), 1);
  const std::string file = folder.path + "/penstock.yaml";
  const Closed closed;
  const auto hosts = sentinel.at() + "," + closed.host();
  std::ofstream(file) << "version: 1\n" << by_url("redis+sentinel://" + hosts + "/mymaster");
  const auto ended = run_program({"check", "--live", file});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, testing::HasSubstr("the sentinel at " + sentinel.at() + " answers\n"));
  EXPECT_THAT(ended.err, testing::HasSubstr("the sentinel at " + closed.host() +
                                            " does not answer; what it refuses is not known\n"));
  EXPECT_THAT(ended.out, testing::HasSubstr(" at redis+sentinel://" + hosts + "/mymaster/0, the master at " +
                                            "127.0.0.1:" + std::to_string(master.port()) + ", standalone"));
}

TEST(RedisBySentinel, logs_in_to_sentinels_that_want_it) {
  const Folder folder;
  const test::RedisServer master;
  const SentinelProcess sentinel(folder.path, master.port(), 1, "requirepass s3cret\n");
  const auto url = "redis+sentinel://" + sentinel.at() + "/mymaster";
  const Daemon without({.yaml = by_url(url)}), with({.yaml = by_url(url, ", sentinel: { password: s3cret }")});
  EXPECT_TRUE(comes_to_say(without,
                           "NOAUTH Authentication required. Set redis.sentinel.password, and redis.sentinel.user if it "
                           "is not the user default"))
      << without.diagnostics();
  EXPECT_TRUE(eventually([&] { return is_up(with); })) << with.diagnostics();
}

TEST(RedisBySentinel, names_a_sentinel_that_does_not_let_it_in_where_others_do) {
  const Folder folder, another;
  const test::RedisServer master;
  const SentinelProcess open(folder.path, master.port(), 1);
  const SentinelProcess closed(another.path, master.port(), 1, "requirepass s3cret\n");
  const Daemon daemon({.yaml = by_url("redis+sentinel://" + open.at() + "," + closed.at() + "/mymaster")});
  const std::string words = ": sentinel " + closed.at() +
                            ": NOAUTH Authentication required. Set redis.sentinel.password, and redis.sentinel.user if "
                            "it is not the user default";
  EXPECT_TRUE(comes_to_say(daemon, words)) << daemon.diagnostics();
  EXPECT_TRUE(eventually([&] { return is_up(daemon); })) << daemon.diagnostics();
  EXPECT_TRUE(throughout(1500ms, [&] { return lines_with(daemon.diagnostics(), words) == 1; })) << "once";
}

/// The rule of docs/limits.md, as it is printed there.
TEST(RedisBySentinel, needs_no_more_of_sentinels_than_the_rule_of_the_docs) {
  SentinelStage stage;
  const auto rule = acl_rule_of_the_docs(1);
  for (auto* one : {&stage.s1, &stage.s2, &stage.s3})
    ASSERT_FALSE(one->server.run({rule.begin(), rule.end()}).is_error());
  const Daemon daemon({.yaml = by_url(stage.url(), ", sentinel: { user: penstock, password: PASSWORD }")});
  ASSERT_TRUE(eventually([&] { return is_up(daemon); })) << daemon.diagnostics();
  for (auto* one : {&stage.s1, &stage.s2, &stage.s3}) {
    EXPECT_TRUE(eventually([&] { return node_up(daemon, one->at()) == 1; }));
    EXPECT_TRUE(throughout(1500ms, [&] { return node_up(daemon, one->at()) == 1; })) << "a ping later";
    EXPECT_THAT(refused_by(one->server), testing::ElementsAre("client|setname"));
  }
}

/// Redis and its sentinel have certificates of two authorities.
TEST(RedisBySentinel, speaks_tls_with_both) {
  const Folder folder;
  test::Authority of_redis, of_sentinels;
  const auto shown = of_redis.issue(), shown_by_sentinel = of_sentinels.issue();
  const test::HeldPort tls_port, sentinel_port;
  const auto options = [](const test::HeldPort& port, const test::Issued& certificate, const std::string& ca) {
    return std::vector<std::string>{"--tls-port",         std::to_string(port.number()),
                                    "--tls-cert-file",    certificate.certificate,
                                    "--tls-key-file",     certificate.key,
                                    "--tls-ca-cert-file", ca,
                                    "--tls-auth-clients", "no",
                                    "--tls-replication",  "yes"};
  };
  const test::RedisServer master(options(tls_port, shown, of_redis.file()));
  const SentinelProcess sentinel(folder.path, tls_port.number(), 1, "",
                                 options(sentinel_port, shown_by_sentinel, of_redis.file()));
  const auto url = "rediss+sentinel://127.0.0.1:" + std::to_string(sentinel_port.number()) + "/mymaster";
  const auto trusting = [](const test::Authority& authority) { return "tls: { ca: '" + authority.file() + "' }"; };
  const Daemon without({.yaml = by_url(url, ", " + trusting(of_redis))}),
      with({.yaml = by_url(url, ", " + trusting(of_redis) + ", sentinel: { " + trusting(of_sentinels) + " }")});
  EXPECT_TRUE(eventually([&] { return is_up(with); })) << with.diagnostics();
  EXPECT_TRUE(comes_to_say(without, "comes from an authority that is not trusted here")) << without.diagnostics();
}

TEST(RedisBySentinel, says_what_is_wrong_with_what_it_was_told) {
  const Folder folder;
  const test::RedisServer master;
  const SentinelProcess sentinel(folder.path, master.port(), 1);
  const Closed closed;
  const SentinelProcess elsewhere(folder.path, closed.port, 1);
  const Origin origin;
  const auto says = [&](const std::string& url, const std::string& words) {
    const Daemon daemon({.yaml = by_url(url)});
    EXPECT_TRUE(comes_to_say(daemon, words)) << daemon.diagnostics();
    EXPECT_EQ(daemon.ask(get(origin.url("/"))).status, 503) << "whenDown";
    EXPECT_TRUE(eventually([&] { return daemon.metric("penstock_redis_errors_total") >= 3; })) << "it is tried again";
    EXPECT_EQ(lines_with(daemon.diagnostics(), words), 1U) << daemon.diagnostics();
  };
  says("redis+sentinel://" + sentinel.at() + "/other",
       "sentinel " + sentinel.at() + ": it does not know the master 'other'");
  says("redis+sentinel://" + closed.host() + "/mymaster",
       "no sentinel says where the master is; sentinel " + closed.host() + ": Connection refused");
  says("redis+sentinel://" + elsewhere.at() + "/mymaster",
       "its sentinels say that the master is at " + closed.host() +
           ": Connection refused. If that address cannot be reached from here, name another one in `sentinel monitor`, "
           "and by replica-announce-ip and replica-announce-port at each Redis");
  says("redis+sentinel://127.0.0.1:" + std::to_string(master.port()) + "/mymaster",
       "it is no Sentinel: name its sentinels in redis.url, or write redis://HOST:6379 for this Redis alone");
  const test::RedisServer replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
  says("redis://127.0.0.1:" + std::to_string(replica.port()),
       "It is a replica: name its master in redis.url, or write redis+sentinel://HOST:26379/MASTER");
  says("redis://" + sentinel.at(), "it is a Sentinel: write redis+sentinel://HOST:26379/MASTER in redis.url");
}

}  // namespace
}  // namespace penstock::trial
