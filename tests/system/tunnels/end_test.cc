// SPDX-License-Identifier: Apache-2.0
// What goes through tunnels, how they end, and what they leave behind.
#include <gmock/gmock.h>
#include <signal.h>

#include <thread>

#include "system/tunnels.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMuch = 64 * 1024 * 1024;

TEST(TunnelEnd, of_one_side_leaves_the_other_open) {
  Tunnels stage;
  for (const bool client_first : {true, false}) {
    SCOPED_TRACE(client_first);
    auto [client, upstream] = stage.open();
    Near& first = client_first ? *client : *upstream;
    Near& second = client_first ? *upstream : *client;
    first.send("a question");
    first.socket.half_close();
    EXPECT_EQ(second.rest(), "a question");
    const std::string answer = pattern(0, 3'000'000);
    std::thread answering([&] {
      second.send(answer);
      second.socket.half_close();
    });
    EXPECT_EQ(first.rest(), answer);
    answering.join();
    EXPECT_FALSE(first.socket.was_reset());
  }
  EXPECT_EQ(stage.daemon.await_events(2, "complete").size(), 2u);
  EXPECT_TRUE(stage.await_rest());
}

TEST(TunnelEnd, without_a_byte_from_the_upstream_is_an_error) {
  Tunnels stage;
  {
    auto [client, upstream] = stage.open();
    client->send("hello?");
    EXPECT_EQ(upstream->take(6), "hello?");
  }
  const Json error = stage.daemon.await_event("error");
  EXPECT_EQ(error.at("error"), "connection_terminated");
  EXPECT_EQ(error.at("bytesOut"), 6);
}

TEST(TunnelEnd, by_a_reset_resets_the_other_side) {
  Tunnels stage;
  for (const bool by_client : {true, false}) {
    auto [client, upstream] = stage.open();
    upstream->send("x");
    EXPECT_EQ(client->take(1), "x");
    (by_client ? client : upstream)->socket.reset();
    Near& other = by_client ? *upstream : *client;
    EXPECT_EQ(other.rest(), "");
    EXPECT_TRUE(other.socket.was_reset());
  }
  const auto errors = stage.daemon.await_events(2, "error");
  ASSERT_EQ(errors.size(), 2u);
  for (const auto& error : errors) EXPECT_EQ(error.at("error"), "connection_terminated");
  EXPECT_EQ(stage.daemon.metric("penstock_requests_total", "outcome=\"client_gone\""), 1);
  EXPECT_EQ(stage.daemon.metric("penstock_requests_total", "outcome=\"upstream_error\""), 1);
}

TEST(TunnelEnd, by_a_reset_of_the_upstream_is_one_for_a_client_that_had_closed_its_side) {
  Tunnels stage;
  auto [client, upstream] = stage.open();
  client->socket.half_close();
  EXPECT_EQ(upstream->rest(), "");
  upstream->send("x");
  EXPECT_EQ(client->take(1), "x");
  upstream->socket.reset();
  EXPECT_EQ(client->rest(), "");
  EXPECT_TRUE(client->socket.was_reset()) << "more may have been to come";
  EXPECT_EQ(stage.daemon.await_events(1, "error").size(), 1u);
}

TEST(TunnelEnd, by_a_reset_of_an_upstream_that_had_said_all_is_the_end_and_no_more) {
  Tunnels stage;
  auto [client, upstream] = stage.open();
  client->send("a question");
  EXPECT_EQ(upstream->take(10), "a question");
  upstream->send("an answer");
  upstream->socket.half_close();
  EXPECT_EQ(client->take(9), "an answer");
  upstream->socket.reset();
  EXPECT_EQ(stage.daemon.await_events(1, "complete").size(), 1u);
  EXPECT_EQ(client->rest(), "");
  EXPECT_FALSE(client->socket.was_reset());
  EXPECT_TRUE(stage.await_rest());
}

/// Sends until nothing goes any more.
void fill(Near& near) {
  const std::string bytes(1024 * 1024, 'f');
  while (near.socket.send(bytes, Clock::now() + 200ms) == bytes.size()) {
  }
}

