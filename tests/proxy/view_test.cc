// SPDX-License-Identifier: Apache-2.0
// What people are shown of an upstream: why its head waits, which requests wait, its pause, and its last minute.
#include <gmock/gmock.h>

#include <chrono>

#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class ViewTest : public DispatcherTest {
 protected:
  ViewTest()
      : origin_([](test::Origin& origin, test::Socket& peer, int) {
          for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
            if (head.starts_with("GET /held")) origin.wait_for_release();
            const bool busy = head.starts_with("GET /busy");
            peer.send(busy ? "HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno" : kOk);
          }
        }) {
    config_.upstreams.push_back({.name = "api", .match = {{.host = "127.0.0.1"}}});
    settings().retry = RetryConfig::off();
  }
  ~ViewTest() override { origin_.release(); }

  UpstreamSettings& settings() { return config_.upstreams[0].settings; }
  UpstreamSnapshot api() { return upstream("api"); }

  test::Origin origin_;
};

TEST_F(ViewTest, names_why_the_head_waits_as_its_event_will) {
  settings().max_concurrent = 1;
  Asker first, second, third;
  get(first, origin_.host(), "/held");
  EXPECT_FALSE(api().head.has_value());
  get(second, origin_.host());
  get(third, origin_.host());
  const auto shown = api();
  ASSERT_TRUE(shown.head.has_value());
  EXPECT_EQ(shown.head->limited_by, "maxConcurrent");
  EXPECT_EQ(shown.head->last_leaves_in, std::nullopt) << "no flight is known yet";
  origin_.release();
  ASSERT_TRUE(finish(third));
  EXPECT_EQ(told_.back().limited_by, "maxConcurrent");
  EXPECT_FALSE(api().head.has_value());
}

TEST_F(ViewTest, says_when_the_last_in_line_leaves) {
  settings().limits = {{.kind = PacerConfig{.qps = 0.5}}};
  Asker askers[4];
  for (auto& asker : askers) get(asker, origin_.host());
  const auto head = api().head;
  ASSERT_TRUE(head && head->leaves_in && head->last_leaves_in);
  EXPECT_EQ(head->limited_by, "pacer");
  EXPECT_NEAR(std::chrono::duration<double>(*head->leaves_in).count(), 2, 0.2);
  EXPECT_NEAR(std::chrono::duration<double>(*head->last_leaves_in).count(), 6, 0.6);
  for (auto& asker : askers) {
    if (asker.exchange) leave(asker);
  }
}

TEST_F(ViewTest, lists_the_requests_that_wait_by_how_long_they_do) {
  settings().max_concurrent = 1;
  settings().group = GroupRule{.by = GroupRule::By::path, .pattern = "/of/{who}"};
  Asker first, others[22];
  get(first, origin_.host(), "/held");
  for (int i = 0; i < 22; ++i) get(others[i], origin_.host(), "/of/" + std::to_string(i % 2) + "?secret");
  const auto details = dispatcher().details("api");
  ASSERT_TRUE(details.has_value());
  ASSERT_EQ(details->waiting.size(), 20u);
  for (int i = 0; i < 20; ++i) {
    const auto& one = details->waiting[static_cast<std::size_t>(i)];
    EXPECT_EQ(one.id, others[i].exchange->id());
    EXPECT_EQ(one.method, "GET");
    EXPECT_EQ(one.host, "127.0.0.1");
    EXPECT_EQ(one.path, "/of/" + std::to_string(i % 2));
    EXPECT_EQ(one.group, std::to_string(i % 2));
    EXPECT_EQ(one.limited_by, "maxConcurrent");
  }
  EXPECT_EQ(dispatcher().details("nobody"), std::nullopt);
  for (auto& asker : others) leave(asker);
  EXPECT_THAT(dispatcher().details("api")->waiting, IsEmpty());
}

TEST_F(ViewTest, says_who_asked_for_a_pause_and_that_it_is_probed) {
  settings().group = GroupRule{.by = GroupRule::By::path, .pattern = "/{who}"};
  Asker busy, probe, behind;
  get(busy, origin_.host(), "/busy");
  ASSERT_TRUE(finish(busy));
  auto pause = api().pause;
  ASSERT_TRUE(pause.has_value());
  EXPECT_EQ(pause->status, 429);
  EXPECT_FALSE(pause->of_all);
  EXPECT_EQ(pause->group, "busy");
  EXPECT_FALSE(pause->probing);
  EXPECT_GT(pause->left, 5s);
  dispatcher().end_pauses("api");
  EXPECT_FALSE(api().pause.has_value()) << "over, and nothing probes it";
}

