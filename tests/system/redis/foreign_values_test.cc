// SPDX-License-Identifier: Apache-2.0
// A Redis that remembers what is not ours.
#include <gmock/gmock.h>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

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

}  // namespace
}  // namespace penstock::trial
