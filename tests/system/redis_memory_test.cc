// SPDX-License-Identifier: Apache-2.0
// A Redis that forgets, or remembers what is not ours: flushed, restarted empty, a key evicted, values corrupt or
// foreign, answers that make no sense, two configurations at once.
#include <gmock/gmock.h>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

using testing::Each;
using testing::Le;

constexpr auto kWindow = 500ms;

/// Three daemons under full load, of which each knows of the others.
struct ThreeAtWork : SharedStage {
  explicit ThreeAtWork(Shared given) : SharedStage(std::move(given)) {
    for (int i = 0; i < 3; ++i) add();
    load = std::make_unique<Load>(ports(), origin.url(), 12);
    expect_acquainted();
  }
  /// A window has begun, and is spent.
  void await_spent(std::size_t most) {
    const auto window = [] { return std::chrono::system_clock::now().time_since_epoch() / kWindow; };
    const auto now = window();
    ASSERT_TRUE(eventually([&] { return window() > now; }));
    ASSERT_TRUE(eventually([&] {
      const auto counts = per_window(arrivals.times(), kWindow);
      return !counts.empty() && counts.back() >= most && arrivals.times().back().time_since_epoch() / kWindow > now;
    }));
  }
  std::unique_ptr<Load> load;
};

TEST(LostMemory, of_a_window_under_full_load_lets_nothing_through_twice) {
  ThreeAtWork stage({.limits = "window: { reservoir: 30, interval: 500ms }"});
  for (int i = 0; i < 2; ++i) {
    stage.await_spent(30);
    stage.redis.run({"FLUSHALL"});
  }
  stage.await_spent(30);
  stage.load->stop();
  const auto counts = per_window(stage.arrivals.times(), kWindow);
  EXPECT_THAT(counts, Each(Le(30u)));
  EXPECT_GE(std::ranges::count(counts, 30u), static_cast<std::ptrdiff_t>(counts.size()) - 2) << "nor loses a window";
  for (const auto& daemon : stage.daemons) EXPECT_EQ(errors(daemon, "corrupt"), 0);
}