TEST_F(ViewTest, says_that_a_pause_is_probed) {
  Asker busy, probe;
  get(busy, origin_.host(), "/busy");
  ASSERT_TRUE(finish(busy));
  EXPECT_TRUE(api().pause && api().pause->of_all);
  get(probe, origin_.host(), "/held");
  dispatcher().end_pauses("api");
  const auto pause = api().pause;
  ASSERT_TRUE(pause.has_value());
  EXPECT_TRUE(pause->probing);
  EXPECT_EQ(pause->left, 0s);
  origin_.release();
  ASSERT_TRUE(finish(probe));
  EXPECT_FALSE(api().pause.has_value());
}

TEST_F(ViewTest, counts_the_last_minute) {
  Asker good, busy;
  get(good, origin_.host());
  ASSERT_TRUE(finish(good));
  get(busy, origin_.host(), "/busy");
  ASSERT_TRUE(finish(busy));
  const auto minute = api().last_minute;
  EXPECT_EQ(minute.out, 2u);
  EXPECT_EQ(minute.upstream_429, 1u);
  EXPECT_THAT(minute.statuses, ElementsAre(Pair(200, 1), Pair(429, 1)));
  EXPECT_THAT(minute.refused, IsEmpty());
  EXPECT_EQ(minute.wait.count, 2u);
  EXPECT_EQ(minute.flight.count, 2u);
  EXPECT_EQ(minute.flight.max, std::max(*told_[1].flight, *told_[3].flight));
}

TEST_F(ViewTest, counts_refusals_of_the_last_minute_by_kind) {
  settings().max_concurrent = 1;
  settings().queue.max_pending = 0;
  Asker first, second;
  get(first, origin_.host(), "/held");
  get(second, origin_.host());
  EXPECT_THAT(api().last_minute.refused, ElementsAre(Pair("queue_full", 1)));
  EXPECT_THAT(api().last_minute.statuses, ElementsAre(Pair(503, 1)));
}

TEST_F(ViewTest, groups_are_looked_for_only_where_they_are_asked_for) {
  settings().max_concurrent = 1;
  settings().group = GroupRule{.by = GroupRule::By::path, .pattern = "/{who}"};
  Asker held;
  get(held, origin_.host(), "/held");
  EXPECT_EQ(api().groups.size(), 1u);
  Snapshot without;
  dispatcher().snapshot(without, {.groups = false});
  ASSERT_EQ(without.upstreams.size(), 1u);
  EXPECT_THAT(without.upstreams[0].groups, IsEmpty());
}

TEST_F(ViewTest, of_many_upstreams_the_busiest_may_be_asked_for) {
  settings().max_concurrent = 1;
  Asker elsewhere, held;
  get(elsewhere, "127.0.0.2:1");  // an upstream of "*", where nobody listens
  ASSERT_TRUE(finish(elsewhere));
  get(held, origin_.host(), "/held");
  Snapshot busiest;
  dispatcher().snapshot(busiest, {.upstreams = 1});
  ASSERT_EQ(busiest.upstreams.size(), 1u);
  EXPECT_EQ(busiest.upstreams[0].name, "api");
  EXPECT_EQ(busiest.upstreams_left_out, 1u);
  Snapshot all;
  dispatcher().snapshot(all);
  EXPECT_EQ(all.upstreams.size(), 2u);
  EXPECT_EQ(all.upstreams_left_out, 0u);
}

TEST_F(ViewTest, says_that_only_tunnels_have_passed) {
  config_.access.connect_anywhere = true;
  EXPECT_FALSE(api().tunnels_only);
  Asker tunnel, request;
  ask(tunnel, head("CONNECT", origin_.host()));
  EXPECT_TRUE(api().tunnels_only);
  leave(tunnel);
  get(request, origin_.host());
  ASSERT_TRUE(finish(request));
  EXPECT_FALSE(api().tunnels_only);
}

}  // namespace
}  // namespace penstock::proxy
