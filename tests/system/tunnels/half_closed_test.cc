// SPDX-License-Identifier: Apache-2.0
// Tunnels whose clients have closed their side: they end soon, and they are the first to go where slots are wanted. And
// which ends of a tunnel are no errors.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "system/tunnels.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

TEST(HalfClosed, ends_half_a_minute_after_the_last_byte) {
  Tunnels stage;
  auto silent = stage.open();
  silent.client->send("hello?");
  EXPECT_EQ(silent.upstream->take(6), "hello?");
  auto spoken = stage.open();
  spoken.upstream->send("hello!");
  EXPECT_EQ(spoken.client->take(6), "hello!");
  silent.client->socket.half_close(), spoken.client->socket.half_close();
  EXPECT_EQ(silent.upstream->rest(), "");
  const auto start = Clock::now();
  std::string bytes;
  EXPECT_FALSE(silent.client->socket.receive(bytes, Clock::now() + 40s));
  EXPECT_TRUE(silent.client->socket.was_reset()) << "an answer may have been to come";
  EXPECT_GE(Clock::now() - start, 29s);
  EXPECT_TRUE(within(30s + kLate, start));
  const auto errors = stage.daemon.await_events(1, "error");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].at("detail"), HasSubstr("the client had closed its side"));
  EXPECT_EQ(stage.daemon.await_events(1, "complete").size(), 1u) << "the one that had been answered";
}