TEST(LostMemory, of_a_pacer_under_full_load_lets_no_burst_through) {
  ThreeAtWork stage({.limits = "pacer: { qps: 200, maxBurst: 50 }"});
  const auto before = stage.arrivals.count();
  stage.redis.run({"FLUSHALL"});
  ASSERT_TRUE(stage.arrivals.await(before + 200));
  stage.load->stop();
  auto times = stage.arrivals.times();
  times.erase(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_LE(fullest(times, 250ms), 75u) << "50 and what arrives late, but not another 50 at once";
}

TEST(LostMemory, by_a_restart_lets_nothing_through_twice) {
  // By `share` those who had left others a part of theirs would take it back while Redis is away.
  ThreeAtWork stage({.limits = "window: { reservoir: 30, interval: 500ms }", .when_down = "hold"});
  stage.await_spent(30);
  stage.redis.restart_empty();
  const auto since = Clock::now();
  for (const auto& daemon : stage.daemons) expect_back(daemon, since);
  stage.await_spent(30);
  stage.await_spent(30);
  stage.load->stop();
  EXPECT_THAT(per_window(stage.arrivals.times(), kWindow), Each(Le(30u)));
}

TEST(LostMemory, of_one_key_costs_one_burst_at_most) {
  SharedStage stage({.limits = "window: { reservoir: 20, interval: 500ms }"});
  const Daemon &a = stage.add(), &b = stage.add();
  Load load(stage.ports(), stage.origin.url(), 8);
  ASSERT_TRUE(stage.arrivals.await(41));
  stage.redis.run({"DEL", stage.key("window")});
  ASSERT_TRUE(stage.arrivals.await(stage.arrivals.count() + 61));
  const auto answers = load.stop();
  EXPECT_EQ(answers.by_status.size(), 1u);
  const auto counts = per_window(stage.arrivals.times(), kWindow);
  EXPECT_THAT(counts, Each(Le(40u)));
  EXPECT_LE(std::ranges::count_if(counts, [](auto count) { return count > 20; }), 1);
  EXPECT_GT(stage.redis.run({"PTTL", stage.key("window")}).integer, 0) << "with a TTL as ever";
  for (const auto* each : {&a, &b}) EXPECT_EQ(each->metric("penstock_redis_errors_total"), 0);
}

TEST(OneForeignValue, leaves_all_other_limits_shared) {
  SharedStage stage({.limits = "pacer: { qps: 1000 }\n- window: { reservoir: 20, interval: 500ms }"});
  const Daemon &a = stage.add(), &b = stage.add();
  stage.redis.run({"SET", stage.key("pacer"), "hello"});
  Load load(stage.ports(), stage.origin.url(), 8);
  ASSERT_TRUE(eventually([&] { return is_degraded(a) && is_degraded(b); }));
  ASSERT_TRUE(stage.arrivals.await(stage.arrivals.count() + 61));
  EXPECT_TRUE(is_degraded(a) && is_degraded(b)) << "as long as it is there";
  stage.redis.run({"DEL", stage.key("pacer")});
  EXPECT_TRUE(eventually([&] { return !is_degraded(a) && !is_degraded(b); }));
  ASSERT_TRUE(stage.arrivals.await(stage.arrivals.count() + 41));
  EXPECT_EQ(load.stop().by_status.size(), 1u);
  EXPECT_THAT(per_window(stage.arrivals.times(), kWindow), Each(Le(20u)));
  for (const auto* each : {&a, &b}) EXPECT_EQ(lines_with(each->diagnostics(), "CORRUPT"), 1u) << each->diagnostics();
}

struct Foreign {
  std::string_view name, limit, key;
  std::vector<std::string> value;  ///< a command but for its key, which comes second
  bool apart = true;               ///< the limit goes by `whenDown` alone
};
void PrintTo(const Foreign& foreign, std::ostream* out) { *out << foreign.name; }

class ForeignValue : public testing::TestWithParam<Foreign> {};

TEST_P(ForeignValue, is_reported_and_counted_and_whenDown_holds_until_it_is_gone) {
  const auto& [name, limit, key, value, apart] = GetParam();
  SharedStage stage({.limits = std::string(limit), .when_down = "refuse"});
  const Daemon& daemon = stage.add();
  EXPECT_EQ(stage.fetch(daemon).status, 200);
  const std::string full = stage.key(key);
  std::vector<std::string_view> command{value[0], full};
  for (std::size_t i = 1; i < value.size(); ++i) command.push_back(value[i]);
  stage.redis.run({"DEL", full});
  ASSERT_FALSE(stage.redis.run(command).is_error());

  const Reply refused = stage.fetch(daemon);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.error(), "destination_unavailable");
  EXPECT_GE(errors(daemon, "corrupt"), 1) << daemon.admin("/metrics").body;
  EXPECT_TRUE(comes_to_say(daemon, "CORRUPT " + full)) << daemon.diagnostics();
  EXPECT_THAT(refused.field("proxy-status"),
              testing::HasSubstr("limits cannot be asked (" + std::string(apart ? key : "redis") + ")"));
  EXPECT_EQ(is_degraded(daemon), apart);
  EXPECT_TRUE(is_up(daemon)) << "it is this one value that is wrong";
  const auto left = stage.redis.run({"PTTL", full}).integer;
  EXPECT_GT(left, 0) << "not poisoned for ever";
  EXPECT_LE(left, 60'000);

  stage.redis.run({"DEL", full});
  EXPECT_TRUE(eventually([&] { return stage.fetch(daemon).status == 200; }));
  EXPECT_FALSE(is_degraded(daemon));
  EXPECT_TRUE(!apart || comes_to_say(daemon, "limit " + std::string(key) + " of api is shared again"));
}

INSTANTIATE_TEST_SUITE_P(
    Each, ForeignValue,
    testing::Values(
        Foreign{"pacer_text", "pacer: { qps: 1000 }", "pacer", {"SET", "hello"}},
        Foreign{"pacer_of_tomorrow", "pacer: { qps: 1000 }", "pacer", {"SET", "2p 1.0 2.0"}},
        Foreign{"pacer_never", "pacer: { qps: 1000 }", "pacer", {"SET", "1p 1e300 0"}},
        Foreign{"pacer_list", "pacer: { qps: 1000 }", "pacer", {"LPUSH", "1"}},
        Foreign{"window_of_another_kind", "window: { reservoir: 9, interval: 1s }", "window", {"SET", "1p 1.0 0.0"}},
        Foreign{"sliding_window_text", "slidingWindow: { max: 9, interval: 1s }", "slidingWindow", {"SET", "x"}},
        Foreign{
            "sliding_window_words", "slidingWindow: { max: 9, interval: 1s }", "slidingWindow", {"RPUSH", "a", "b"}},
        Foreign{"token_bucket_nan",
                "tokenBucket: { capacity: 9, refillAmount: 9, refillFrequency: 1s }",
                "tokenBucket",
                {"SET", "1b nan 0"}},
        Foreign{"counter_hash", "counter: { max: 9, period: 1s }", "counter", {"HSET", "a", "b"}},
        Foreign{"semaphore_text", "semaphore: { capacity: 9, lease: 1s }", "semaphore", {"SET", "1s|x|"}, false},
        Foreign{"head", "pacer: { qps: 1000 }", "head", {"SET", "0"}, false},
        Foreign{"hold", "pacer: { qps: 1000 }", "hold", {"SET", "for ever"}, false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(MadRedis, is_dropped_and_nobody_notices) {
  SharedStage stage({});
  Relay relay(stage.redis.port());
  Shared far = stage.shared;
  far.port = relay.port();
  const Daemon& daemon = stage.add(far);
  EXPECT_EQ(stage.fetch(daemon).status, 200);
  const auto memory = daemon.resident_kib();
  std::string nested, many = "*1000000\r\n";
  for (int i = 0; i < 10'000; ++i) nested += "*1\r\n", many += ":1\r\n";
  for (const std::string& bytes : {"$-1\r\n"s, ":1\r\n"s, "*0\r\n"s, "*-1\r\n"s, "*11\r\n"s + ":1\r\n"s,
                                   "$1073741824\r\n"s + std::string(1 << 20, 'x'), "HTTP/1.1 200 OK\r\n\r\n"s, nested,
                                   many, std::string(4096, '\0'), "+OK\r\n+OK\r\n+OK\r\n"s}) {
    SCOPED_TRACE(shown(bytes));
    const auto calls = daemon.metric("penstock_redis_calls_total");
    relay.say(bytes);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.fetch(daemon).status, 200);
    EXPECT_TRUE(eventually([&] { return daemon.metric("penstock_redis_calls_total") > calls; }));
    relay.pass();
    EXPECT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); })) << daemon.diagnostics();
  }
  EXPECT_GE(errors(daemon, "protocol"), 4);
  if (!is_sanitized()) {
    EXPECT_LT(daemon.resident_kib(), memory + 20 * 1024);
  }
}

TEST(TwoConfigurations, of_one_limit_never_add_up) {
  SharedStage stage({.limits = "window: { reservoir: 40, interval: 500ms }"});
  Shared stricter = stage.shared;
  stricter.limits = "window: { reservoir: 15, interval: 500ms }";
  const Daemon& loose = stage.add();
  const Daemon& strict = stage.add(stricter);
  Load load(stage.ports(), stage.origin.url(), 12);
  ASSERT_TRUE(stage.arrivals.await(130));
  EXPECT_EQ(load.stop().by_status.size(), 1u);
  const auto counts = per_window(stage.arrivals.times(), kWindow);
  EXPECT_THAT(counts, Each(Le(40u)));
  EXPECT_THAT(counts, testing::Contains(testing::Gt(15u))) << "the looser rules";
  for (const auto* each : {&loose, &strict}) EXPECT_EQ(each->metric("penstock_redis_errors_total"), 0);
}

}  // namespace
}  // namespace penstock::trial
