// SPDX-License-Identifier: Apache-2.0
// Crowds of requests of which each ends in another way, under a proxy that is stopped and woken: every one has its one
// story, no slot is lost, and there are never more at the origin than allowed.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "system/stage.h"

namespace penstock::trial {
namespace {

// To a peer that has closed the kernel answers a write with this, which ends a program that has not thought of it.
TEST(ClosedPeer, sends_a_signal_that_ends_nobody) {
  Stage stage;
  for (int i = 0; i < 3; ++i) stage.daemon.signal(SIGPIPE);
  EXPECT_EQ(stage.fetch("/").body, "hello");
}

TEST(StalledLoop, lets_no_more_fly_than_allowed_and_loses_nobody) {
  Stage stage(with_defaults("maxConcurrent: 10"));
  stage.origin.otherwise([](Visit& visit) {
    std::this_thread::sleep_for(std::chrono::milliseconds(visit.request().target.size() % 7));  // some are slower
    visit.answer(200, "hello");
  });
  std::atomic<int> served = 0;
  std::atomic<bool> done = false;
  std::vector<std::thread> crowd;
  for (int t = 0; t < 32; ++t) {
    crowd.emplace_back([&, t] {
      Client client(stage.daemon.port());
      for (int i = 0; i < 30; ++i) {
        client.send(get(stage.url("/" + std::string(static_cast<std::size_t>(t + i) % 11, 'x'))));
        served += client.reply().status == 200;
      }
    });
  }
  std::thread stalling([&] {
    while (!done) {
      stage.daemon.signal(SIGSTOP);
      std::this_thread::sleep_for(200ms);  // the stall itself
      stage.daemon.signal(SIGCONT);
      std::this_thread::sleep_for(50ms);
    }
  });
  for (auto& client : crowd) client.join();
  done = true;
  stalling.join();
  EXPECT_EQ(served, 32 * 30);
  EXPECT_LE(stage.origin.most_at_once(), 10u);
  EXPECT_TRUE(stage.daemon.await_in_flight(stage.origin.host(), 0));
}

TEST(Transfers, are_all_under_way_at_once_where_so_many_are_allowed) {
  constexpr std::size_t kCrowd = 300;  // nobody below the queue has a queue of its own
  Stage stage(with_defaults("maxConcurrent: 300"));
  stage.origin.otherwise(scripts::held());
  std::deque<Client> clients;
  for (std::size_t i = 0; i < kCrowd; ++i) clients.emplace_back(stage.daemon.port()).send(get(stage.url()));
  EXPECT_TRUE(stage.origin.await(kCrowd));
  EXPECT_EQ(stage.origin.most_at_once(), kCrowd);
  stage.origin.release_all();
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
}

struct WithClosed {
  Closed closed;
};

/// An origin that ends requests in every way that it knows, and clients that do the same.
struct Endings : WithClosed, Stage {
  Endings() : Stage({.yaml = keys(closed, "100ms")}) {
    origin.on("/cut", scripts::says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"));
    origin.on("/bad", scripts::says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nXY\r\n"));
    origin.on("/garbage", scripts::says("garbage\r\n\r\n"));
    origin.on("/101", scripts::says("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nx"));
    origin.on("/404", scripts::answers(404, "no"));
    origin.on("/reset", [](Visit& visit) { visit.reset(); });
    origin.on("/never", [](Visit& visit) { visit.sees_the_end(); });
    origin.on("/early", [](Visit& visit) {
      visit.last("HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      visit.sees_the_end();
    });
    origin.on("/endless", [](Visit& visit) {
      visit.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n");
      while (visit.write(std::string(64 * 1024, 'x'))) {
      }
    });
  }

  static std::string keys(const Closed& closed, const std::string& first_byte) {
    return "defaults: { maxConcurrent: 3, queue: { maxPending: 4, maxWait: 5s }, timeouts: { connect: 1s, firstByte: " +
           first_byte + " } }\naccess: { connectPorts: [" + std::to_string(closed.port) +
           "] }\nupstreams: { calm: { match: 127.0.0.1/calm, timeouts: { firstByte: 1m } }, "
           "\"*\": { limits: [ semaphore: { capacity: 3 } ] } }\n";
  }

  /// What a client says.
  std::string words(int kind) const {
    static const std::vector<std::string> paths{"/", "/404", "/cut", "/bad", "/garbage", "/101", "/reset", "/never"};
    switch (kind) {
      case 8: return with_body("POST", url("/early"), std::string(200'000, 'b'));
      case 9: return "PUT " + url("/x") + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nsome";
      case 10: return "CONNECT " + closed.host() + " HTTP/1.1\r\nHost: a\r\n\r\n";
      case 11: return get("http://" + closed.host() + "/");
      case 12: return get("http://10.0.0.1/");
      case 13: return get(daemon_url());
      case 14: return "GET  " + url() + " HTTP/1.1\r\nHost: a\r\n\r\n";
      case 15: return get(url("/endless"));
      case 16: return get(url(), "Penstock-Max-Wait: 0s\r\n");
      case 17: return get(url()).substr(0, 20);
      default: return get(url(paths[static_cast<std::size_t>(kind) % paths.size()]));
    }
  }
  std::string daemon_url() const { return "http://" + daemon.host() + "/"; }
  static constexpr int kKinds = 18;

  /// A client that never gets a whole answer, or does not want one.
  static bool must_leave(int kind) { return kind == 9 || kind == 15 || kind == 17; }

  void visit(std::mt19937& random) {
    const int kind = static_cast<int>(random() % kKinds);
    Client client(daemon.port());
    client.send(words(kind));
    if (!must_leave(kind) && random() % 4 != 0) {
      client.reply();
    } else if (random() % 2) {
      client.hears_within(std::chrono::milliseconds(random() % 20));
    }
    random() % 2 ? client.reset() : client.close();
  }
};

/// For each request its events, in order.
std::map<std::string, std::vector<std::string>> stories_of(const Daemon& daemon) {
  std::map<std::string, std::vector<std::string>> stories;
  for (const auto& event : daemon.events()) stories[event.at("id")].push_back(event.at("event"));
  return stories;
}

TEST(Endings, of_every_kind_in_a_random_mix_leave_nothing_behind_and_tell_one_story_each) {
  Endings stage;
  const int each = is_sanitized() ? 250 : 1250;
  const std::size_t descriptors = stage.daemon.descriptors();
  std::vector<std::thread> crowd;
  for (unsigned t = 0; t < 8; ++t) {
    crowd.emplace_back([&stage, t, each] {
      std::mt19937 random(t);
      for (int i = 0; i < each; ++i) stage.visit(random);
    });
  }
  for (auto& client : crowd) client.join();

  const auto nobody = [&](const char* gauge) { return stage.daemon.metric("penstock_"s + gauge) == 0; };
  for (const char* gauge : {"in_flight_requests", "pending_requests", "tunnels", "connections"})
    EXPECT_TRUE(eventually([&] { return nobody(gauge); })) << gauge;
  const std::set<std::string> ends{"complete", "error", "refused", "gone"};
  const auto is_over = [&](const auto& story) { return ends.contains(story.second.back()); };
  std::map<std::string, std::vector<std::string>> stories;
  eventually([&] {  // lines are written a little later
    stories = stories_of(stage.daemon);
    return std::ranges::all_of(stories, is_over);
  });
  std::map<std::string, int> seen;
  for (const auto& [id, story] : stories) {
    EXPECT_LE(story.size(), 2u) << id;
    EXPECT_TRUE(ends.contains(story.back())) << id;
    EXPECT_EQ(story.size() == 2, story.back() == "complete" || story.back() == "error") << id << ' ' << story.back();
    EXPECT_TRUE(story.size() == 1 || story.front() == "dispatch") << id;
    ++seen[story.back()];
  }
  for (const auto& end : ends) EXPECT_GT(seen[end], 0) << end;
  // What is kept to the origin is no leak: its connections are closed, and then nothing more is there than before.
  stage.origin.hang_up();
  EXPECT_EQ(stage.fetch("/calm").status, 200);
  EXPECT_TRUE(eventually([&] { return stage.daemon.descriptors() <= descriptors + 16; }))
      << stage.daemon.descriptors() << " of " << descriptors;
  stage.origin.on("/held", scripts::held());
  ASSERT_TRUE(stage.daemon.reloads(Endings::keys(stage.closed, "1m"))) << "they are held for as long as it takes";
  std::deque<Client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(stage.daemon.port()).send(get(stage.url("/held")));
  EXPECT_TRUE(stage.daemon.await_in_flight(stage.origin.host(), 3)) << "each permit and each slot has come back";
  stage.origin.release_all();
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
}

}  // namespace
}  // namespace penstock::trial
