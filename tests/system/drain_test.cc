// SPDX-License-Identifier: Apache-2.0
// The end: SIGTERM drains within the grace, a second signal ends at once, and nothing is left hanging.
#include <gmock/gmock.h>
#include <signal.h>

#include <deque>

#include "system/stage.h"

namespace penstock::trial {
namespace {

Given patient() { return {.yaml = "defaults: { maxConcurrent: 1 }\n", .grace = "20s"}; }

/// One request in flight, held, and two pending.
struct Loaded : Stage {
  explicit Loaded(const Given& given) : Stage(given) {
    origin.otherwise(scripts::held());
    for (int i = 0; i < 3; ++i) clients.emplace_back(daemon.port()).send(get(url("/" + std::to_string(i))));
    EXPECT_TRUE(daemon.await_pending(origin.host(), 2));
  }
  bool await_draining() const {
    return eventually([this] { return daemon.admin("/readyz").status == 503; });
  }
  bool accepts() const {
    try {
      Client client(daemon.port());
      client.send(get(url("/late")));
      return client.reply().status == 200;
    } catch (const std::exception&) {
      return false;
    }
  }
  std::deque<Client> clients;
};

TEST(Drain, finishes_what_is_in_flight_and_pending_then_exits_0) {
  Loaded stage(patient());
  stage.daemon.signal(SIGTERM);
  ASSERT_TRUE(stage.await_draining());
  EXPECT_EQ(stage.daemon.admin("/healthz").status, 200) << "alive, though not ready";
  EXPECT_FALSE(stage.accepts());
  stage.origin.release_all();
  for (auto& client : stage.clients) {
    const Reply reply = client.reply();
    EXPECT_EQ(reply.body, "released");
    EXPECT_TRUE(client.closed());
  }
  EXPECT_EQ(stage.daemon.exit_code(), 0);
  EXPECT_EQ(stage.daemon.await_events(3, "complete").size(), 3u);
}

TEST(Drain, by_sigint_is_the_same) {
  Loaded stage(patient());
  stage.daemon.signal(SIGINT);
  ASSERT_TRUE(stage.await_draining());
  stage.origin.release_all();
  for (auto& client : stage.clients) EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(stage.daemon.exit_code(), 0);
}

TEST(Drain, of_an_idle_proxy_ends_at_once) {
  Stage stage(patient());
  Client idle(stage.daemon.port());
  idle.send(get(stage.url()));
  EXPECT_EQ(idle.reply().status, 200);
  const auto start = Clock::now();
  stage.daemon.signal(SIGTERM);
  EXPECT_EQ(stage.daemon.exit_code(), 0);
  EXPECT_LT(Clock::now() - start, 10s) << "an idle connection keeps nobody waiting";
  EXPECT_TRUE(idle.closed());
}

TEST(Drain, answers_503_to_what_comes_later_on_an_open_connection) {
  Loaded stage(patient());
  Client open(stage.daemon.port());
  open.send("GET " + stage.url("/late") + " HTTP/1.1\r\n");  // half a head: the connection is not idle
  ASSERT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") >= 4; }));
  stage.daemon.signal(SIGTERM);
  ASSERT_TRUE(stage.await_draining());
  open.send("Host: a\r\n\r\n");
  const Reply reply = open.reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.error(), "connection_limit_reached");
  EXPECT_TRUE(reply.fields.has("retry-after"));
  EXPECT_TRUE(open.closed());
  stage.origin.release_all();
  EXPECT_EQ(stage.daemon.exit_code(), 0);
}

TEST(Drain, answers_503_to_what_is_pending_when_the_grace_is_over) {
  Loaded stage({.yaml = "defaults: { maxConcurrent: 1 }\n", .grace = "500ms"});
  const auto start = Clock::now();
  stage.daemon.signal(SIGTERM);
  for (std::size_t i = 1; i < 3; ++i) {
    const Reply reply = stage.clients[i].reply();
    EXPECT_EQ(reply.status, 503);
    EXPECT_TRUE(reply.fields.has("retry-after"));
  }
  EXPECT_EQ(stage.daemon.exit_code(), 0);
  EXPECT_GE(Clock::now() - start, 490ms);
  EXPECT_LT(Clock::now() - start, 10s);
  EXPECT_EQ(stage.daemon.await_events(2, "refused").size(), 2u);
  EXPECT_EQ(stage.daemon.await_events(1, "error").size(), 1u);
}

TEST(SecondSignal, ends_at_once) {
  Given given = patient();
  given.grace = "10m";
  given.is_clean = false;
  Loaded stage(given);
  stage.daemon.signal(SIGTERM);
  ASSERT_TRUE(stage.await_draining());
  const auto start = Clock::now();
  stage.daemon.signal(SIGTERM);
  EXPECT_TRUE(stage.daemon.exit_code(10s).has_value());
  EXPECT_LT(Clock::now() - start, 10s);
  for (auto& client : stage.clients) {
    client.rest();
    EXPECT_TRUE(client.socket().ended());
  }
}

TEST(Sigpipe, and_clients_that_vanish_while_written_to_do_no_harm) {
  Stage stage;
  stage.origin.otherwise(scripts::sized(4 * 1024 * 1024));
  for (int i = 0; i < 50; ++i) {
    Client client(stage.daemon.port());
    client.send(get(stage.url()));
    ASSERT_TRUE(client.hears_within(kPatience));
    client.reset();
  }
  EXPECT_TRUE(stage.daemon.await_in_flight(stage.origin.host(), 0));
  EXPECT_EQ(stage.fetch("/").body.size(), 4u * 1024 * 1024);
}

}  // namespace
}  // namespace penstock::trial
