// SPDX-License-Identifier: Apache-2.0
// The admin port as operators and Prometheus find it.
#include <gmock/gmock.h>

#include <deque>

#include "system/stage.h"

namespace penstock::trial {
namespace {

TEST(Status, tells_what_waits_and_what_flies) {
  Stage stage(with_defaults("maxConcurrent: 2"));
  stage.origin.otherwise(scripts::held());
  std::deque<Client> clients;
  for (int i = 0; i < 5; ++i) clients.emplace_back(stage.daemon.port()).send(get(stage.url()));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 3));
  EXPECT_EQ(stage.daemon.status(stage.origin.host()).at("inFlight"), 2);
  EXPECT_EQ(stage.daemon.status(stage.origin.host()).at("maxConcurrent"), 2);
  stage.origin.release_all();
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
  ASSERT_TRUE(stage.daemon.await_in_flight(stage.origin.host(), 0));
  const Reply status = stage.daemon.admin("/status");
  EXPECT_TRUE(status.field("content-type").starts_with("application/json"));
  EXPECT_FALSE(Json::parse(status.body).at("version").get<std::string>().empty());
}

TEST(Metrics, count_what_happened) {
  Stage stage(
      {.yaml =
           "defaults: { maxConcurrent: 1, queue: { maxPending: 0 } }\nupstreams: { named: { match: 127.0.0.1 } }\n"});
  stage.origin.on("/404", scripts::answers(404, "no"));
  stage.origin.on("/429", scripts::answers(429, "slowly"));
  stage.origin.on("/reset", [](Visit& visit) { visit.reset(); });
  stage.origin.on("/held", scripts::held());
  EXPECT_EQ(stage.fetch("/").status, 200);
  EXPECT_EQ(stage.fetch("/404").status, 404);
  EXPECT_EQ(stage.fetch("/429").status, 429);
  EXPECT_EQ(stage.fetch("/reset").status, 502);
  Client holder(stage.daemon.port());
  holder.send(get(stage.url("/held")));
  ASSERT_TRUE(stage.daemon.await_in_flight("named", 1));
  EXPECT_EQ(stage.fetch("/full").status, 503);
  const auto requests = [&](const std::string& outcome) {
    return stage.daemon.metric("penstock_requests_total", "upstream=\"named\",outcome=\"" + outcome + "\"") +
           stage.daemon.metric("penstock_requests_total", "outcome=\"" + outcome + "\",upstream=\"named\"");
  };
  EXPECT_EQ(requests("success"), 1);
  EXPECT_EQ(requests("http_error"), 2);
  EXPECT_EQ(requests("upstream_error"), 1);
  EXPECT_EQ(requests("refused"), 1);
  EXPECT_EQ(stage.daemon.metric("penstock_in_flight_requests", "upstream=\"named\""), 1);
  EXPECT_EQ(stage.daemon.metric("penstock_max_concurrent", "upstream=\"named\""), 1);
  EXPECT_EQ(stage.daemon.metric("penstock_refusals_total", "kind=\"queue_full\""), 1);
  EXPECT_EQ(stage.daemon.metric("penstock_responses_total", "code=\"404\""), 1);
  EXPECT_EQ(stage.daemon.metric("penstock_flight_seconds_count", "upstream=\"named\""), 4);
  EXPECT_EQ(stage.daemon.metric("penstock_departures_total", "upstream=\"named\""), 5) << "with the one in flight";
  EXPECT_EQ(stage.daemon.metric("penstock_upstream_refusals_total", "code=\"429\",upstream=\"named\""), 1);
  EXPECT_EQ(stage.daemon.metric("penstock_upstream_refusals_total", "code=\"503\",upstream=\"named\""), 0)
      << "that one was ours";
  stage.origin.release();
  EXPECT_EQ(holder.reply().status, 200);
  EXPECT_TRUE(eventually([&] { return requests("success") == 2; }));
  EXPECT_GT(stage.daemon.metric("penstock_mean_latency_seconds", "upstream=\"named\""), 0);
  EXPECT_GT(stage.daemon.metric("penstock_rps", "upstream=\"named\""), 0);
}

TEST(Metrics, answer_while_the_proxy_is_busy) {
  Stage stage;
  stage.origin.otherwise(scripts::held());
  std::deque<Client> clients;
  for (int i = 0; i < 500; ++i) clients.emplace_back(stage.daemon.port()).send(get(stage.url()));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 500 - 64));
  const Reply metrics = stage.daemon.admin("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_TRUE(metrics.field("content-type").starts_with("text/plain; version=0.0.4")) << metrics.head;
  EXPECT_EQ(stage.daemon.metric("penstock_pending_requests"), 500 - 64);
  stage.origin.release_all();
}

}  // namespace
}  // namespace penstock::trial
