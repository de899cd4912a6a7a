// SPDX-License-Identifier: Apache-2.0
// What /status says of an upstream, field by field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "observe/status_json.h"

namespace penstock::observe {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr std::int64_t kTakenAt = 1'800'000'000'000'000;

json shown(const UpstreamSnapshot& upstream, const Details& details = {.shown = true}) {
  return json::parse(json_text(upstream_json(upstream, kTakenAt, details)));
}

TEST(StatusUpstreams, names_why_the_head_waits_and_when_it_and_the_last_leave) {
  EXPECT_EQ(shown({})["head"], nullptr);
  const HeadSnapshot head{.limited_by = "pacer", .since = 1650200us, .leaves_in = 41ms, .last_leaves_in = 1600ms};
  EXPECT_EQ(shown({.head = head})["head"],
            json::parse(R"({"limitedBy":"pacer","sinceMs":1650.2,"leavesInMs":41.0,"lastLeavesInMs":1600.0})"));
  EXPECT_EQ(shown({.head = HeadSnapshot{.limited_by = "redis"}})["head"],
            json::parse(R"({"limitedBy":"redis","sinceMs":0.0,"leavesInMs":null,"lastLeavesInMs":null})"));
}

TEST(StatusUpstreams, shows_what_is_used_of_a_limit_and_null_for_what_is_unknown) {
  const LimitSnapshot hour{.name = "hour",
                           .kind = "window",
                           .allows = "5000/1h",
                           .shared = true,
                           .used = 3912,
                           .of = 5000,
                           .opens_in = 0us,
                           .resets_in = 720s,
                           .units = 7};
  const LimitSnapshot pacer{
      .name = "pacer", .kind = "pacer", .allows = "15/s", .used = 1, .of = 1, .rate = 15, .opens_in = 41ms};
  const LimitSnapshot learned{.name = "a", .kind = "adaptive", .rate = 3.5};
  LimitSnapshot unknown = hour;
  unknown.known = false;
  const json limits = shown({.limits = {hour, pacer, learned, unknown}})["limits"];
  EXPECT_EQ(
      limits[0],
      json::parse(
          R"({"name":"hour","kind":"window","allows":"5000/1h","mode":"delay","shared":true,"used":3912.0,"of":5000.0,
                                       "opensInMs":0.0,"resetsInMs":720000.0,"rate":null,"units":7,"wouldWait":null})"));
  EXPECT_EQ(
      limits[1],
      json::parse(R"({"name":"pacer","kind":"pacer","allows":"15/s","mode":"delay","shared":false,"used":1.0,"of":1.0,
                                       "opensInMs":41.0,"resetsInMs":null,"rate":15.0,"units":0,"wouldWait":null})"));
  EXPECT_EQ(limits[2]["used"], nullptr);
  EXPECT_EQ(limits[2]["of"], nullptr);
  EXPECT_EQ(limits[2]["rate"], 3.5);
  EXPECT_EQ(limits[3],
            json::parse(
                R"({"name":"hour","kind":"window","allows":"5000/1h","mode":"delay","shared":true,"used":null,"of":null,
                                       "opensInMs":null,"resetsInMs":null,"rate":null,"units":7,"wouldWait":null})"));
}

TEST(StatusUpstreams, says_which_limits_stop_nobody_and_how_many_they_would_have_made_wait) {
  const LimitSnapshot tried{.name = "tried", .mode = LimitConfig::Mode::shadow, .would_wait = 12};
  const LimitSnapshot refuses{.name = "hard", .mode = LimitConfig::Mode::refuse};
  const json all = shown({.limits = {tried, refuses}, .groups = {{.name = "acme", .limits = {tried}}}});
  EXPECT_EQ(all["limits"][0]["mode"], "shadow");
  EXPECT_EQ(all["limits"][0]["wouldWait"], 12);
  EXPECT_EQ(all["limits"][1]["mode"], "refuse");
  EXPECT_EQ(all["limits"][1]["wouldWait"], nullptr);
  EXPECT_EQ(all["groups"][0]["limits"][0]["wouldWait"], nullptr) << "not counted";
}

TEST(StatusUpstreams, shows_names_of_groups_only_to_clients_that_may_see_details) {
  const UpstreamSnapshot upstream{
      .pause = PauseSnapshot{.status = 429, .left = 700ms, .of_all = false, .group = "acme", .probing = true},
      .groups = {{.name = "acme", .pending = 3, .limits = {{.name = "w", .kind = "window", .used = 1, .of = 2}}}}};
  const json all = shown(upstream), numbers = shown(upstream, {.shown = false});
  EXPECT_EQ(all["groups"][0]["name"], "acme");
  EXPECT_EQ(all["groups"][0]["pending"], 3);
  EXPECT_EQ(all["groups"][0]["limits"][0]["of"], 2.0);
  EXPECT_EQ(all["pause"], json::parse(R"({"untilMs":1800000000700,"leftMs":700.0,"status":429,"group":"acme",
                                          "state":"probe"})"));
  EXPECT_FALSE(numbers.contains("groups"));
  EXPECT_EQ(numbers["pause"]["group"], nullptr);
  EXPECT_EQ(numbers.dump().find("acme"), std::string::npos);
}

TEST(StatusUpstreams, tells_of_the_last_minute) {
  const LastMinute minute{.out = 900,
                          .out_per_second = 15.204,
                          .upstream_429 = 218,
                          .refused = {{"queue_full", 3}},
                          .statuses = {{200, 890}, {404, 2}},
                          .wait = {.count = 9, .p50 = 1ms, .p95 = 2ms, .p99 = 3ms, .max = 4ms}};
  EXPECT_EQ(shown({.last_minute = minute})["lastMinute"],
            json::parse(R"({"out":900,"outPerSecond":15.2,"upstream429":218,"refused":{"queue_full":3},
                            "statuses":{"200":890,"404":2},
                            "waitMs":{"count":9,"p50":1.0,"p95":2.0,"p99":3.0,"max":4.0},
                            "flightMs":{"count":0,"p50":null,"p95":null,"p99":null,"max":null}})"));
}

TEST(StatusUpstreams, lists_the_requests_that_wait_and_whose_they_are) {
  const UpstreamDetails details{.waiting = {{.id = "AAA",
                                             .method = "GET",
                                             .host = "a.example",
                                             .path = "/x",
                                             .group = "g",
                                             .user = "u",
                                             .client = "10.0.0.7",
                                             .since = 2s,
                                             .limited_by = "pacer",
                                             .leaves_in = 5ms},
                                            {.id = "AAB"}},
                                .callers = {{"10.0.0.7", 12}}};
  const json waiting = json::parse(json_text(waiting_json(details)));
  EXPECT_EQ(waiting[0], json::parse(R"({"id":"AAA","method":"GET","host":"a.example","path":"/x","group":"g",
                                        "user":"u","client":"10.0.0.7","sinceMs":2000.0,"limitedBy":"pacer",
                                        "leavesInMs":5.0})"));
  EXPECT_EQ(waiting[1]["leavesInMs"], nullptr);
  EXPECT_EQ(json::parse(json_text(callers_json(details))), json::parse(R"([["10.0.0.7",12]])"));
}

TEST(StatusUpstreams, the_process_says_what_it_was_told_and_what_it_hides) {
  Config config;
  config.proxy.listen = {"127.0.0.1", 3128};
  const Snapshot snapshot{.config_hash = "4f2c1a000000", .loaded_at = 1800000000};
  const json hidden = json::parse(json_text(process_json(snapshot, config, {.why = "because"})));
  EXPECT_EQ(hidden["configHash"], "4f2c1a000000");
  EXPECT_EQ(hidden["loadedAt"], 1800000000);
  EXPECT_EQ(hidden["listen"], "127.0.0.1:3128");
  EXPECT_EQ(hidden["details"], false);
  EXPECT_EQ(hidden["detailsWhy"], "because");
  EXPECT_EQ(hidden["redis"], nullptr);
}

TEST(StatusConfiguration, shows_what_requests_cost) {
  Config config;
  config.upstreams.push_back({.name = "openai", .match = {}, .settings = {}});
  auto& settings = config.upstreams[0].settings;
  settings.cost = CostConfig{.unit = "tokens", .estimate = {"json:max_tokens", "bytes/4"}, .actual = {"openai"}};
  settings.limits = {{.kind = CounterConfig{7, 1min}, .unit = "tokens"}};
  const auto entry = [&] {
    return nlohmann::json::parse(status_json({}, config, {}))["configuration"]["upstreams"][0];
  };
  EXPECT_EQ(entry()["cost"], nlohmann::json::parse(R"({"unit": "tokens", "estimate": ["json:max_tokens", "bytes/4"],
                                                       "actual": ["openai"], "max": null, "streamUsage": false})"));
  EXPECT_EQ(entry()["limits"][0]["counter"]["unit"], "tokens");
  settings.cost->max = 5;
  EXPECT_EQ(entry()["cost"]["max"], 5);
  settings.cost.reset();
  EXPECT_FALSE(entry().contains("cost"));
}

}  // namespace
}  // namespace penstock::observe
