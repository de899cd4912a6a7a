// SPDX-License-Identifier: Apache-2.0
// The words for what happens at an upstream, and for requests that were sent again.
#include "observe/state_words.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::observe {
namespace {

using namespace std::chrono_literals;

TEST(StateWords, say_who_asked_for_the_pause_how_long_it_lasts_and_what_comes_then) {
  EXPECT_EQ(state_in_words({}), "");
  EXPECT_EQ(state_in_words({.pause = PauseSnapshot{.status = 429, .left = 700ms}}),
            "PAUSED by the API (429) for 0.7 s; then one probe");
  EXPECT_EQ(state_in_words({.pause = PauseSnapshot{.status = 503, .left = 20ms, .of_all = false}}),
            "partly PAUSED by the API (503) for 20 ms; then one probe");
  EXPECT_EQ(state_in_words({.pause = PauseSnapshot{.left = 61s}}), "PAUSED by the API for 61 s; then one probe");
}

TEST(StateWords, say_of_an_upstream_that_cannot_be_reached_when_it_is_tried) {
  EXPECT_EQ(state_in_words({.unreachable = true, .next_try = 3900ms}), "UNREACHABLE; next try in 3.9 s");
  EXPECT_EQ(state_in_words({.unreachable = true}), "UNREACHABLE; one request at a time tries");
}

TEST(StateWords, say_that_limits_go_on_without_redis) {
  EXPECT_EQ(state_in_words({.degraded = true}), "without Redis, by whenDown");
  EXPECT_EQ(state_in_words({.pause = PauseSnapshot{.left = 61s}, .degraded = true}),
            "PAUSED by the API for 61 s; then one probe; without Redis, by whenDown");
  EXPECT_EQ(state_in_words({.head = HeadSnapshot{.limited_by = "redis"}, .degraded = true}),
            "waits for Redis, which does not answer");
}

// ---- Redis ----------------------------------------------------------------------------------------------------------

std::vector<RedisNodeSnapshot> three_nodes(bool first, bool second) {
  return {{"127.0.0.1:7001", first}, {"127.0.0.1:7002", second}, {"127.0.0.1:7003", true}};
}

TEST(RedisWords, say_which_nodes_of_a_cluster_are_down) {
  const auto said = [](std::vector<RedisNodeSnapshot> nodes, bool up) {
    return redis_in_words({.up = up,
                           .processes = 3,
                           .kind = "cluster",
                           .mode = up ? "shared" : "share",
                           .share_of = up ? 1 : 3,
                           .nodes = std::move(nodes)});
  };
  EXPECT_EQ(said(three_nodes(true, true), true), "Cluster up, 3 processes");
  EXPECT_EQ(said(three_nodes(true, false), false),
            "Cluster 2 of 3 nodes, DOWN: 127.0.0.1:7002; 3 processes, our share 1/3");
  EXPECT_EQ(said(three_nodes(false, false), false),
            "Cluster 1 of 3 nodes, DOWN: 127.0.0.1:7001, 127.0.0.1:7002; 3 processes, our share 1/3");
  EXPECT_EQ(said({}, false), "Cluster DOWN, 3 processes, our share 1/3") << "none is known yet";
  EXPECT_EQ(said({{"a:1"}, {"b:1"}, {"c:1"}, {"d:1"}, {"e:1"}}, false),
            "Cluster 0 of 5 nodes, DOWN: a:1, b:1, c:1 and 2 more; 3 processes, our share 1/3");
}

TEST(RedisWords, say_what_sentinel_and_tls_lead_to) {
  const std::vector<RedisNodeSnapshot> nodes{{"r1:6379", true}, {"s1:26379", false}};
  EXPECT_EQ(redis_in_words({.up = true, .kind = "sentinel", .tls = true, .mode = "shared", .nodes = nodes}),
            "by Sentinel over TLS up, out of reach: s1:26379; 1 process");
  EXPECT_EQ(redis_in_words({.kind = "sentinel", .mode = "wait", .nodes = {{"r1:6379", false}, {"s1:26379", true}}}),
            "by Sentinel DOWN, out of reach: r1:6379; 1 process, whenDown: wait");
  EXPECT_EQ(redis_in_words({.up = true, .tls = true, .mode = "shared", .nodes = {{"r1:6379", true}}}),
            "over TLS up, 1 process");
  EXPECT_EQ(redis_in_words({.processes = 0, .kind = "", .nodes = {{"r1:6379", false}}}), "DOWN, out of reach: r1:6379")
      << "an older daemon does not say of what kind it is";
}

TEST(RedisWords, name_each_of_several) {
  EXPECT_EQ(redis_in_words(std::vector<RedisSnapshot>{
                {.name = "main", .up = true, .mode = "shared", .limits_differ = {"a", "b"}},
                {.name = "eu", .kind = "cluster", .mode = "open", .nodes = three_nodes(true, false)}}),
            "main up, 1 process, limits differ: a and 1 more; eu Cluster 2 of 3 nodes, DOWN: 127.0.0.1:7002; 1 "
            "process, whenDown: open");
}

TEST(StateWords, say_how_often_a_request_was_sent_again) {
  EXPECT_EQ(again_in_words(0), "");
  EXPECT_EQ(again_in_words(1), "asked again once");
  EXPECT_EQ(again_in_words(2), "asked again 2 times");
}

TEST(StateWords, round_a_duration_in_a_unit_that_suits_it) {
  EXPECT_EQ(rounded(0us), "0 ms");
  EXPECT_EQ(rounded(20ms), "20 ms");
  EXPECT_EQ(rounded(100ms), "0.1 s");
  EXPECT_EQ(rounded(59900ms), "59.9 s");
  EXPECT_EQ(rounded(119s), "119 s");
  EXPECT_EQ(rounded(12min), "12 min");
  EXPECT_EQ(rounded(119min), "119 min");
  EXPECT_EQ(rounded(2h), "2 h");
  EXPECT_EQ(rounded(47h), "47 h");
  EXPECT_EQ(rounded(72h), "3 d");
}

// ---- every cause, with room in the queue and without ----------------------------------------------------------------

struct Cause {
  std::string limited_by;
  std::string words;  ///< with a last departure in 4.2 s
  std::string words_without_it;
};

std::vector<LimitSnapshot> limits() {
  return {{.name = "pacer", .kind = "pacer", .allows = "15/s", .rate = 15},
          {.name = "rate", .kind = "pacer", .allows = "100/m", .rate = 1.63},
          {.name = "rate.window", .kind = "slidingWindow", .used = 100, .of = 100, .opens_in = 1s},
          {.name = "crawl", .kind = "pacer", .allows = "2/s", .rate = 2},
          {.name = "adaptive", .kind = "adaptive", .rate = 3.5},
          {.name = "window", .kind = "window", .allows = "60/1m", .used = 60, .of = 60, .opens_in = 4100ms},
          {.name = "day", .kind = "counter", .allows = "1000/1d", .used = 1000, .of = 1000, .opens_in = 3s},
          {.name = "slidingWindow", .kind = "slidingWindow", .allows = "5/10s", .used = 5, .of = 5, .opens_in = 1s},
          {.name = "tokenBucket", .kind = "tokenBucket", .allows = "50", .used = 50, .of = 50, .opens_in = 300ms},
          {.name = "semaphore", .kind = "semaphore", .allows = "3", .used = 3, .of = 3},
          {.name = "unread", .kind = "window", .known = false}};
}

const std::vector<Cause>& causes() {
  static const std::vector<Cause> kCauses{
      {"", "", ""},
      {"maxConcurrent", "all 3 slots busy; last in line leaves in 4.2 s", "all 3 slots busy"},
      {"maxTunnels", "all 64 tunnels open; last in line leaves in 4.2 s", "all 64 tunnels open"},
      {"redis", "waits for Redis, which does not answer", "waits for Redis, which does not answer"},
      {"pause", "after a pause: more requests with each round of answers; last in line leaves in 4.2 s",
       "after a pause: more requests with each round of answers"},
      {"pacer", "held to 15/s; last in line leaves in 4.2 s", "held to 15/s"},
      {"rate", "held to 100/m; last in line leaves in 4.2 s", "held to 100/m"},
      {"rate.window", "held to 100/m; last in line leaves in 4.2 s", "held to 100/m"},
      {"crawl", "held to 2/s by crawl; last in line leaves in 4.2 s", "held to 2/s by crawl"},
      {"adaptive", "held to 3.5/s; last in line leaves in 4.2 s", "held to 3.5/s"},
      {"window", "window 60/1m spent, opens in 4.1 s", "window 60/1m spent, opens in 4.1 s"},
      {"day", "day 1000/1d spent, opens in 3.0 s; last in line leaves in 4.2 s", "day 1000/1d spent, opens in 3.0 s"},
      {"slidingWindow", "slidingWindow 5/10s spent, opens in 1.0 s; last in line leaves in 4.2 s",
       "slidingWindow 5/10s spent, opens in 1.0 s"},
      {"tokenBucket", "tokenBucket 50 spent, opens in 0.3 s; last in line leaves in 4.2 s",
       "tokenBucket 50 spent, opens in 0.3 s"},
      {"semaphore", "all 3 permits of semaphore taken; last in line leaves in 4.2 s",
       "all 3 permits of semaphore taken"},
      {"unread", "unread spent; last in line leaves in 4.2 s", "unread spent"},
      {"ofGroup", "in a group: ofGroup 2/1s spent; last in line leaves in 4.2 s", "in a group: ofGroup 2/1s spent"},
      {"gone", "held by gone; last in line leaves in 4.2 s", "held by gone"}};
  return kCauses;
}

UpstreamSnapshot waiting_for(const std::string& by, std::optional<Duration> last, std::size_t pending) {
  return {.pending = pending,
          .max_concurrent = 3,
          .max_pending = 50,
          .max_tunnels = 64,
          .head = HeadSnapshot{.limited_by = by, .since = 1s, .leaves_in = last, .last_leaves_in = last},
          .limits = limits(),
          .groups = {
              {.name = "secret", .limits = {{.name = "ofGroup", .kind = "window", .allows = "2/1s", .opens_in = 1s}}}}};
}

TEST(StateWords, name_each_cause_and_when_the_last_in_line_leaves_if_that_is_known) {
  for (const Cause& cause : causes()) {
    EXPECT_EQ(state_in_words(waiting_for(cause.limited_by, 4200ms, 49)), cause.words) << cause.limited_by;
    EXPECT_EQ(state_in_words(waiting_for(cause.limited_by, {}, 49)), cause.words_without_it) << cause.limited_by;
  }
}

TEST(StateWords, say_which_limit_stops_newcomers_where_nothing_may_wait_for_it) {
  UpstreamSnapshot upstream{.limits = limits()};
  EXPECT_EQ(state_in_words(upstream), "window 60/1m spent, opens in 4.1 s") << "the one that opens last";
  upstream.limits[5].mode = LimitConfig::Mode::shadow;
  EXPECT_EQ(state_in_words(upstream), "day 1000/1d spent, opens in 3.0 s");
  upstream.limits[6].opens_in = 0s;
  EXPECT_EQ(state_in_words(upstream), "slidingWindow 5/10s spent, opens in 1.0 s");
  upstream.limits[7].known = false;
  EXPECT_EQ(state_in_words(upstream), "") << "the others open before anybody has read it";
}

TEST(StateWords, say_first_of_a_full_queue_that_it_is_full) {
  for (const Cause& cause : causes()) {
    const std::string what = cause.words.empty() ? "50 wait" : cause.words;
    EXPECT_EQ(state_in_words(waiting_for(cause.limited_by, 4200ms, 50)), "FULL: " + what) << cause.limited_by;
  }
  UpstreamSnapshot paused = waiting_for("pause", {}, 50);
  paused.pause = PauseSnapshot{.status = 429, .left = 700ms};
  EXPECT_EQ(state_in_words(paused), "FULL: PAUSED by the API (429) for 0.7 s; then one probe");
  EXPECT_EQ(state_in_words({.max_pending = 0}), "") << "a queue that has no places is not full";
  EXPECT_EQ(state_in_words({.quota = "account", .pending_in_quota = 50, .max_pending = 50}), "FULL: 50 wait")
      << "of another upstream";
  EXPECT_EQ(state_in_words({.quota = "account", .pending_in_quota = 49, .max_pending = 50}), "");
}

TEST(StateWords, name_no_group) {
  EXPECT_EQ(state_in_words(waiting_for("ofGroup", {}, 1)).find("secret"), std::string::npos);
}

TEST(StateWords, say_that_a_pause_is_being_probed) {
  EXPECT_EQ(state_in_words({.pause = PauseSnapshot{.status = 429, .probing = true}}),
            "probing after a pause: one request at a time");
  EXPECT_EQ(state_in_words({.pause = PauseSnapshot{.status = 429, .of_all = false, .probing = true}}),
            "partly probing after a pause: one request at a time");
}

TEST(StateWords, put_the_pause_of_a_part_behind_what_stops_the_head) {
  UpstreamSnapshot upstream = waiting_for("maxConcurrent", {}, 1);
  upstream.pause = PauseSnapshot{.status = 429, .left = 700ms, .of_all = false};
  EXPECT_EQ(state_in_words(upstream), "all 3 slots busy");
  upstream.head->limited_by = "pause";
  EXPECT_EQ(state_in_words(upstream), "partly PAUSED by the API (429) for 0.7 s; then one probe");
  upstream.pause->of_all = true;
  upstream.head->limited_by = "maxConcurrent";
  EXPECT_EQ(state_in_words(upstream), "PAUSED by the API (429) for 0.7 s; then one probe");
}

TEST(StateWords, say_that_tunnels_hide_their_requests) {
  EXPECT_EQ(state_in_words({.tunnels_only = true}), "tunnels only: requests are not seen");
  UpstreamSnapshot upstream = waiting_for("maxTunnels", {}, 1);
  upstream.tunnels_only = true;
  EXPECT_EQ(state_in_words(upstream), "all 64 tunnels open");
}

TEST(StateWords, have_one_slot_in_the_singular) {
  UpstreamSnapshot upstream = waiting_for("maxConcurrent", {}, 1);
  upstream.max_concurrent = 1;
  EXPECT_EQ(state_in_words(upstream), "the only slot is busy");
}

}  // namespace
}  // namespace penstock::observe
