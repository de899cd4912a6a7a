// SPDX-License-Identifier: Apache-2.0
// Two nodes of a cluster that say what the test tells them to: which is asked for which key, and what becomes of calls
// that a node does not answer itself.
#include "redis/client/cluster.h"

#include <gmock/gmock.h>

#include <array>
#include <map>

#include "redis/cluster_fixture.h"

namespace penstock::redis {
namespace {

using ClusterTest = ClusterFixture;

/// Notes for which name the certificate at each port would have to be.
class NamesAsked final : public Network {
 public:
  std::unique_ptr<loop::Stream> dial(loop::Loop& loop, const Endpoint& there, const std::string& host,
                                     loop::StreamEvents& events) override {
    names[there.port] = host;
    return sockets().dial(loop, there, host, events);
  }
  std::unique_ptr<loop::Stream> dial_path(loop::Loop& loop, const std::string& path,
                                          loop::StreamEvents& events) override {
    return sockets().dial_path(loop, path, events);
  }
  std::uint64_t draw() override { return sockets().draw(); }
  std::map<std::uint16_t, std::string> names;
};

void says_nothing(test::Origin&, test::Socket& peer, int) {
  while (!next_command(peer).empty()) continue;
}

TEST_F(ClusterTest, asks_the_node_that_has_the_key_and_connects_to_no_other) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  EXPECT_EQ(answer_to(kLow), "first");
  EXPECT_EQ(nodes_[1].connections(), 0);
  EXPECT_TRUE(cluster_->up()) << "the other is not needed";
  EXPECT_THAT(found_, testing::Contains(Endpoint{"127.0.0.1", nodes_[1].port()})) << "but must be denied to clients";
  ASSERT_TRUE(comes_up(kHigh));
  EXPECT_EQ(answer_to(kHigh), "second");
  EXPECT_EQ(answer_to(kLow), "first");
}

TEST_F(ClusterTest, knows_nobody_before_it_knows_the_slots) {
  open();
  EXPECT_EQ(answer_to(kLow), "down");
  EXPECT_FALSE(cluster_->up());
}

TEST_F(ClusterTest, goes_where_a_key_has_moved_but_does_not_repeat_the_call_there) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  ASSERT_TRUE(comes_up(kHigh));
  const int moves = moves_;
  says(0, to_the_other("MOVED"));
  give_slots(static_cast<int>(slot_of(kLow)) - 1);
  EXPECT_EQ(answer_to(kLow), "!moved");
  EXPECT_EQ(moves_, moves + 1);
  EXPECT_EQ(downs_, 0);
  EXPECT_THAT(heard(1), testing::Not(testing::Contains("EVALSHA")));
  EXPECT_EQ(answer_to(kLow), "second");
}

TEST_F(ClusterTest, asks_the_other_node_once_where_the_slot_is_on_its_way) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  says(0, to_the_other("ASK"));
  EXPECT_EQ(answer_to(kLow), "!tryagain") << "the other is not connected yet";
  ASSERT_TRUE(comes_up(kHigh));
  EXPECT_EQ(answer_to(kLow), "second");
  EXPECT_THAT(last_heard(1), testing::ElementsAre("ASKING", "EVALSHA"));
  says(0, "+first\r\n");
  EXPECT_EQ(answer_to(kLow), "first") << "the map has not changed";
  says(0, to_the_other("ASK"));
  says(1, to_the_other("ASK"));
  EXPECT_EQ(answer_to(kLow), "!tryagain") << "it is not sent around";
  EXPECT_EQ(downs_, 0);
}

/// As each new master is, until the first slot is its own.
TEST_F(ClusterTest, asks_a_node_that_has_no_slot_yet) {
  tell_slots({{0, 16383, 0}});
  open();
  ASSERT_TRUE(comes_up(kLow));
  {
    const std::lock_guard lock(mutex_);
    tests_[1] = "-MOVED 5 127.0.0.1:" + std::to_string(nodes_[0].port()) + "\r\n";
  }
  says(0, to_the_other("ASK"));
  EXPECT_EQ(answer_to(kLow), "!tryagain") << "it is not connected yet";
  ASSERT_TRUE(run_.run_until([&] { return cluster_->nodes().size() == 2 && cluster_->up(); }));
  EXPECT_EQ(answer_to(kLow), "second");
  const int moves = moves_;
  says(0, "-TRYAGAIN Multiple keys\r\n");
  EXPECT_EQ(answer_to(kLow), "!tryagain");
  ASSERT_TRUE(run_.run_until([&] { return moves_ > moves; })) << "the next map has come";
  EXPECT_EQ(cluster_->nodes().size(), 2u) << "a map that does not name it is no reason to leave it";
  EXPECT_EQ(downs_, 0);
  EXPECT_THAT(notices_, testing::IsEmpty());
}