TEST(TunnelEnd, comes_at_every_stage_by_either_side_and_leaves_nothing_behind) {
  Tunnels stage("maxConcurrent: 2");
  const std::size_t before = stage.daemon.descriptors();
  std::size_t opened = 0;
  using Kill = void (*)(Socket&);
  const Kill kills[] = {[](Socket& socket) { socket.reset(); }, [](Socket& socket) { socket.close(); }};
  for (const bool by_client : {true, false}) {
    for (const Kill kill : kills) {
      const auto after = [&](const char* what, auto prepare) {
        SCOPED_TRACE(what);
        auto pair = stage.open();
        ++opened;
        prepare(*pair.client, *pair.upstream);
        kill((by_client ? pair.client : pair.upstream)->socket);
        (by_client ? pair.upstream : pair.client)->rest();
        (by_client ? pair.upstream : pair.client)->socket.close();
        EXPECT_TRUE(stage.await_rest());
      };
      after("open", [](Near&, Near&) {});
      after("speaking", [](Near& client, Near& upstream) { client.send("a"), upstream.send("b"); });
      after("client full", [](Near& client, Near&) { fill(client); });
      after("upstream full", [](Near&, Near& upstream) { fill(upstream); });
      after("both full", [](Near& client, Near& upstream) { fill(client), fill(upstream); });
      after("client half closed", [](Near& client, Near&) { client.socket.half_close(); });
      after("upstream half closed", [](Near&, Near& upstream) { upstream.socket.half_close(); });
      after("full and half closed", [](Near& client, Near&) { fill(client), client.socket.half_close(); });
    }
  }
  for (const Kill kill : kills) {
    auto one = stage.open(), two = stage.open();
    opened += 2;
    auto pending = stage.ask("early");
    ASSERT_TRUE(stage.daemon.await_pending(stage.far.host(), 1));
    kill(pending->socket);
    EXPECT_TRUE(stage.daemon.await_pending(stage.far.host(), 0));
  }
  EXPECT_TRUE(stage.await_rest());
  EXPECT_TRUE(eventually([&] { return stage.daemon.descriptors() <= before; })) << stage.daemon.descriptors() - before;
  EXPECT_EQ(stage.daemon.metric("penstock_tunnels"), 0);
  const auto ends = [&](const Json& event) { return event.at("event") == "complete" || event.at("event") == "error"; };
  EXPECT_EQ(stage.daemon.await_events(opened, "dispatch").size(), opened);
  EXPECT_EQ(stage.daemon.await_events(opened, ends).size(), opened);
}

TEST(TunnelBytes, wait_for_a_reader_that_stops_in_little_memory) {
  for (const bool down : {true, false}) {
    SCOPED_TRACE(down ? "to the client" : "to the upstream");
    Tunnels stage;
    auto [client, upstream] = stage.open();
    Near& from = down ? *upstream : *client;
    Near& to = down ? *client : *upstream;
    const std::size_t before = stage.daemon.resident_kib();
    std::thread sending([&] {
      for (std::size_t sent = 0; sent < kMuch; sent += 1024 * 1024) EXPECT_TRUE(from.send(pattern(sent, 1024 * 1024)));
      from.socket.half_close();
    });
    std::this_thread::sleep_for(300ms);  // a pause, not a condition: whatever got through by now, the rest must wait
    EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 32 : 4) * 1024);
    std::size_t read = 0;
    for (std::string piece = to.take(1024 * 1024); !piece.empty(); piece = to.take(1024 * 1024)) {
      ASSERT_TRUE(is_pattern(read, piece)) << read;
      read += piece.size();
    }
    sending.join();
    EXPECT_EQ(read, kMuch);
    EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 32 : 4) * 1024);
  }
}

