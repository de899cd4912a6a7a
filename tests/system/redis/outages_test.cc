// SPDX-License-Identifier: Apache-2.0
// Each outage of Redis over each way to it: plain, TLS, by Sentinel, a Cluster. Whatever happens, two daemons together
// never pass a limit, no request waits for Redis, and both are at work again afterwards.
#include <gmock/gmock.h>

#include <memory>
#include <ostream>

#include "support/tls_authority.h"
#include "system/cluster_stage.h"
#include "system/sentinel_stage.h"

namespace penstock::trial {
namespace {

constexpr int kLimit = 32;
/// kShort where Redis goes silent; kLong elsewhere, for a busy machine may itself be late with a call and its answer.
constexpr std::chrono::milliseconds kShort = 300ms, kLong = 3s;

/// A Redis behind a relay, and how it is reached.
class RedisWay {
 public:
  virtual ~RedisWay() = default;
  /// The keys of `redis`.
  virtual std::string keys() const = 0;
  virtual test::RedisServer& redis() = 0;
  virtual Relay& relay() = 0;
  /// Another Redis takes over where this one does not answer.
  virtual bool has_another() const { return false; }
  /// Waits until one has, and says where it is.
  virtual std::string another() { return ""; }
  virtual void demote() { redis().run({"REPLICAOF", "127.0.0.1", "1"}); }
  virtual void promote() { redis().run({"REPLICAOF", "NO", "ONE"}); }
  virtual void hold() { relay().hold(); }
  virtual void pass() { relay().pass(); }
};

class PlainWay final : public RedisWay {
  std::string keys() const override { return "url: 'redis://127.0.0.1:" + std::to_string(relay_.port()) + "'"; }
  test::RedisServer& redis() override { return redis_; }
  Relay& relay() override { return relay_; }

  test::RedisServer redis_;
  Relay relay_{redis_.port()};
};

class TlsWay final : public RedisWay {
  std::string keys() const override {
    return "url: 'rediss://127.0.0.1:" + std::to_string(relay_.port()) + "', tls: { ca: '" + authority_.file() + "' }";
  }
  test::RedisServer& redis() override { return redis_; }
  Relay& relay() override { return relay_; }

  test::Authority authority_;
  const test::Issued shown_ = authority_.issue();
  const test::HeldPort port_;
  test::RedisServer redis_{{"--tls-port", std::to_string(port_.number()), "--tls-cert-file", shown_.certificate,
                            "--tls-key-file", shown_.key, "--tls-ca-cert-file", authority_.file(), "--tls-auth-clients",
                            "no"}};
  Relay relay_{port_.number()};
};

class SentinelWay final : public RedisWay {
  std::string keys() const override { return "url: '" + stage_.url() + "'"; }
  test::RedisServer& redis() override { return stage_.master; }
  Relay& relay() override { return stage_.relay; }
  bool has_another() const override { return true; }
  std::string another() override { return "127.0.0.1:" + std::to_string(stage_.promoted().port()); }
  void demote() override { stage_.s1.server.run({"SENTINEL", "FAILOVER", "mymaster"}); }
  void promote() override {}

  SentinelStage stage_;
};

/// The Redis is the node that has the slot of the upstream.
class ClusterWay final : public RedisWay {
  std::string keys() const override { return nodes_.keys(); }
  test::RedisServer& redis() override { return nodes_[its_].server; }
  Relay& relay() override { return *nodes_[its_].relay; }
  bool has_another() const override { return true; }
  std::string another() override {
    EXPECT_TRUE(eventually([&] { return replica().is_master(); }, 40s)) << replica().info("replication");
    return replica().at();
  }
  /// A replica gives up after 5 s where its master does not stop in time, and is to be told again.
  void demote() override {
    for (int tries = 4; tries > 0 && !replica().is_master(); --tries) {
      EXPECT_TRUE(eventually([&] { return !replica().server.run({"CLUSTER", "FAILOVER"}).is_error(); }));
      eventually([&] { return replica().is_master(); }, 6s);
    }
  }
  void promote() override {}
  void hold() override { nodes_.cut_off(its_, true); }
  void pass() override { nodes_.join_again(); }
  ClusterNode& replica() { return nodes_.replica_of(its_); }

