// SPDX-License-Identifier: Apache-2.0
// Tunnels that rest: they stay open, their slots are others', and nothing that goes through them is lost by it.
#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <list>
#include <thread>

#include "support/redis_server.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

/// Answers all that comes through tunnels, each connection in a thread: a line asks for something.
class LineServer {
 public:
  explicit LineServer(std::chrono::milliseconds flight) : flight_(flight) {
    door_ = std::thread([this] {
      while (!ends_) {
        if (!far.has_caller()) {
          std::this_thread::sleep_for(1ms);
          continue;
        }
        talks_.emplace_back([this, near = std::make_unique<Near>(far.accept())]() mutable { talk(*near); });
      }
    });
  }
  ~LineServer() {
    ends_ = true;
    door_.join();
    for (auto& talk : talks_) talk.join();
  }

  FarEnd far;
  /// The most requests that were ever being answered at once.
  std::atomic<int> most{0};

 private:
  void talk(Near& near) {
    for (std::string line = line_of(near); !line.empty(); line = line_of(near)) answer(near, line);
  }
  static std::string line_of(Near& near) {
    std::string& buffer = near.reader.buffer();
    while (buffer.find('\n') == buffer.npos && near.reader.fill(Clock::now() + 60s)) {  // it may rest for long
    }
    std::string line = buffer.substr(0, buffer.find('\n'));
    buffer.erase(0, line.size() + 1);
    return line;
  }
  void answer(Near& near, const std::string& line) {
    const int now = ++busy_;
    for (int before = most; now > before && !most.compare_exchange_weak(before, now);) {
    }
    std::string answer = "answer\n";
    if (line.starts_with("poll")) std::this_thread::sleep_for(2s);
    if (line.starts_with("post ")) {
      const std::size_t size = std::stoul(line.substr(5));
      answer = near.take(size) == pattern(0, size) ? "exact\n" : "lost\n";
    } else if (line.starts_with("GET ")) {
      while (line_of(near).size() > 1) {
      }
      answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    }
    std::this_thread::sleep_for(flight_);
    --busy_;
    near.send(answer);
    if (line == "stream") pauses(near, 5, 300ms);
    if (line.starts_with("GET ")) pauses(near, 1, 2s);
  }
  /// A server that speaks by itself, much later than tunnelRest.
  static void pauses(Near& near, int times, std::chrono::milliseconds pause) {
    for (int i = 0; i < times; ++i) {
      std::this_thread::sleep_for(pause);
      near.send("more\n");
    }
  }

  const std::chrono::milliseconds flight_;
  std::atomic<int> busy_{0};
  std::atomic<bool> ends_{false};
  std::thread door_;
  std::list<std::thread> talks_;
};

struct RestStage {
  explicit RestStage(std::chrono::milliseconds flight, const std::string& settings = "queue: { maxWait: 20s }",
                     const std::string& more = "")
      : answering(flight),
        yaml("defaults: { maxConcurrent: 2, timeouts: { tunnelRest: 100ms }, " + settings +
             " }\naccess: { connectPorts: [" + std::to_string(answering.far.port()) + "] }\n" + more),
        daemon({.yaml = yaml}) {}
  ~RestStage() { kept.clear(); }

  std::string host() const { return answering.far.host(); }
  std::unique_ptr<Near> ask() const {
    auto client = std::make_unique<Near>(Socket::connect(daemon.port()));
    EXPECT_TRUE(client->send("CONNECT " + host() + " HTTP/1.1\r\nHost: " + host() + "\r\n\r\n"));
    return client;
  }
  /// Open, used once, and kept.
  Near& keep() {
    kept.push_back(ask());
    Near& near = *kept.back();
    EXPECT_EQ(near.reply().status, 200);
    EXPECT_TRUE(near.send("ask\n"));
    EXPECT_EQ(near.take(7), "answer\n");
    return near;
  }
  Json tunnels() const { return daemon.status(host()).at("tunnels"); }
  bool await_resting(std::size_t count) const {
    return eventually([&] { return tunnels().at("resting") == count; });
  }

  LineServer answering;
  const std::string yaml;
  Daemon daemon;
  std::list<std::unique_ptr<Near>> kept;
};

TEST(TunnelRest, lets_more_clients_than_slots_keep_their_tunnels_and_refuses_nobody) {
  constexpr int kClients = 8, kRequests = 6;
  constexpr auto kFlight = 20ms, kRest = 100ms;
  RestStage stage(kFlight, "queue: { maxWait: 5s }");
  const auto start = Clock::now();
  std::atomic<int> answered{0};
  std::latch done(kClients);
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      auto near = stage.ask();
      const bool open = near->reply().status == 200;
      for (int n = 0; n < kRequests && open; ++n) {
        if (near->send("ask\n") && near->take(7) == "answer\n") ++answered;
        std::this_thread::sleep_for(2 * kRest);  // what a program does between its requests
      }
      done.arrive_and_wait();  // it keeps its connection
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(answered, kClients * kRequests);
  EXPECT_TRUE(within(kClients * kRequests * (kFlight + kRest) * 3 / 4, start));
  EXPECT_LE(stage.answering.most, 2) << "more than maxConcurrent are busy";
  EXPECT_TRUE(stage.daemon.await_events(0, "refused").empty());
}