TEST(TunnelBytes, do_not_lock_each_other_out_when_both_sides_are_full) {
  Tunnels stage;
  auto [client, upstream] = stage.open();
  std::size_t sent[2] = {0, 0};
  const std::string bytes = pattern(0, 1024 * 1024);
  Near* sides[] = {client.get(), upstream.get()};
  for (int side : {0, 1}) {
    std::size_t more = 0;
    while ((more = sides[side]->socket.send(std::string_view(bytes).substr(sent[side] % bytes.size()),
                                            Clock::now() + 200ms)) > 0)
      sent[side] += more;
    EXPECT_GT(sent[side], 0u);
  }
  for (int side : {0, 1}) {
    for (std::size_t taken = 0; taken < sent[1 - side];) {
      const std::string got = sides[side]->take(std::min(sent[1 - side] - taken, bytes.size()));
      ASSERT_TRUE(got == std::string_view(bytes).substr(0, got.size()) && !got.empty()) << "behind " << taken;
      taken += got.size();
    }
  }
}

TEST(TunnelIdle, ends_it_when_no_byte_moves_either_way) {
  Tunnels stage("timeouts: { tunnelIdle: 300ms, idle: 100ms, firstByte: 100ms }");
  const auto start = Clock::now();
  auto [client, upstream] = stage.open();
  EXPECT_EQ(client->rest(), "");
  EXPECT_EQ(upstream->rest(), "");
  EXPECT_GE(Clock::now() - start, 290ms);
  EXPECT_TRUE(within(300ms + kLate, start));
  const Json error = stage.daemon.await_event("error");
  EXPECT_EQ(error.at("error"), "connection_read_timeout");
  EXPECT_THAT(error.at("detail"), HasSubstr("timeouts.tunnelIdle"));
  EXPECT_TRUE(stage.await_rest());
}

TEST(TunnelTotal, ends_it_however_much_goes_through) {
  Tunnels stage("timeouts: { total: 1s }");
  auto [client, upstream] = stage.open();
  const auto start = Clock::now();
  while (upstream->send("x") && client->take(1) == "x" && Clock::now() < start + kPatience) {
  }
  EXPECT_EQ(client->rest(), "");
  EXPECT_TRUE(client->socket.was_reset());
  EXPECT_TRUE(within(1s + kLate, start));
  const Json error = stage.daemon.await_event("error");
  EXPECT_EQ(error.at("error"), "connection_read_timeout");
  EXPECT_THAT(error.at("detail"), HasSubstr("timeouts.total"));
  EXPECT_GE(error.at("flightMs"), 1000);
}

TEST(TunnelIdle, after_the_upstreams_end_is_short_so_that_a_kept_dead_connection_holds_no_slot) {
  Tunnels stage("maxConcurrent: 1");
  auto first = stage.open();
  first.upstream->send("the answer");
  first.upstream->socket.close();
  EXPECT_EQ(first.client->rest(), "the answer");  // and it does not look at the connection any more
  const auto second = stage.open();
  EXPECT_EQ(stage.daemon.await_events(1, "complete").size(), 1u);
}

TEST(TunnelIdle, after_the_upstreams_end_does_not_cut_a_reader_short) {
  Tunnels stage("maxConcurrent: 1");
  auto first = stage.open();
  const std::string answer = pattern(0, 64 * 1024);
  first.upstream->send(answer);
  first.upstream->socket.close();
  const auto second = stage.open();  // the first has landed, and its client has yet to read
  EXPECT_EQ(first.client->rest(), answer);
}

TEST(TunnelIdle, does_not_end_one_in_which_one_side_speaks) {
  Tunnels stage("timeouts: { tunnelIdle: 3s }");
  auto [client, upstream] = stage.open();
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(200ms);  // all in all more than the time-out
    upstream->send("x");
    ASSERT_EQ(client->take(1), "x") << i;
  }
}

TEST(TunnelDrain, lets_it_finish_within_the_grace) {
  Tunnels stage("maxConcurrent: 64", "20s");
  auto [client, upstream] = stage.open();
  stage.daemon.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return stage.daemon.admin("/readyz").status == 503; }));
  upstream->send("last words");
  upstream->socket.close();
  EXPECT_EQ(client->rest(), "last words");
  client->socket.close();
  EXPECT_EQ(stage.daemon.exit_code(), 0);
  EXPECT_EQ(stage.daemon.await_events(1, "complete").size(), 1u);
}

}  // namespace
}  // namespace penstock::trial
