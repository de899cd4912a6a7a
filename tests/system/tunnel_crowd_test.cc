// SPDX-License-Identifier: Apache-2.0
// Thousands of tunnels: all at once, ended by either side at every stage, and dropped before they came about. In the
// end nothing of them may be left: no slot, no descriptor, and one outcome of each in the log.
#include <gmock/gmock.h>

#include <deque>
#include <map>
#include <random>

#include "../support/name_server.h"
#include "system/stage.h"
#include "system/tunnel_crowd.h"

namespace penstock::trial {
namespace {

using test::NameServer;

constexpr std::size_t kSpare = 200;  // descriptors for everything that is no tunnel

/// Names that are answered, that do not exist, and, all others, that are never answered.
NameServer::Answer names() {
  return [](const std::string& name, std::uint16_t type) -> std::optional<NameServer::Reply> {
    if (name == "none.test") return NameServer::Reply{.rcode = NameServer::kNxdomain};
    if (name != "far.test") return std::nullopt;
    return NameServer::Reply{.addresses = type == NameServer::kA ? std::vector<std::string>{"127.0.0.1"}
                                                                 : std::vector<std::string>{}};
  };
}

Given through(const std::vector<std::uint16_t>& ports, const std::string& defaults, const std::string& name_server) {
  std::string list;
  for (const auto port : ports) list += (list.empty() ? "" : ", ") + std::to_string(port);
  return {.yaml = "dns: { servers: [\"" + name_server + "\"], timeout: 60s }\naccess: { connectPorts: [" + list +
                  "] }\ndefaults: { " + defaults + " }\n"};
}

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
  Crowd crowd;
  // They rest at no time, so all that are open are in flight.
  const Daemon daemon(through({crowd.far_port()},
                              "maxConcurrent: 2000, timeouts: { tunnelRest: 0s }, queue: { maxPending: 2000 }",
                              "127.0.0.1:9"));
  const std::size_t before = daemon.descriptors();
  const auto& counts = crowd.counts();
  for (std::size_t i = 0; i < kTunnels; ++i) {
    crowd.call(daemon.port(), {.host = crowd.far_host(), .offset = i * 7919, .size = kBytes, .stays = true});
    EXPECT_TRUE(i % 100 != 99 || crowd.play_until([&] { return counts.opened > i; }));
  }
  EXPECT_TRUE(crowd.play_until([&] { return counts.content == kTunnels; })) << counts.content;
  EXPECT_EQ(counts.callers, kTunnels);
  EXPECT_EQ(daemon.metric("penstock_tunnels"), kTunnels);
  EXPECT_EQ(daemon.metric("penstock_in_flight_requests"), kTunnels);
  EXPECT_GE(daemon.descriptors(), 2 * kTunnels);

  crowd.dismiss();
  EXPECT_TRUE(crowd.play_until([&] { return counts.callers + counts.calls == 0; }));
  EXPECT_EQ(crowd.complaint(), "");
  expect_rest(daemon, before);
  EXPECT_EQ(daemon.await_events(kTunnels, "complete").size(), kTunnels);
  const auto kinds = expect_one_outcome_each(daemon);
  EXPECT_THAT(kinds, testing::ElementsAre(std::pair{"complete", kTunnels}, std::pair{"dispatch", kTunnels}));
  EXPECT_EQ(daemon.metric("penstock_tunnel_bytes_total", "direction=\"in\""), kTunnels * kBytes);
  EXPECT_EQ(daemon.metric("penstock_tunnel_bytes_total", "direction=\"out\""), kTunnels * kBytes);
}

/// Draws what the sides of each tunnel are up to.
class Chance {
 public:
  explicit Chance(unsigned seed) : bits_(seed) {}

  bool in_hundred(unsigned times) { return below(100) < times; }
  std::size_t below(std::size_t end) { return bits_() % end; }