TEST_F(ClusterTest, says_which_right_a_node_without_slots_lacks) {
  tell_slots({{0, 16383, 0}});
  open();
  ASSERT_TRUE(comes_up(kLow));
  {
    const std::lock_guard lock(mutex_);
    tests_[1] = "-NOPERM this user has no permissions to run the 'evalsha' command\r\n";
  }
  says(0, to_the_other("ASK"));
  EXPECT_EQ(answer_to(kLow), "!tryagain");
  ASSERT_TRUE(run_.run_until([&] { return !notices_.empty(); }));
  EXPECT_THAT(notices_[0], testing::HasSubstr("ACL SETUSER default +evalsha"));
}

TEST_F(ClusterTest, says_that_it_may_not_run_asking) {
  asking_ = "-NOPERM this user has no permissions to run the 'asking' command\r\n";
  open();
  ASSERT_TRUE(run_.run_until([&] { return cluster_->server_for(slot_of(kLow)) && !notices_.empty(); }));
  EXPECT_THAT(notices_[0], testing::HasSubstr("may not run ASKING; to grant it: ACL SETUSER default +asking"));
  EXPECT_THAT(cluster_->lacks(), testing::ElementsAre("+asking"));
  {
    const std::lock_guard lock(mutex_);
    asking_ = "+OK\r\n";
  }
  EXPECT_TRUE(comes_up(kLow));
  EXPECT_THAT(cluster_->lacks(), testing::IsEmpty());
}

TEST_F(ClusterTest, says_that_it_may_not_ask_for_the_slots) {
  slots_[0] = "-NOPERM this user has no permissions to run the 'cluster|slots' command\r\n";
  open();
  ASSERT_TRUE(run_.run_until([&] { return !notices_.empty(); }));
  EXPECT_THAT(notices_[0], testing::HasSubstr("ACL SETUSER default +cluster|slots"));
  EXPECT_THAT(cluster_->lacks(), testing::ElementsAre("+cluster|slots"));
}

TEST_F(ClusterTest, tells_once_that_no_node_has_a_slot_and_asks_until_one_has) {
  tell_slots({{8192, 16383, 1}});
  open();
  ASSERT_TRUE(comes_up(kHigh));
  EXPECT_EQ(answer_to(kLow), "down");
  ASSERT_TRUE(run_.run_until([&] { return !notices_.empty(); }));
  const std::string slot = std::to_string(slot_of(kLow));
  EXPECT_THAT(notices_[0], testing::HasSubstr("(a Cluster): no node has slot " + slot + ", where keys of ours belong"));
  EXPECT_FALSE(cluster_->up()) << "what is needed does not answer";
  EXPECT_EQ(downs_, 1);
  EXPECT_THAT(failures_, testing::ElementsAre(FailureKind::unserved));
  EXPECT_EQ(answer_to(kHigh), "second") << "the others go on";
  const int before = maps();
  ASSERT_TRUE(run_.run_until([&] { return maps() > before + 1; }));
  EXPECT_THAT(notices_, testing::SizeIs(1));
  give_slots(8191);
  ASSERT_TRUE(comes_up(kLow));
  EXPECT_EQ(answer_to(kLow), "first");
  EXPECT_TRUE(cluster_->up());
  EXPECT_THAT(notices_, testing::ElementsAre(testing::_, testing::HasSubstr("has a node again")));
}

TEST_F(ClusterTest, tells_it_of_a_slot_that_is_taken_away) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  ASSERT_TRUE(comes_up(kHigh));
  tell_slots({{0, static_cast<int>(slot_of(kLow)) - 1, 0}, {8192, 16383, 1}});
  says(0, "-CLUSTERDOWN Hash slot not served\r\n");
  EXPECT_EQ(answer_to(kLow), "!unserved");
  ASSERT_TRUE(run_.run_until([&] { return cluster_->server_for(slot_of(kLow)) == nullptr && !notices_.empty(); }));
  EXPECT_THAT(notices_[0], testing::HasSubstr("no node has slot"));
  EXPECT_FALSE(cluster_->up());
}

TEST_F(ClusterTest, connects_to_none_for_a_mere_question) {
  open();
  ASSERT_TRUE(run_.run_until([&] { return moves_ > 0; }));
  EXPECT_EQ(cluster_->find_server(slot_of(kLow)), nullptr);
  EXPECT_THAT(cluster_->nodes(), testing::IsEmpty());
  const Redis* const redis = cluster_->server_for(slot_of(kLow));
  EXPECT_EQ(cluster_->find_server(slot_of(kLow)), redis);
}

