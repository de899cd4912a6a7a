// SPDX-License-Identifier: Apache-2.0
// A Redis that forgets, or remembers what is not ours: flushed, restarted empty, a key evicted, values corrupt or
// foreign, answers that make no sense, two configurations at once.
#include <gmock/gmock.h>

#include <cmath>
#include <iterator>
#include <sstream>

#include "system/bookings.h"

namespace penstock::trial {
namespace {

using testing::Each;
using testing::Le;

constexpr auto kInterval = 500ms;

/// Three daemons under full load, and a Redis that forgets.
struct ThreeAtWork : AtWork {
  explicit ThreeAtWork(Shared given, int clients_each = 12) : AtWork(std::move(given), {0, 0, 0}, clients_each) {}

  /// A window has begun, and is spent.
  void await_spent(std::size_t most) { await_window(kInterval, most); }
  /// "2 generation id seen lead rare …", and rare is "-" or "birth,ends,awaited,paused,away,handed…", see head.lua.
  struct Head {
    std::string generation;
    bool is_open = false;
    std::size_t handed_in = 0;
  };
  Head head() {
    std::istringstream words(value("head"));
    std::string format, generation, id, seen, lead, rare;
    words >> format >> generation >> id >> seen >> lead >> rare;
    std::vector<std::string> fields;
    for (std::istringstream rest(rare); std::getline(rest, fields.emplace_back(), ',');) {
    }
    fields.pop_back();
    return {generation, fields.size() > 4 && fields[2] == "0", fields.size() - std::min<std::size_t>(fields.size(), 5)};
  }
  /// Redis loses everything, and begins anew when all have handed in what they remember. What a key held last,
  /// and the head.
  std::string forget(std::string_view kept = "head") {
    const std::string before = head().generation;
    constexpr auto kForget =
        "local last = redis.call('MGET', KEYS[1], KEYS[2]) redis.call('FLUSHALL') return table.concat(last, ' ')";
    const std::string last = redis.run({"EVAL", kForget, "2", key(kept), key("head")}).text;
    await_open(before);
    return last;
  }
  void await_open(const std::string& before) {
    const auto since = Clock::now();
    Head opened;
    ASSERT_TRUE(eventually([&] { return (opened = head()).generation != before && opened.is_open; }));
    EXPECT_TRUE(within(kRecovered, since));
    EXPECT_EQ(opened.handed_in, daemons.size()) << "all were heard";
  }
};

TEST(LostMemory, of_a_window_under_full_load_lets_nothing_through_twice) {
  ThreeAtWork stage(patiently("window: { reservoir: 30, interval: 500ms }"));
  for (int i = 0; i < 3; ++i) {
    stage.await_spent(30);
    stage.forget();
  }
  stage.await_spent(30);
  stage.expect_all_served_in_their_time();
  EXPECT_THAT(stage.bookings.per_window(kInterval), Each(Le(30u)));
}

TEST(LostMemory, of_a_sliding_window_under_full_load_lets_nothing_through_twice) {
  ThreeAtWork stage(patiently("slidingWindow: { max: 30, interval: 500ms }"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stage.bookings.await(stage.bookings.count() + 31)) << "some of the last interval, whatever the moment";
    stage.forget();
  }
  ASSERT_TRUE(stage.bookings.await(stage.bookings.count() + 61));
  stage.expect_all_served_in_their_time();
  EXPECT_LE(fullest(stage.bookings.times(), kInterval), 30u);
}

TEST(LostMemory, of_a_pacer_under_full_load_lets_no_burst_through) {
  ThreeAtWork stage(patiently("pacer: { qps: 200, maxBurst: 50 }"));
  constexpr int kTimes = 2;
  for (int i = 0; i < kTimes; ++i) {
    ASSERT_TRUE(stage.bookings.await(stage.bookings.count() + 100));
    stage.forget();
  }
  ASSERT_TRUE(stage.bookings.await(stage.bookings.count() + 200));
  stage.expect_all_served_in_their_time();
  // Of the last departure before, its process cannot tell whether it was of the burst, or paced: one more each time.
  stage.bookings.expect_paced(200, 50 + 1 + kTimes);
}

struct Bucket {
  int capacity, refill;
  std::chrono::microseconds frequency;
  std::ptrdiff_t over;  ///< so many more may leave after lost memory
  int clients_each;     ///< so that all of a refill leaves at once
};
void PrintTo(const Bucket& bucket, std::ostream* out) { *out << bucket.capacity << "_and_" << bucket.refill; }

class LostBucket : public testing::TestWithParam<Bucket> {};

TEST_P(LostBucket, under_full_load_lets_a_handful_through_at_most) {
  const auto& [capacity, refill, frequency, over, clients] = GetParam();
  ThreeAtWork stage(
      patiently("tokenBucket: { capacity: " + std::to_string(capacity) + ", refillAmount: " + std::to_string(refill) +
                ", refillFrequency: " + std::to_string(frequency.count()) + "us }"),
      clients);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stage.bookings.await(stage.bookings.count() + 250));
    const std::string lost = stage.forget("tokenBucket");
    std::istringstream last(lost);  // "2 number 1b refilled used", then the head
    std::string version, number, kind;
    double refilled = 0;
    int used = 0;
    last >> version >> number >> kind >> refilled >> used;
    ASSERT_EQ(version + kind, "21b");
    ASSERT_TRUE(stage.bookings.await(stage.bookings.count() + 250));
    const auto times = stage.bookings.times_of(stage.head().generation);
    for (std::size_t k = 0; k < times.size(); ++k) {
      const double since = Bookings::script_time(times[k]) - refilled;
      const auto refills = std::max(0., std::floor(since / static_cast<double>(frequency.count())));
      const auto allowed = capacity - used + static_cast<int>(refills) * refill;
      EXPECT_LE(static_cast<int>(k) + 1, allowed + over) << "as if nothing had been lost";
    }
  }
  stage.expect_all_served_in_their_time();
}