  FarPlan far() {
    const bool leaves = in_hundred(45);
    return {.leaves_at = !leaves          ? kNever
                         : in_hundred(35) ? 0
                                          : below(60'000),
            .resets = in_hundred(50),
            .half = in_hundred(25)};
  }

  CallerPlan caller(const std::string& host, bool answers) {
    const std::size_t size = 1 + below(64 * 1024);
    const bool impatient = !answers || in_hundred(15);
    return {.host = host,
            .offset = below(1'000'000),
            .size = size,
            .early = in_hundred(50),
            .patience = impatient ? Clock::duration(std::chrono::microseconds(below(30'000))) : kPatience,
            .leaves_at = in_hundred(50)   ? kNever
                         : in_hundred(35) ? 0
                                          : below(size),
            .resets = in_hundred(50)};
  }

 private:
  std::mt19937 bits_;  // whose numbers are the same everywhere
};

TEST(TunnelCrowd, of_which_either_side_leaves_at_any_stage_leaves_nothing_behind) {
  constexpr std::size_t kTunnels = 2000, kAtOnce = 200;
  constexpr unsigned kSeed = 20260111;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  ASSERT_GE(allow_open_files(), 4 * kAtOnce + kSpare);
  Chance chance(kSeed);
  Crowd crowd([&] { return chance.far(); });
  const Silent silent;
  const Closed closed;
  const NameServer name_server(names());
  const Daemon daemon(through({crowd.far_port(), silent.port, closed.port},
                              "maxConcurrent: 40, timeouts: { connect: 60s }", name_server.address()));
  const auto& counts = crowd.counts();
  const auto at = [](const std::string& name, std::uint16_t port) { return name + ":" + std::to_string(port); };
  struct Place {
    std::string host;
    std::size_t weight;
    bool answers = true;
  };
  const Place places[] = {
      {crowd.far_host(), 50},    {at("far.test", crowd.far_port()), 20}, {at("mute.test", crowd.far_port()), 10, false},
      {silent.host(), 8, false}, {at("none.test", crowd.far_port()), 6}, {closed.host(), 6}};
  const auto call = [&](const Place& place) { crowd.call(daemon.port(), chance.caller(place.host, place.answers)); };
  for (const auto& place : places) call(place);  // the resolver keeps its own sockets from now on
  ASSERT_TRUE(crowd.play_until([&] { return counts.callers + counts.calls == 0; }));
  ASSERT_TRUE(eventually([&] { return daemon.metric("penstock_in_flight_requests") == 0; }));
  ASSERT_TRUE(eventually([&] { return daemon.metric("penstock_connections") == 0; }));
  const std::size_t before = daemon.descriptors();

  for (std::size_t i = 0; i < kTunnels; ++i) {
    ASSERT_TRUE(crowd.play_until([&] { return counts.callers < kAtOnce; })) << i;
    std::size_t drawn = chance.below(100), place = 0;
    while (drawn >= places[place].weight) drawn -= places[place++].weight;
    call(places[place]);
  }
  EXPECT_TRUE(crowd.play_until([&] { return counts.callers + counts.calls == 0; }))
      << counts.callers << " callers, " << counts.calls << " calls";
  EXPECT_EQ(crowd.complaint(), "");
  expect_rest(daemon, before);
  await_outcomes(daemon);
  const auto kinds = expect_one_outcome_each(daemon);
  for (const char* kind : {"complete", "error", "gone"})
    EXPECT_GT(kinds.contains(kind) ? kinds.at(kind) : 0, 20u) << kind;
  EXPECT_FALSE(kinds.contains("refused"));
  for (const auto stage : {&Crowd::Counts::content, &Crowd::Counts::refused, &Crowd::Counts::impatient,
                           &Crowd::Counts::left_open, &Crowd::Counts::left_midway, &Crowd::Counts::far_left})
    EXPECT_GT(counts.*stage, 20u);
}

TEST(TunnelCrowd, of_ten_thousand_dropped_while_names_hang_or_nobody_answers_gives_all_slots_back) {
  constexpr std::size_t kTunnels = 10'000, kEach = 1000;  // at each of two places: 2 000 at a time
  ASSERT_GE(allow_open_files(), 4 * kEach + kSpare);
  const Silent silent;
  const NameServer name_server(names());
  const Daemon daemon(through({silent.port}, "maxConcurrent: 1000, timeouts: { connect: 60s }", name_server.address()));
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
