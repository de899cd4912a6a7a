// SPDX-License-Identifier: Apache-2.0
// A Redis that cannot be used as it is: what to do is said in one sentence, once, and whenDown holds meanwhile. Over
// TLS the same is in tls_test.cc, of sentinels in sentinel_test.cc, of a Cluster in cluster_test.cc.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <ostream>

#include "support/name_server.h"
#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

std::string refusing_without(const std::string& url) {
  return "redis: { timeout: 3s, whenDown: refuse, url: '" + url +
         "' }\nupstreams: { api: { match: 127.0.0.1, limits: [ { window: { reservoir: 1000, interval: 24h } } ] } }\n";
}

/// It is said once, however often Redis was tried.
void expect_told_once(const Daemon& daemon, const Origin& origin, const std::string& words, std::string_view kind) {
  EXPECT_TRUE(comes_to_say(daemon, words)) << daemon.diagnostics();
  EXPECT_EQ(daemon.ask(get(origin.url("/"))).status, 503);
  EXPECT_TRUE(eventually([&] { return errors(daemon, kind) >= 3; })) << kind << daemon.diagnostics();
  EXPECT_FALSE(is_up(daemon));
  EXPECT_EQ(lines_with(daemon.diagnostics(), " is down: "), 1U) << daemon.diagnostics();
}

void expect_served_in_the_end(const Daemon& daemon, const Origin& origin) {
  EXPECT_TRUE(eventually([&] { return is_up(daemon); })) << daemon.diagnostics();
  EXPECT_TRUE(eventually([&] { return daemon.ask(get(origin.url("/"))).status == 200; })) << daemon.diagnostics();
}

TEST(WrongRedis, a_replica_is_told_to_be_one) {
  const test::RedisServer master;
  test::RedisServer replica({"--replicaof", "127.0.0.1", std::to_string(master.port())});
  const Origin origin;
  const Daemon daemon({.yaml = refusing_without(replica.url())});
  expect_told_once(
      daemon, origin,
      "READONLY You can't write against a read only replica. It is a replica: name its master in redis.url, "
      "or write redis+sentinel://HOST:26379/MASTER",
      "readonly");
  ASSERT_FALSE(replica.run({"REPLICAOF", "NO", "ONE"}).is_error());
  expect_served_in_the_end(daemon, origin);
}

/// What an old one lacks is taken from a newer one.
TEST(WrongRedis, an_old_one_is_told_to_lack_commands) {
  const test::RedisServer old({"--rename-command", "PEXPIRE", "", "--rename-command", "ZCOUNT", ""});
  const Origin origin;
  const Daemon daemon({.yaml = refusing_without(old.url())});
  EXPECT_TRUE(
      comes_to_say(daemon, "it has no command named PEXPIRE, ZCOUNT: it is too old, or rename-command took them away"))
      << daemon.diagnostics();
  EXPECT_TRUE(throughout(1500ms, [&] { return !is_up(daemon); })) << "it is tried again and again";
  EXPECT_EQ(daemon.ask(get(origin.url("/"))).status, 503);
  EXPECT_EQ(lines_with(daemon.diagnostics(), " is down: "), 1U) << daemon.diagnostics();
}

TEST(WrongRedis, a_name_that_is_not_found_is_told_and_one_that_moves_is_followed) {
  std::atomic<int> last = 0;
  const test::NameServer names(
      [&last](const std::string&, std::uint16_t type) -> std::optional<test::NameServer::Reply> {
        if (last == 0) return test::NameServer::Reply{.rcode = test::NameServer::kNxdomain};
        if (type != test::NameServer::kA) return test::NameServer::Reply{};
        return test::NameServer::Reply{.addresses = {"127.0.0." + std::to_string(last.load())}, .ttl = 1};
      });
  test::RedisServer here;
  const std::string port = std::to_string(here.port());
  const Origin origin;
  const Daemon daemon(
      {.yaml = "dns: { servers: [\"" + names.address() + "\"] }\n" + refusing_without("redis://redis.test:" + port)});
  expect_told_once(daemon, origin, "redis.test:" + port + " is down: its name is not found", "unreachable");
  last = 1;
  expect_served_in_the_end(daemon, origin);
  here.stop(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_up(daemon); }));
  EXPECT_EQ(daemon.ask(get(origin.url("/"))).status, 503);
  const test::RedisServer there({"--bind", "127.0.0.9", "--port", port});
  last = 9;
  expect_served_in_the_end(daemon, origin);
}

/// Names redis.test: the last number of its address on loopback, which may change. Answers may be kept for a second.
class MovingName {
 public:
  void move_to(int last) { last_ = last; }
  std::string dns() const { return "dns: { servers: [\"" + names_.address() + "\"] }\n"; }

 private:
  std::atomic<int> last_ = 1;
  const test::NameServer names_{
      [this](const std::string&, std::uint16_t type) -> std::optional<test::NameServer::Reply> {
        if (type != test::NameServer::kA) return test::NameServer::Reply{};
        return test::NameServer::Reply{.addresses = {"127.0.0." + std::to_string(last_.load())}, .ttl = 1};
      }};
};

struct Meanwhile {
  std::string_view when_down;
  std::size_t over;  ///< by at most; with `share` the unheard: what the other took since a process had an answer
};
void PrintTo(const Meanwhile& meanwhile, std::ostream* out) { *out << meanwhile.when_down; }