/// What a node said after the question is younger than its answer.
TEST_F(ClusterTest, believes_no_map_that_is_older_than_what_a_node_said) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  ASSERT_TRUE(comes_up(kHigh));
  hold_maps(true);
  const int before = maps();
  says(0, "-TRYAGAIN Multiple keys\r\n");
  EXPECT_EQ(answer_to(kLow), "!tryagain");
  ASSERT_TRUE(run_.run_until([&] { return maps() > before; })) << "asks anew";
  says(0, to_the_other("MOVED"));
  EXPECT_EQ(answer_to(kLow), "!moved");
  EXPECT_EQ(answer_to(kLow), "second");
  const int moves = moves_;
  hold_maps(false);
  ASSERT_TRUE(run_.run_until([&] { return moves_ > moves; })) << "the answer has come";
  EXPECT_EQ(answer_to(kLow), "second");
  give_slots(static_cast<int>(slot_of(kLow)) - 1);
  const auto since = run_.loop.now();
  ASSERT_TRUE(run_.run_until([&] { return maps() > before + 1; })) << "asks once more";
  EXPECT_LT(run_.loop.now() - since, 4'000'000) << "and not when the next map is due";
}

TEST_F(ClusterTest, keeps_a_node_that_does_not_answer_for_one_slot) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  for (const auto* reply : {"-CLUSTERDOWN Hash slot not served\r\n", "-TRYAGAIN Multiple keys\r\n"}) {
    says(0, reply);
    EXPECT_THAT(answer_to(kLow), testing::AnyOf("!unserved", "!tryagain"));
    EXPECT_TRUE(cluster_->server_for(slot_of(kLow))->up());
  }
  EXPECT_EQ(downs_, 0);
}

TEST_F(ClusterTest, loses_one_node_and_keeps_the_other) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  ASSERT_TRUE(comes_up(kHigh));
  says(0, "-LOADING Redis is loading\r\n");
  EXPECT_EQ(answer_to(kLow), "!loading");
  EXPECT_EQ(downs_, 1);
  EXPECT_FALSE(cluster_->up());
  EXPECT_EQ(answer_to(kHigh), "second");
  EXPECT_THAT(failures_, testing::Contains(FailureKind::loading));
}

TEST_F(ClusterTest, receives_messages_at_one_node_and_at_another_when_that_is_gone) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  ASSERT_TRUE(run_.run_until([&] { return cluster_->subscribed(); }));
  ASSERT_TRUE(comes_up(kHigh));
  EXPECT_THAT(heard(1), testing::Not(testing::Contains("SUBSCRIBE")));
  says(0, "-LOADING Redis is loading\r\n");
  EXPECT_EQ(answer_to(kLow), "!loading");
  EXPECT_TRUE(run_.run_until([&] { return cluster_->subscribed(); }));
  EXPECT_THAT(heard(1), testing::Contains("SUBSCRIBE"));
}

TEST_F(ClusterTest, leaves_a_node_that_has_no_slots_any_more) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  ASSERT_TRUE(comes_up(kHigh));
  give_slots(-1);
  says(0, "-CLUSTERDOWN Hash slot not served\r\n");
  EXPECT_EQ(answer_to(kLow), "!unserved");
  ASSERT_TRUE(run_.run_until([&] {
    return cluster_->server_for(slot_of(kLow)) == cluster_->server_for(slot_of(kHigh));
  })) << "it has asked anew";
  EXPECT_EQ(answer_to(kLow), "second");
  EXPECT_TRUE(cluster_->up()) << "the other one does not count any more";
  EXPECT_EQ(cluster_->counts().of(FailureKind::unserved), 1u) << "what it counted does";
}

/// The only one that the configuration names. It still answers, and tells the slots that it had.
TEST_F(ClusterTest, believes_no_node_that_is_cut_off_from_the_others) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  const std::string before = slots_[0];
  give_slots(-1);
  {
    const std::lock_guard lock(mutex_);
    slots_[0] = before;
  }
  fails(0, "-CLUSTERDOWN The cluster is down\r\n");
  EXPECT_EQ(answer_to(kLow), "!clusterdown");
  EXPECT_EQ(downs_, 1);
  ASSERT_TRUE(comes_up(kLow)) << "at the other";
  EXPECT_EQ(answer_to(kLow), "second");
}

TEST_F(ClusterTest, says_how_an_outage_ends_that_a_node_leaves_by) {
  open();
  ASSERT_TRUE(comes_up(kLow));
  fails(0, "-LOADING Redis is loading\r\n");
  EXPECT_EQ(answer_to(kLow), "!loading");
  give_slots(-1);
  const std::string its = "Redis at 127.0.0.1:" + std::to_string(nodes_[0].port());
  EXPECT_TRUE(run_.run_until([&] { return notices_.size() > 1; }));
  EXPECT_THAT(notices_,
              testing::ElementsAre(its + " is down: LOADING Redis is loading", its + " is not needed any more"));
}

