// SPDX-License-Identifier: Apache-2.0
// Thousands of tunnels: all at once, and dropped before they came about. In the end nothing of them may be left: no
// slot, no descriptor, and one outcome of each in the log.
#include <gmock/gmock.h>

#include <deque>
#include <map>

#include "support/name_server.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

constexpr std::size_t kSpare = 200;  // descriptors for everything that is no tunnel

void expect_rest(const Daemon& daemon, std::size_t descriptors) {
  EXPECT_TRUE(eventually([&] { return daemon.metric("penstock_in_flight_requests") == 0; }));
  EXPECT_EQ(daemon.metric("penstock_pending_requests"), 0);
  EXPECT_EQ(daemon.metric("penstock_tunnels"), 0);
  EXPECT_TRUE(eventually([&] { return daemon.descriptors() <= descriptors; }))
      << daemon.descriptors() << " descriptors, " << descriptors << " before";
}

/// What became of a request, by its events.
struct Life {
  int dispatches = 0, ends = 0;  // `complete` or `error`
  int others = 0;                // `refused` or `gone`
};

/// Each accepted request has one outcome, and who took off has landed. How many there are of each kind.
std::map<std::string, std::size_t> expect_one_outcome_each(const Daemon& daemon) {
  std::map<std::string, Life> lives;
  std::map<std::string, std::size_t> kinds;
  for (const Json& event : daemon.events()) {
    const std::string kind = event.at("event");
    ++kinds[kind];
    Life& life = lives[event.at("id")];
    ++(kind == "dispatch" ? life.dispatches : kind == "complete" || kind == "error" ? life.ends : life.others);
  }
  for (const auto& [id, life] : lives) {
    EXPECT_EQ(life.ends + life.others, 1) << id;
    EXPECT_EQ(life.ends, life.dispatches) << id;
  }
  EXPECT_EQ(daemon.metric("penstock_requests_total"), lives.size());
  return kinds;
}

/// The log is written by a thread of its own.
void await_outcomes(const Daemon& daemon) {
  const auto ended = static_cast<std::size_t>(daemon.metric("penstock_requests_total"));
  daemon.await_events(ended, [](const Json& event) { return event.at("event") != "dispatch"; });
}

TEST(TunnelCrowd, of_two_thousand_passes_bytes_both_ways_and_leaves_nothing_behind) {
  constexpr std::size_t kTunnels = 2000, kBytes = 4096;
  ASSERT_GE(allow_open_files(), 2 * kTunnels + kSpare);
  // They rest at no time, so all that are open are in flight.
  Tunnels stage("maxConcurrent: 2000");
  const Daemon& daemon = stage.daemon;
  const std::size_t before = daemon.descriptors();
  std::vector<Tunnels::Pair> pairs;
  for (std::size_t i = 0; i < kTunnels; ++i) {
    pairs.push_back(stage.open());
    pairs.back().client->send(pattern(i * 7919, kBytes));
  }
  EXPECT_EQ(daemon.metric("penstock_tunnels"), kTunnels);
  EXPECT_EQ(daemon.metric("penstock_in_flight_requests"), kTunnels);
  EXPECT_GE(daemon.descriptors(), 2 * kTunnels);
  for (std::size_t i = 0; i < kTunnels; ++i) {
    const std::string said = pairs[i].upstream->take(kBytes);
    EXPECT_TRUE(said.size() == kBytes && is_pattern(i * 7919, said)) << i;
    pairs[i].upstream->send(said);
  }
  for (std::size_t i = 0; i < kTunnels; ++i) {
    const auto& [client, upstream] = pairs[i];
    const std::string heard = client->take(kBytes);
    EXPECT_TRUE(heard.size() == kBytes && is_pattern(i * 7919, heard)) << i;
    client->socket.half_close();
    EXPECT_EQ(upstream->rest(), "");
    upstream->socket.close();
    EXPECT_EQ(client->rest(), "");
  }
  expect_rest(daemon, before);
  EXPECT_EQ(daemon.await_events(kTunnels, "complete").size(), kTunnels);
  const auto kinds = expect_one_outcome_each(daemon);
  EXPECT_THAT(kinds, testing::ElementsAre(std::pair{"complete", kTunnels}, std::pair{"dispatch", kTunnels}));
  EXPECT_EQ(daemon.metric("penstock_tunnel_bytes_total", "direction=\"in\""), kTunnels * kBytes);
  EXPECT_EQ(daemon.metric("penstock_tunnel_bytes_total", "direction=\"out\""), kTunnels * kBytes);
}

TEST(TunnelCrowd, of_ten_thousand_dropped_while_names_hang_or_nobody_answers_gives_all_slots_back) {
  constexpr std::size_t kTunnels = 10'000, kEach = 1000;  // at each of two places: 2 000 at a time
  ASSERT_GE(allow_open_files(), 4 * kEach + kSpare);
  const Silent silent;
  const test::NameServer mute([](const std::string&, std::uint16_t) { return std::nullopt; });
  const Daemon daemon({.yaml = "dns: { servers: [\"" + mute.address() +
                               "\"], timeout: 60s }\naccess: { connectPorts: [" + std::to_string(silent.port) +
                               "] }\ndefaults: { maxConcurrent: 1000, timeouts: { connect: 60s } }\n"});
  const auto in_flight = [&](std::size_t wanted) {
    return eventually([&] { return daemon.metric("penstock_in_flight_requests") == static_cast<double>(wanted); });
  };
  const auto drop = [&](std::size_t each, bool by_reset) {
    std::deque<Client> crowd;
    for (const auto& host : {silent.host(), "mute.test:" + std::to_string(silent.port)}) {
      for (std::size_t i = 0; i < each; ++i)
        crowd.emplace_back(daemon.port()).send("CONNECT " + host + " HTTP/1.1\r\nHost: " + host + "\r\n\r\nearly");
    }
    EXPECT_TRUE(in_flight(2 * each));
    for (auto& client : crowd) by_reset ? client.reset() : client.close();
    EXPECT_TRUE(in_flight(0));
  };
  drop(1, true);  // the resolver keeps its own sockets from now on
  const std::size_t before = daemon.descriptors();
  for (std::size_t dropped = 0; dropped < kTunnels; dropped += 2 * kEach) drop(kEach, dropped / kEach % 4 == 0);
  expect_rest(daemon, before);
  await_outcomes(daemon);
  const auto kinds = expect_one_outcome_each(daemon);
  EXPECT_THAT(kinds, testing::ElementsAre(std::pair{"dispatch", kTunnels + 2}, std::pair{"error", kTunnels + 2}));
  EXPECT_EQ(daemon.metric("penstock_requests_total", "outcome=\"client_gone\""), kTunnels + 2);
}

}  // namespace
}  // namespace penstock::trial