TEST(HalfClosed, lets_an_answer_come_that_takes_its_time) {
  Tunnels stage("timeouts: { tunnelRest: 50ms }");
  auto [client, upstream] = stage.open();
  client->send("a question");
  client->socket.half_close();
  EXPECT_EQ(upstream->rest(), "a question");
  std::this_thread::sleep_for(1s);  // the upstream thinks
  const std::string answer = pattern(0, 300'000);
  upstream->send(answer);
  upstream->socket.close();
  EXPECT_EQ(client->rest(), answer);
  EXPECT_EQ(stage.daemon.await_events(1, "complete").size(), 1u);
}

TEST(HalfClosed, goes_first_where_seats_are_wanted) {
  constexpr int kSeats = 200;
  for (const char* cap : {"connections", "connectionsPerClient"}) {
    SCOPED_TRACE(cap);
    FarEnd far;
    const Daemon daemon({.yaml = "defaults: { maxConcurrent: 400, timeouts: { tunnelRest: 50ms } }\naccess: { "
                                 "connectPorts: [" +
                                 std::to_string(far.port()) + "] }\ncaps: { " + cap + ": " + std::to_string(kSeats) +
                                 " }\n"});
    const std::string connect = "CONNECT " + far.host() + " HTTP/1.1\r\nHost: " + far.host() + "\r\n\r\n";
    std::vector<std::unique_ptr<Near>> upstreams;
    for (int i = 0; i < 3 * kSeats; ++i) {
      Near client(Socket::connect(daemon.port()));
      client.send(connect);
      ASSERT_EQ(client.reply().status, 200) << "locked out after " << i;
      upstreams.push_back(std::make_unique<Near>(far.accept()));
    }
    EXPECT_LE(daemon.metric("penstock_tunnels"), kSeats);
    EXPECT_TRUE(daemon.await_events(0, "refused").empty());
  }
}

TEST(HalfClosed, holds_no_slot_and_goes_first_where_tunnels_are_wanted) {
  Tunnels stage("maxConcurrent: 2, maxTunnels: 20, timeouts: { tunnelRest: 10s }");
  std::vector<std::unique_ptr<Near>> upstreams;
  const auto start = Clock::now();
  for (int i = 0; i < 60; ++i) {
    auto pair = stage.open();
    upstreams.push_back(std::move(pair.upstream));  // which says nothing, and does not close
  }
  EXPECT_TRUE(within(5s, start)) << "each waits for those before it to rest, or to end";
  EXPECT_LE(stage.daemon.metric("penstock_tunnels"), 20);
  EXPECT_TRUE(stage.daemon.await_events(0, "refused").empty());
}

TEST(HalfClosed, holds_its_slot_for_two_seconds_where_an_answer_is_awaited) {
  Tunnels stage("maxConcurrent: 1, timeouts: { tunnelRest: 50ms }");
  auto [client, upstream] = stage.open();
  client->send("a question");
  const auto start = Clock::now();
  client->socket.half_close();
  EXPECT_EQ(upstream->rest(), "a question");
  const auto next = stage.open();
  EXPECT_GE(Clock::now() - start, 1500ms);
  EXPECT_TRUE(within(2s + kLate, start));
  upstream->send("an answer");
  upstream->socket.close();
  EXPECT_EQ(client->rest(), "an answer") << "it stays open";
}

TEST(HalfClosed, leaves_those_alone_whose_clients_have_not_closed) {
  Tunnels stage("timeouts: { tunnelRest: 50ms }");
  ASSERT_TRUE(stage.daemon.reloads("access: { connectPorts: [" + std::to_string(stage.far.port()) +
                                   "] }\ncaps: { connectionsPerClient: 2 }\n"));
  auto first = stage.open(), second = stage.open();
  EXPECT_EQ(stage.ask()->reply().status, 503);
  second.client->socket.half_close();
  EXPECT_EQ(second.upstream->rest(), "");
  auto third = stage.open();
  EXPECT_EQ(second.client->rest(), "");
  first.upstream->send("still here");
  EXPECT_EQ(first.client->take(10), "still here");
}

struct OneTunnel {
  explicit OneTunnel(const std::string& timeouts = "tunnelRest: 100ms") : stage("timeouts: { " + timeouts + " }") {
    pair = stage.open();
    pair.client->send("ask");
    EXPECT_EQ(pair.upstream->take(3), "ask");
    pair.upstream->send("answer");
    EXPECT_EQ(pair.client->take(6), "answer");
  }
  void await_resting() const {
    EXPECT_TRUE(eventually([&] { return stage.daemon.metric("penstock_resting_tunnels") == 1; }));
  }
  void expect_complete() const {
    const auto ends = [](const Json& event) { return event.at("event") != "dispatch"; };
    const auto ended = stage.daemon.await_events(1, ends);
    ASSERT_EQ(ended.size(), 1u);
    EXPECT_EQ(ended[0].at("event"), "complete") << ended[0];
    EXPECT_EQ(ended[0].at("inFlight"), 0);
    EXPECT_EQ(stage.daemon.metric("penstock_requests_total", "outcome=\"success\""), 1);
  }

  Tunnels stage;
  Tunnels::Pair pair;
};

TEST(TunnelEndsWell, when_the_client_closes_and_the_upstream_after_it) {
  OneTunnel one;
  one.pair.client->socket.close();
  EXPECT_EQ(one.pair.upstream->rest(), "");
  one.pair.upstream->socket.close();
  one.expect_complete();
}

TEST(TunnelEndsWell, when_the_client_has_closed_and_the_upstream_answers_its_good_bye) {
  OneTunnel one;
  one.pair.client->send("good-bye");
  one.pair.client->socket.close();
  EXPECT_EQ(one.pair.upstream->rest(), "good-bye");
  one.pair.upstream->send("good-bye");  // which nobody takes any more
  one.pair.upstream->socket.close();
  one.expect_complete();
}

TEST(TunnelEndsWell, when_the_client_has_closed_and_the_upstream_resets) {
  OneTunnel one;
  one.pair.client->socket.close();
  EXPECT_EQ(one.pair.upstream->rest(), "");
  one.pair.upstream->socket.reset();
  one.expect_complete();
}

/// Of the two, either may be heard of first.
TEST(TunnelEndsWell, when_the_client_resets_and_the_upstream_has_closed_before_we_look) {
  for (int i = 0; i < 8; ++i) {
    OneTunnel one("tunnelRest: 0s");
    ASSERT_TRUE(one.stage.daemon.stands_still());
    one.pair.client->socket.reset();
    one.pair.upstream->socket.close();
    one.stage.daemon.signal(SIGCONT);
    one.expect_complete();
  }
}

TEST(TunnelEndsBadly, when_the_client_resets_and_the_upstream_may_have_more_to_say) {
  OneTunnel one("tunnelRest: 0s");
  one.pair.client->socket.reset();
  const Json error = one.stage.daemon.await_event("error");
  EXPECT_EQ(error.at("detail"), "the client left");
}

TEST(TunnelEndsWell, when_the_client_closes_one_that_rests_in_whatever_way) {
  OneTunnel one;
  one.await_resting();
  one.pair.client->socket.reset();
  one.expect_complete();
}

TEST(TunnelEndsWell, when_it_rests_until_tunnelIdle) {
  OneTunnel one("tunnelRest: 100ms, tunnelIdle: 1s");
  EXPECT_EQ(one.pair.client->rest(), "");
  one.expect_complete();
}

TEST(TunnelEndsWell, when_it_rests_until_grace_is_over) {
  OneTunnel one;
  one.await_resting();
  one.stage.daemon.signal(SIGTERM);
  EXPECT_EQ(one.pair.client->rest(), "");
  EXPECT_EQ(one.stage.daemon.exit_code(), 0);
  EXPECT_EQ(one.stage.daemon.await_events(1, "complete").size(), 1u);
}

TEST(TunnelEndsWell, when_the_command_of_exec_ends) {
  FarEnd far;
  const std::string folder = new_folder(), events = folder + "/events.jsonl", file = folder + "/penstock.yaml";
  std::ofstream(file) << "version: 1\nlog: { events: '" << events << "' }\naccess: { connectPorts: [" << far.port()
                      << "] }\n";
  std::thread answering([&] {
    Near upstream(far.accept());
    EXPECT_EQ(upstream.take(3), "ask");
    upstream.send("answer\n");
    upstream.rest();  // and it does not close as long as it can help it
  });
  const std::string connect = "CONNECT " + far.host() + " HTTP/1.1\\r\\nHost: " + far.host() + "\\r\\n\\r\\n";
  const auto ended = run_program(
      {"exec", "--config", file, "--", "/bin/bash", "-c",
       "p=${http_proxy##*:}; exec 3<>/dev/tcp/127.0.0.1/${p%/}; printf '" + connect +
           "' >&3; read -r status <&3; read -r empty <&3; printf ask >&3; read -r answer <&3; echo \"$answer\""});
  answering.join();
  EXPECT_EQ(ended.out, "answer\n") << ended.err;
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::ifstream lines(events);
  std::vector<std::string> kinds;
  for (std::string line; std::getline(lines, line);) kinds.push_back(Json::parse(line).at("event"));
  EXPECT_THAT(kinds, testing::ElementsAre("dispatch", "complete"));
}

TEST(TunnelEndsBadly, when_an_answer_is_awaited_until_tunnelIdle) {
  OneTunnel one("tunnelRest: 100ms, tunnelIdle: 1s");
  one.pair.client->send("ask");
  EXPECT_EQ(one.pair.client->rest(), "");
  const Json error = one.stage.daemon.await_event("error");
  EXPECT_EQ(error.at("error"), "connection_read_timeout");
}

}  // namespace
}  // namespace penstock::trial