TEST_F(ClusterTest, says_why_it_learns_no_slots) {
  slots_[0] = "-ERR This instance has cluster support disabled\r\n";
  open();
  ASSERT_TRUE(run_.run_until([&] { return !notices_.empty(); }));
  EXPECT_THAT(notices_[0], testing::HasSubstr("it is no Redis Cluster: write redis:// in redis.url"));
  EXPECT_THAT(failures_, testing::Contains(FailureKind::unsupported));
}

TEST_F(ClusterTest, verifies_a_node_by_its_address_where_the_url_has_that_and_otherwise_by_the_host_of_the_seed) {
  config_.tls = RedisTlsConfig{};
  config_.host = "localhost";
  const auto seed = nodes_[0].port(), other = nodes_[1].port();
  for (const std::string name : {"localhost", "127.0.0.1"}) {
    config_.cluster = {{"localhost", seed}};
    if (name != "localhost") config_.cluster.push_back({name, other});
    NamesAsked network;
    open(network);
    EXPECT_TRUE(run_.run_until([&] { return !cluster_->nodes().empty() || cluster_->server_for(slot_of(kHigh)); }));
    EXPECT_TRUE(comes_up(kHigh));
    EXPECT_EQ(network.names[other], name);
    cluster_.reset();
  }
}

/// Which node a call is sent on to over TLS, where it has no slot yet, so that no map says for which name its
/// certificate is.
class NodeWithoutSlots : public ClusterFixture {
 protected:
  /// The other node has all slots, and announces that name, or none.
  void tell_slots_of_one(const std::string& name) {
    const auto text = [](const std::string& words) {
      return "$" + std::to_string(words.size()) + "\r\n" + words + "\r\n";
    };
    const std::string named = name.empty() ? "*0\r\n" : "*2\r\n" + text("hostname") + text(name);
    const std::lock_guard lock(mutex_);
    slots_[0] = slots_[1] = "*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n" + text("127.0.0.1") + ":" +
                            std::to_string(nodes_[0].port()) + "\r\n" + text("an-id") + named;
  }
  /// The name for which the certificate at the other node would have to be; empty: it is not called.
  std::string name_asked_for(const std::string& announced, const std::string& told) {
    config_.tls = RedisTlsConfig{};
    config_.host = "localhost";
    config_.cluster = {{"localhost", nodes_[0].port()}};
    tell_slots_of_one(announced);
    NamesAsked network;
    open(network);
    EXPECT_TRUE(comes_up(kLow));
    const auto slot = std::to_string(slot_of(kLow));
    says(0, "-ASK " + slot + " " + told + ":" + std::to_string(nodes_[1].port()) + "\r\n");
    EXPECT_EQ(answer_to(kLow), "!tryagain") << "it is not connected yet";
    const int moves = moves_;
    EXPECT_TRUE(run_.run_until([&] { return moves_ > moves; })) << "the next map has come";
    cluster_.reset();
    return network.names[nodes_[1].port()];
  }
};

TEST_F(NodeWithoutSlots, is_verified_as_the_others_are_where_none_announces_a_name) {
  EXPECT_EQ(name_asked_for("", "127.0.0.1"), "localhost");
}

TEST_F(NodeWithoutSlots, is_verified_by_the_name_that_is_told) {
  EXPECT_EQ(name_asked_for("node0.internal", "localhost"), "localhost");
}

TEST_F(NodeWithoutSlots, is_not_called_where_the_others_announce_names_and_its_address_is_told) {
  EXPECT_EQ(name_asked_for("node0.internal", "127.0.0.1"), "");
}

/// Requests wait for the first map, so a question for it must end, and the next one is put to other nodes.
TEST_F(ClusterTest, does_not_wait_for_all_hosts_at_once_where_none_answers) {
  std::array<test::Origin, 3> silent{test::Origin(says_nothing), test::Origin(says_nothing),
                                     test::Origin(says_nothing)};
  config_.cluster.clear();
  for (const auto& one : silent) config_.cluster.push_back({"127.0.0.1", one.port()});
  config_.cluster.push_back({"127.0.0.1", nodes_[0].port()});
  open();
  EXPECT_TRUE(comes_up(kLow));
  ASSERT_FALSE(failures_.empty()) << "after three that are silent it has given up once";
  EXPECT_EQ(failures_.front(), FailureKind::timeout);
  cluster_.reset();
}

}  // namespace
}  // namespace penstock::redis