INSTANTIATE_TEST_SUITE_P(Each, LostBucket,
                         testing::Values(Bucket{1, 1, 2500us, 5, 12}, Bucket{200, 1, 2500us, 5, 12},
                                         Bucket{200, 200, 500ms, 0, 70}),
                         testing::PrintToStringParamName());

TEST(LostMemory, by_a_restart_lets_nothing_through_twice) {
  // By `share` those who had left others a part of theirs would take it back while Redis is away.
  ThreeAtWork stage(patiently("window: { reservoir: 30, interval: 500ms }", "wait"));
  stage.await_spent(30);
  const std::string before = stage.head().generation;
  stage.redis.restart_empty();
  const auto since = Clock::now();
  for (const auto& daemon : stage.daemons) expect_back(daemon, since);
  stage.await_open(before);
  stage.await_spent(30);
  stage.await_spent(30);
  stage.expect_all_served_in_their_time();
  EXPECT_THAT(stage.bookings.per_window(kInterval), Each(Le(30u)));
}

TEST(LostMemory, of_one_key_costs_one_burst_at_most) {
  AtWork stage(patiently("window: { reservoir: 20, interval: 500ms }"), {0, 0}, 8);
  stage.await_window(kInterval, 20);
  stage.redis.run({"DEL", stage.key("window")});
  for (int i = 0; i < 2; ++i) stage.await_window(kInterval, 20);
  stage.expect_all_served_in_their_time();
  const auto counts = stage.bookings.per_window(kInterval);
  EXPECT_THAT(counts, Each(Le(40u)));
  EXPECT_LE(std::ranges::count_if(counts, [](auto count) { return count > 20; }), 1);
  EXPECT_GT(stage.redis.run({"PTTL", stage.key("window")}).integer, 0) << "with a TTL as ever";
  for (const auto& each : stage.daemons) EXPECT_EQ(each.metric("penstock_redis_errors_total"), 0);
}

