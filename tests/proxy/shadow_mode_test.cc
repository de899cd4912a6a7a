// SPDX-License-Identifier: Apache-2.0
// Limits in shadow mode hold no request. Events and the snapshot tell what they would have held.
#include <gmock/gmock.h>

#include <chrono>
#include <vector>

#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class ShadowModeTest : public DispatcherTest {
 protected:
  ShadowModeTest()
      : origin_([](test::Origin&, test::Socket& peer, int) {
          while (!peer.read_until("\r\n\r\n").empty()) peer.send(kOk);
        }) {
    config_.upstreams.push_back({.name = "api", .match = {{.host = "127.0.0.1"}}});
  }

  UpstreamSettings& settings() { return config_.upstreams[0].settings; }
  void limit(LimitConfig::Kind kind, const std::string& name, LimitConfig::Mode mode = LimitConfig::Mode::shadow) {
    settings().limits.push_back({.kind = kind, .name = name, .mode = mode});
  }
  void get(const std::string& group = "", const std::string& weight = "1") {
    Asker asker;
    auto what = head("GET", "http://" + origin_.host() + "/");
    if (!group.empty()) what.fields.add("X-Team", group);
    what.fields.add("Penstock-Weight", weight);
    ask(asker, std::move(what));
    ASSERT_TRUE(finish(asker));
    EXPECT_EQ(asker.status, 200);
  }
  std::vector<Told> dispatches() const {
    std::vector<Told> some;
    for (const auto& one : told_) {
      if (one.kind == EventKind::dispatch) some.push_back(one);
    }
    return some;
  }
  void change() {
    pools_->change(config_);
    dispatcher_->change();
  }

  test::Origin origin_;
};

TEST_F(ShadowModeTest, a_request_leaves_at_once_and_its_event_says_for_how_long_it_would_have_waited) {
  limit(PacerConfig{.qps = 0.1}, "tried");
  std::vector<flow::Time> asked;
  for (int n = 0; n < 3; ++n) {
    asked.push_back(run_.loop.now());
    get();
  }
  const auto told = dispatches();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].would_wait_for, "");
  for (int n = 1; n < 3; ++n) {
    EXPECT_EQ(told[n].would_wait_for, "tried");
    EXPECT_GE(told[n].would_wait, n * 10s - Duration{told[n].at - asked[0]}) << "every ten seconds from the first";
    EXPECT_LE(told[n].would_wait, n * 10s - Duration{asked[n] - told[0].at});
    EXPECT_EQ(told[n].wait, 0s);
    EXPECT_EQ(told[n].limited_by, "");
  }
  for (const auto& one : told_) EXPECT_TRUE(one.kind == EventKind::dispatch || one.would_wait_for.empty());
}

TEST_F(ShadowModeTest, the_longest_is_named_and_weights_count) {
  limit(CounterConfig{.max = 4, .period = 1h}, "hour");
  limit(PacerConfig{.qps = 0.1}, "pace");
  get("", "3");  // its pacer is free after 30 s
  get("", "2");  // the counter has one left
  const auto told = dispatches();
  EXPECT_EQ(told[0].would_wait_for, "");
  EXPECT_EQ(told[1].would_wait_for, "hour");
  EXPECT_EQ(told[1].would_wait, 30s) << "it would have been refused after queue.maxWait";
}

TEST_F(ShadowModeTest, the_snapshot_shows_it_behind_the_limits_that_hold) {
  limit(WindowConfig{.reservoir = 1, .interval = 24h}, "tried");
  limit(CounterConfig{.max = 9, .period = 1h}, "hard", LimitConfig::Mode::delay);
  get("", "2");
  get();
  get();
  const auto limits = upstream("api").limits;
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0].name, "hard");
  EXPECT_EQ(limits[0].used, 4);
  EXPECT_EQ(limits[0].mode, LimitConfig::Mode::delay);
  EXPECT_EQ(limits[1].name, "tried");
  EXPECT_EQ(limits[1].allows, "1/1d");
  EXPECT_EQ(limits[1].mode, LimitConfig::Mode::shadow);
  EXPECT_EQ(limits[1].used, 1) << "the heavy one could never leave, and the third would have been refused";
  EXPECT_EQ(limits[1].units, 4u);
  EXPECT_EQ(limits[1].would_wait, 2u);
}

TEST_F(ShadowModeTest, each_group_counts_for_itself) {
  settings().group = parse_group("header:X-Team").value();
  limit(PacerConfig{.qps = 0.1}, "each");
  settings().limits.back().per = LimitConfig::Per::group;
  limit(PacerConfig{.qps = 1000}, "hold", LimitConfig::Mode::delay);
  settings().limits.back().per = LimitConfig::Per::group;
  for (const char* group : {"a", "b", "a"}) get(group);
  std::vector<std::string> named;
  for (const auto& one : dispatches()) named.push_back(one.would_wait_for);
  EXPECT_THAT(named, ElementsAre("", "", "each"));
  const auto groups = upstream("api").groups;
  ASSERT_EQ(groups.size(), 2u);
  for (const auto& group : groups) {
    ASSERT_EQ(group.limits.size(), 2u) << group.name;
    EXPECT_EQ(group.limits[1].mode, LimitConfig::Mode::shadow);
  }
}

TEST_F(ShadowModeTest, comes_stays_and_goes_with_the_configuration) {
  get();
  limit(CounterConfig{.max = 1, .period = 24h}, "tried");
  change();
  get();
  settings().limits.insert(settings().limits.begin(),
                           {.kind = PacerConfig{.qps = 1e6}, .name = "first", .mode = LimitConfig::Mode::shadow});
  change();
  get();
  EXPECT_EQ(dispatches().back().would_wait_for, "tried") << "goes on from what it has counted";
  EXPECT_EQ(upstream("api").limits.at(1).units, 2u);
  settings().limits.back().mode = LimitConfig::Mode::refuse;
  change();
  get();
  EXPECT_EQ(upstream("api").limits.at(0).used, 1) << "a limit that holds begins anew";
  settings().limits.clear();
  change();
  get();
  EXPECT_EQ(dispatches().back().would_wait_for, "");
  EXPECT_TRUE(upstream("api").limits.empty());
}

}  // namespace
}  // namespace penstock::proxy