  ClusterNodes nodes_{ClusterNodes::Reached::through_relays};
  const std::size_t its_ = nodes_.owner("penstock:{api}:head");
};

/// What tells that an outage really was: an error of that kind, or another generation of the limits.
constexpr std::string_view kNewGeneration = "generation", kNothing = "";

struct Outage {
  std::string_view name, trace;
  void (*begins)(RedisWay&);
  void (*ends)(RedisWay&);
  bool another = true;  ///< it makes another Redis take over, where there is one
  std::chrono::milliseconds timeout = kLong;
};
void PrintTo(const Outage& outage, std::ostream* out) { *out << outage.name; }

const Outage kOutages[] = {
    {"killed", "lost", [](RedisWay& way) { way.redis().stop(SIGKILL); },
     [](RedisWay& way) {
       if (!way.has_another()) way.redis().start();
     }},
    {"stopped", "timeout", [](RedisWay& way) { way.redis().pause(); }, [](RedisWay& way) { way.redis().resume(); },
     true, kShort},
    {"flushed", kNewGeneration, [](RedisWay& way) { way.redis().run({"FLUSHALL"}); }, [](RedisWay&) {}, false},
    {"scripts_flushed", kNothing,
     [](RedisWay& way) {
       way.redis().run({"SCRIPT", "FLUSH"});
       EXPECT_NE(way.redis().run({"INFO", "memory"}).text.find("number_of_cached_scripts:0"), std::string::npos);
     },
     [](RedisWay&) {}, false},
    {"restarted_empty", kNewGeneration, [](RedisWay& way) { way.redis().restart_empty(); }, [](RedisWay&) {}, false},
    {"out_of_memory", "oom",
     [](RedisWay& way) {
       way.redis().run({"CONFIG", "SET", "maxmemory", "1"});
     },
     [](RedisWay& way) {
       way.redis().run({"CONFIG", "SET", "maxmemory", "0"});
     },
     false},
    {"read_only", "readonly", [](RedisWay& way) { way.demote(); }, [](RedisWay& way) { way.promote(); }},
    {"slow", "timeout", [](RedisWay& way) { way.relay().slow_down(3 * kShort); },
     [](RedisWay& way) { way.relay().pass(); }, false, kShort},
    {"reset", "lost", [](RedisWay& way) { way.relay().reset(); }, [](RedisWay&) {}, false},
    {"black_hole", "timeout", [](RedisWay& way) { way.hold(); }, [](RedisWay& way) { way.pass(); }, true, kShort},
};

using Ways = std::pair<std::string_view, std::unique_ptr<RedisWay> (*)()>;
const Ways kWays[] = {
    {"plain", [] -> std::unique_ptr<RedisWay> { return std::make_unique<PlainWay>(); }},
    {"tls", [] -> std::unique_ptr<RedisWay> { return std::make_unique<TlsWay>(); }},
    {"sentinel", [] -> std::unique_ptr<RedisWay> { return std::make_unique<SentinelWay>(); }},
    {"cluster", [] -> std::unique_ptr<RedisWay> { return std::make_unique<ClusterWay>(); }},
};

class RedisOutages : public testing::TestWithParam<std::tuple<Ways, Outage>> {
 protected:
  std::string yaml() const {
    return "redis: { timeout: " + std::to_string(std::get<1>(GetParam()).timeout.count()) + "ms, whenDown: refuse, " +
           way_->keys() +
           " }\nupstreams: { api: { match: 127.0.0.1, limits: [ { window: { reservoir: " + std::to_string(kLimit) +
           ", interval: 366d, mode: refuse } } ] } }\n";
  }
  int ask(const Daemon& daemon) {
    const auto since = Clock::now();
    const int status = daemon.ask(get(origin_.url("/"))).status;
    EXPECT_TRUE(within(2 * kShort + kLate, since)) << "no request waits longer for Redis";
    passed_ += status == 200 ? 1 : 0;
    return status;
  }
  /// Which began at the first use, or when Redis had lost its memory.
  std::string generation() const {
    const auto head = way_->redis().run({"GET", "penstock:{api}:head"}).text;  // "2 GENERATION …"
    return head.substr(0, head.find(' ', 2));
  }
  static bool is_at_work(const Daemon& daemon) { return is_up(daemon) && !is_degraded(daemon); }