TEST(OneForeignValue, leaves_all_other_limits_shared) {
  AtWork stage(patiently("pacer: { qps: 1000 }\n- window: { reservoir: 20, interval: 500ms }"), {0, 0}, 8);
  const Daemon &a = stage.daemons[0], &b = stage.daemons[1];
  stage.redis.run({"DEL", stage.key("pacer")});
  stage.redis.run({"SET", stage.key("pacer"), "hello"});
  ASSERT_TRUE(eventually([&] { return is_degraded(a) && is_degraded(b); }));
  for (int i = 0; i < 3; ++i) stage.await_window(kInterval, 20);
  EXPECT_TRUE(is_degraded(a) && is_degraded(b)) << "as long as it is there";
  stage.redis.run({"DEL", stage.key("pacer")});
  EXPECT_TRUE(eventually([&] { return !is_degraded(a) && !is_degraded(b); }));
  for (int i = 0; i < 2; ++i) stage.await_window(kInterval, 20);
  stage.expect_all_served_in_their_time();
  EXPECT_THAT(stage.bookings.per_window(kInterval), Each(Le(20u)));
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
        Foreign{"pacer_of_tomorrow", "pacer: { qps: 1000 }", "pacer", {"SET", "2 7 3p 1.0 2.0 0.0 1.0 5"}},
        Foreign{"pacer_never", "pacer: { qps: 1000 }", "pacer", {"SET", "2 7 2p 1e300 0 0 1"}},
        Foreign{"pacer_list", "pacer: { qps: 1000 }", "pacer", {"LPUSH", "1"}},
        Foreign{"window_of_another_kind",
                "window: { reservoir: 9, interval: 1s }",
                "window",
                {"SET", "2 7 2p 1.0 0.0 0.0 1.0"}},
        Foreign{"sliding_window_text", "slidingWindow: { max: 9, interval: 1s }", "slidingWindow", {"SET", "x"}},
        Foreign{
            "sliding_window_words", "slidingWindow: { max: 9, interval: 1s }", "slidingWindow", {"RPUSH", "a", "b"}},
        Foreign{"token_bucket_nan",
                "tokenBucket: { capacity: 9, refillAmount: 9, refillFrequency: 1s }",
                "tokenBucket",
                {"SET", "2 7 1b nan 0"}},
        Foreign{"counter_hash", "counter: { max: 9, period: 1s }", "counter", {"HSET", "a", "b"}},
        Foreign{"semaphore_text", "semaphore: { capacity: 9, lease: 1s }", "semaphore", {"SET", "1s|x|"}, false},
        Foreign{"head", "pacer: { qps: 1000 }", "head", {"SET", "0"}, false},
        Foreign{"pause", "pacer: { qps: 1000 }", "pause", {"SET", "for ever"}, false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(MadRedis, is_dropped_and_nobody_notices) {
  SharedStage stage({});
  Relay relay(stage.redis.port());
  const Daemon& daemon = stage.add(relay);
  EXPECT_EQ(stage.fetch(daemon).status, 200);
  const auto memory = daemon.resident_kib();
  std::string nested, many = "*1000000\r\n";
  for (int i = 0; i < 10'000; ++i) nested += "*1\r\n", many += ":1\r\n";
  for (const std::string& bytes : {"$-1\r\n"s, ":1\r\n"s, "*0\r\n"s, "*-1\r\n"s, "*11\r\n"s + ":1\r\n"s,
                                   "$1073741824\r\n"s + std::string(1 << 20, 'x'), "HTTP/1.1 200 OK\r\n\r\n"s, nested,
                                   many, std::string(4096, '\0'), "+OK\r\n+OK\r\n+OK\r\n"s}) {
    SCOPED_TRACE(shown(bytes));
    relay.say(bytes);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.fetch(daemon).status, 200);
    EXPECT_TRUE(eventually([&] { return relay.has_said(); }));
    relay.pass();
    EXPECT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); })) << daemon.diagnostics();
  }
  EXPECT_GE(errors(daemon, "protocol"), 4);
  if (!is_sanitized()) {
    EXPECT_LT(daemon.resident_kib(), memory + 20 * 1024);
  }
}

TEST(TwoConfigurations, of_one_limit_never_add_up) {
  AtWork stage(patiently("window: { reservoir: 40, interval: 500ms }"), {0}, 12);
  stage.join(patiently("window: { reservoir: 15, interval: 500ms }"));
  Load strict({stage.daemons.back().port()}, stage.origin.url(), 12);
  ASSERT_TRUE(stage.bookings.await(stage.bookings.count() + 130));
  expect_only_successes(strict.stop());
  stage.expect_all_served_in_their_time();
  const auto counts = stage.bookings.per_window(kInterval);
  EXPECT_THAT(counts, Each(Le(40u)));
  EXPECT_THAT(counts, testing::Contains(testing::Gt(15u))) << "the looser rules";
  for (const auto& each : stage.daemons) EXPECT_EQ(each.metric("penstock_redis_errors_total"), 0);
}

}  // namespace
}  // namespace penstock::trial