class MovedRedis : public testing::TestWithParam<Meanwhile> {};

/// The new one is empty: it counts as one that has lost its memory.
TEST_P(MovedRedis, is_followed_by_all_under_load_and_what_was_spent_counts) {
  constexpr std::size_t kMost = 300, kLostAtMost = 8;  // booked by calls to which no answer came
  const std::size_t at_most = kMost + GetParam().over;
  MovingName name;
  test::RedisServer here;
  const std::string port = std::to_string(here.port());
  const Origin origin;
  const std::string yaml = name.dns() + "redis: { timeout: 3s, whenDown: " + std::string(GetParam().when_down) +
                           ", url: 'redis://redis.test:" + port +
                           "' }\nupstreams: { api: { match: 127.0.0.1, limits: [ { pacer: { qps: 50 } }, { window: { "
                           "reservoir: " +
                           std::to_string(kMost) + ", interval: 366d, mode: refuse } } ] } }\n";
  const Daemon one({.yaml = yaml}), other({.yaml = yaml});
  const auto both = [&](const std::function<bool(const Daemon&)>& is_so) {
    return eventually([&] { return is_so(one) && is_so(other); });
  };
  ASSERT_TRUE(both([](const Daemon& daemon) { return is_up(daemon) && !is_degraded(daemon); }));
  Load load({one.port(), other.port()}, origin.url());
  ASSERT_TRUE(origin.await(50));

  here.stop(SIGKILL);
  EXPECT_TRUE(both([](const Daemon& daemon) { return !is_up(daemon); })) << one.diagnostics() << other.diagnostics();
  test::RedisServer there({"--bind", "127.0.0.9", "--port", port});
  name.move_to(9);
  EXPECT_TRUE(both([](const Daemon& daemon) { return is_up(daemon) && !is_degraded(daemon); }))
      << one.diagnostics() << other.diagnostics();

  EXPECT_TRUE(eventually([&] { return origin.count() + kLostAtMost >= kMost; })) << origin.count();
  const auto refuses = [](const Daemon& daemon) { return daemon.metric("penstock_refusals_total") > 0; };
  EXPECT_TRUE(both(refuses)) << "each knows that nothing is left";
  EXPECT_TRUE(throughout(500ms, [&] { return origin.count() <= at_most; })) << origin.count();
  for (const auto& [words, count] : load.stop().by_words)
    EXPECT_THAT(words, testing::AnyOf(testing::StartsWith("200 "), testing::StartsWith("429 "),
                                      testing::HasSubstr("(limited by window)")))
        << count;  // the last is of those that were in line when the window was spent
  EXPECT_THAT(there.run({"GET", "penstock:{api}:head"}).text, testing::StartsWith("2 ")) << "limits are kept there";
  for (const Daemon* daemon : {&one, &other}) {
    const std::string said = daemon->diagnostics();
    EXPECT_EQ(lines_with(said, "Redis at redis.test:" + port + " is down: "), 1U) << said;
    EXPECT_EQ(lines_with(said, "Redis at redis.test:" + port + " is up again, after "), 1U) << said;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, MovedRedis, testing::Values(Meanwhile{"wait", 0}, Meanwhile{"share", 5}),
                         [](const auto& param) { return std::string(param.param.when_down); });

/// The cause that keeps it away is told when it appears, not only the one that took it away.
TEST(WrongRedis, that_comes_back_with_another_password_is_told_at_once) {
  test::RedisServer redis;
  const Origin origin;
  const Daemon daemon({.yaml = refusing_without(redis.url())});
  expect_served_in_the_end(daemon, origin);
  redis.stop(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !is_up(daemon); })) << daemon.diagnostics();
  const test::RedisServer other({"--port", std::to_string(redis.port()), "--requirepass", "s3cret"});
  EXPECT_TRUE(comes_to_say(daemon, "NOAUTH Authentication required. Set redis.password")) << daemon.diagnostics();
  EXPECT_TRUE(eventually([&] { return errors(daemon, "noauth") >= 3; })) << daemon.diagnostics();
  EXPECT_EQ(daemon.ask(get(origin.url("/"))).status, 503);
  EXPECT_EQ(lines_with(daemon.diagnostics(), "NOAUTH"), 1U) << daemon.diagnostics();
  EXPECT_EQ(lines_with(daemon.diagnostics(), " is down: "), 2U) << daemon.diagnostics();
}

/// As of a new user who was forgotten: nothing can be asked.
TEST(WrongRedis, whose_user_may_call_no_script_is_told_once) {
  test::RedisServer redis;
  ASSERT_FALSE(
      redis.run({"ACL", "SETUSER", "penstock", "on", ">PASSWORD", "~*", "&*", "+@all", "-evalsha"}).is_error());
  const Origin origin;
  const Daemon daemon(
      {.yaml = refusing_without("redis://penstock:PASSWORD@127.0.0.1:" + std::to_string(redis.port()))});
  expect_told_once(daemon, origin, "to grant it: ACL SETUSER penstock +evalsha", "noperm");
  ASSERT_FALSE(redis.run({"ACL", "SETUSER", "penstock", "+evalsha"}).is_error());
  expect_served_in_the_end(daemon, origin);
}

}  // namespace
}  // namespace penstock::trial