  const std::unique_ptr<RedisWay> way_ = std::get<0>(GetParam()).second();
  Origin origin_;
  int passed_ = 0;
};

TEST_P(RedisOutages, pass_no_limit_hold_up_no_request_and_end) {
  const Outage& outage = std::get<1>(GetParam());
  const Daemon one({.yaml = yaml()}), other({.yaml = yaml()});
  for (const auto* daemon : {&one, &other}) {
    ASSERT_TRUE(eventually([&] { return is_at_work(*daemon); })) << daemon->diagnostics();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(ask(*daemon), 200);
  }
  // A Redis that takes over within a horizon of departures may count these twice: all eight, if it came now.
  for (const auto* daemon : {&one, &other}) ASSERT_TRUE(has_told_redis(*daemon)) << "that they have left, by each";

  const auto before = generation();
  outage.begins(*way_);
  const bool goes_over = way_->has_another() && outage.another;
  const int until_then = passed_;
  for (int i = 0; i < 3; ++i)
    for (const auto* daemon : {&one, &other}) EXPECT_THAT(ask(*daemon), testing::AnyOf(200, 503));
  const int just_before = goes_over ? passed_ - until_then : 0;  // the other Redis may count these twice
  // The old one may go on answering for a while; what counts is what happens at the other.
  if (goes_over) {
    const auto another = way_->another();
    for (const auto* daemon : {&one, &other}) {
      EXPECT_TRUE(eventually([&] { return speaks_to(*daemon, another) && is_at_work(*daemon); }, 40s))
          << daemon->diagnostics();
      EXPECT_TRUE(eventually([&] { return ask(*daemon) == 200; })) << daemon->diagnostics();
    }
  }
  const bool leaves_error = !goes_over && outage.trace != kNothing && outage.trace != kNewGeneration;
  for (const auto* daemon : {&one, &other}) {
    if (leaves_error) {
      EXPECT_TRUE(eventually([&] { return errors(*daemon, outage.trace) > 0; })) << daemon->diagnostics();
    }
  }
  outage.ends(*way_);

  for (const auto* daemon : {&one, &other})
    EXPECT_TRUE(eventually([&] { return is_at_work(*daemon); }, 40s)) << daemon->diagnostics();
  // What was spent before is spent now, whatever Redis has forgotten.
  for (const auto* daemon : {&one, &other}) {
    EXPECT_TRUE(eventually([&] { return ask(*daemon) == 429; })) << daemon->diagnostics();
    EXPECT_EQ(ask(*daemon), 429);
  }
  if (outage.trace == kNewGeneration) {
    EXPECT_NE(generation(), before);
  }
  EXPECT_LE(passed_, kLimit);
  EXPECT_GE(passed_, kLimit - 8 - just_before) << "units that were booked over connections that were lost";
}

INSTANTIATE_TEST_SUITE_P(Each, RedisOutages, testing::Combine(testing::ValuesIn(kWays), testing::ValuesIn(kOutages)),
                         [](const auto& param) {
                           return std::string(std::get<0>(param.param).first) + "_" +
                                  std::string(std::get<1>(param.param).name);
                         });

}  // namespace
}  // namespace penstock::trial