/// Twenty clients that come, ask once, and leave, for as long as it lives: somebody waits at any moment.
class RestCrowd {
 public:
  explicit RestCrowd(RestStage& stage) {
    for (int i = 0; i < 20; ++i) {
      members_.emplace_back([this, &stage] {
        while (!ends_) {
          auto near = stage.ask();
          if (near->reply().status == 200 && near->send("ask\n") && near->take(7) == "answer\n") ++served;
        }
      });
    }
    EXPECT_TRUE(eventually([&] { return stage.daemon.status(stage.host()).value("pending", 0) >= 10; }));
  }
  ~RestCrowd() {
    ends_ = true;
    for (auto& member : members_) member.join();
  }
  std::atomic<int> served{0};

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::thread> members_;
};

TEST(TunnelRest, beside_those_that_wait_loses_no_byte_of_a_stream_a_poll_a_websocket_or_a_post) {
  RestStage stage(10ms);
  Near& posting = stage.keep();
  ASSERT_TRUE(stage.await_resting(1));
  const RestCrowd crowd(stage);

  std::thread post([&] {
    constexpr std::size_t kSize = 3'000'000;
    EXPECT_TRUE(posting.send("post " + std::to_string(kSize) + "\n" + pattern(0, kSize)));
    EXPECT_EQ(posting.take(6), "exact\n");
  });
  post.join();
  {
    auto polling = stage.ask();
    EXPECT_EQ(polling->reply().status, 200);
    polling->send("poll\n");
    EXPECT_EQ(polling->take(7), "answer\n") << "who awaits an answer is busy, however long that takes";
  }
  auto streaming = stage.ask();
  EXPECT_EQ(streaming->reply().status, 200);
  streaming->send("stream\n");
  auto websocket = std::make_unique<Near>(Socket::connect(stage.daemon.port()));
  websocket->send("GET http://" + stage.host() + "/ HTTP/1.1\r\nHost: " + stage.host() +
                  "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(websocket->reply().status, 101);
  const int served = crowd.served;
  EXPECT_EQ(streaming->take(32), "answer\nmore\nmore\nmore\nmore\nmore\n");
  EXPECT_EQ(websocket->take(5), "more\n");
  EXPECT_GT(crowd.served, served + 5) << "the streams hold the slots while they pause";
  websocket->send("ask\n");
  EXPECT_EQ(websocket->take(7), "answer\n");
}

TEST(TunnelRest, does_not_begin_while_an_answer_is_awaited) {
  RestStage stage(0ms, "queue: { maxWait: 700ms }");
  std::vector<std::unique_ptr<Near>> polling;
  for (int i = 0; i < 2; ++i) {
    polling.push_back(stage.ask());
    ASSERT_EQ(polling.back()->reply().status, 200);
    polling.back()->send("poll\n");
  }
  const Reply refused = stage.ask()->reply();
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.reason, HasSubstr("2 slots: busy tunnels"));
  EXPECT_EQ(stage.tunnels(), (Json{{"busy", 2}, {"resting", 0}}));
  for (auto& near : polling) EXPECT_EQ(near->take(7), "answer\n");
}

TEST(TunnelRest, is_never_where_it_is_turned_off_and_a_reload_turns_it_on) {
  RestStage stage(0ms);
  const auto settings = [&](const char* rest) {
    return "defaults: { maxConcurrent: 2, timeouts: { tunnelRest: " + std::string(rest) +
           " } }\naccess: { connectPorts: [" + std::to_string(stage.answering.far.port()) + "] }\n";
  };
  ASSERT_TRUE(stage.daemon.reloads(settings("0s")));
  stage.keep(), stage.keep();
  auto third = stage.ask();
  ASSERT_TRUE(stage.daemon.await_pending(stage.host(), 1));
  EXPECT_EQ(stage.tunnels().at("busy"), 2);
  ASSERT_TRUE(stage.daemon.reloads(settings("50ms")));
  EXPECT_EQ(third->reply().status, 200);
}

TEST(TunnelRest, gives_a_permit_that_machines_share_to_the_others) {
  test::RedisServer redis;
  RestStage stage(0ms, "queue: { maxWait: 20s }",
                  "redis: { url: \"redis://127.0.0.1:" + std::to_string(redis.port()) +
                      "\", timeout: 3s }\nupstreams: { far: { match: 127.0.0.1, https: tunnel, limits: [ { "
                      "semaphore: { capacity: 1, lease: 3s } } ] } }\n");
  const Daemon other({.yaml = stage.yaml});
  Near elsewhere(Socket::connect(other.port()));
  elsewhere.send("CONNECT " + stage.host() + " HTTP/1.1\r\nHost: " + stage.host() + "\r\n\r\n");
  EXPECT_EQ(elsewhere.reply().status, 200);
  Near& here = stage.keep();
  for (Near* near : {&elsewhere, &here, &elsewhere, &here}) {
    near->send("ask\n");
    EXPECT_EQ(near->take(7), "answer\n");
  }
  EXPECT_EQ(stage.answering.most, 1) << "one permit for two machines";
}

}  // namespace
}  // namespace penstock::trial
