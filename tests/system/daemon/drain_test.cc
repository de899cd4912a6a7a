// SPDX-License-Identifier: Apache-2.0
// The end: SIGTERM drains within the grace, a second signal ends at once, and nothing is left hanging.
#include <gmock/gmock.h>
#include <signal.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>

#include "support/name_server.h"
#include "support/redis_server.h"
#include "system/loop_watch.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

Given patient() { return {.yaml = "defaults: { maxConcurrent: 1 }\n", .grace = "20s"}; }

/// A second after the grace; a build with a sanitizer looks for leaks then.
void expect_on_time(Moment start, Clock::duration grace) {
  EXPECT_TRUE(within(grace + 1s + (is_sanitized() ? 8s : 0s), start));
}

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
      return daemon.ask(get(url("/late"))).status == 200;
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
  EXPECT_TRUE(within(kLate, start));
  for (auto& client : stage.clients) {
    client.rest();
    EXPECT_TRUE(client.socket().ended());
  }
}

/// PendingAsks the admin port again and again until the program has ended.
class AdminWatch {
 public:
  explicit AdminWatch(const Daemon& daemon) : thread_([this, &daemon] { ask(daemon); }) {}
  ~AdminWatch() { stop(); }
  AdminWatch(const AdminWatch&) = delete;

  /// After the program's end.
  void expect_answers_to_the_end() {
    stop();
    EXPECT_GT(not_ready_, 0);
    EXPECT_GT(metrics_, 0);
    EXPECT_EQ(wrong_, "");
  }

 private:
  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void ask(const Daemon& daemon) {
    while (!stopping_) {
      try {
        const int ready = daemon.admin("/readyz").status, metrics = daemon.admin("/metrics").status;
        if (ready == 0 || metrics == 0) continue;  // it ended in the middle
        if (ready != 503 || metrics != 200) wrong_ += std::to_string(ready) + " " + std::to_string(metrics) + "\n";
        ++not_ready_, ++metrics_;
      } catch (const std::exception&) {  // nobody listens any more
        return;
      }
      std::this_thread::sleep_for(20ms);
    }
  }

  std::atomic<bool> stopping_ = false;
  int not_ready_ = 0, metrics_ = 0;
  std::string wrong_;
  std::thread thread_;
};

using test::NameServer;

TEST(Drain, is_on_time_with_a_tunnel_a_stuck_upstream_a_silent_one_and_names_that_nobody_answers_for) {
  const NameServer mute([](const std::string&, std::uint16_t) { return std::nullopt; });
  const Silent silent;
  const FarEnd far;
  Origin origin;
  origin.on("/stuck", [](Visit& visit) { visit.sees_the_end(); });
  Daemon daemon({.yaml = "defaults: { timeouts: { connect: 10m, firstByte: 10m, idle: 10m } }\ndns: { servers: [\"" +
                         mute.address() + "\"], timeout: 5m }\naccess: { connectPorts: [" + std::to_string(far.port()) +
                         "] }\n",
                 .grace = "2s"});
  Client tunnel(daemon.port());
  tunnel.send("CONNECT " + far.host() + " HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_EQ(tunnel.head().status, 200);
  std::deque<Client> clients;
  for (const auto& url : {origin.url("/stuck"), "http://" + silent.host() + "/", "http://mute.test/"s})
    clients.emplace_back(daemon.port()).send(get(url));
  ASSERT_TRUE(eventually([&] { return daemon.metric("penstock_in_flight_requests") == 4; }));
  const auto start = Clock::now();
  daemon.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return daemon.admin("/readyz").status == 503; }));
  AdminWatch watch(daemon);
  for (auto& client : clients) {
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.error(), "connection_limit_reached");
  }
  EXPECT_EQ(tunnel.rest(), "");
  EXPECT_TRUE(tunnel.was_reset());
  EXPECT_EQ(daemon.exit_code(), 0);
  EXPECT_GE(Clock::now() - start, 1990ms) << "all of them had their grace";
  expect_on_time(start, 2s);
  watch.expect_answers_to_the_end();
  EXPECT_EQ(daemon.await_events(4, "error").size(), 4u);
}

TEST(Drain, is_on_time_with_a_redis_that_hangs) {
  test::RedisServer redis;
  const Origin origin;
  Daemon daemon({.yaml = "redis: { url: \"" + redis.url() +
                         "\", timeout: 10s, whenDown: wait }\nupstreams: { api: { match: " + origin.host() +
                         ", limits: [{ pacer: { qps: 1000 } }] } }\n",
                 .grace = "1s"});
  ASSERT_TRUE(eventually([&] { return daemon.metric("penstock_redis_up") == 1; }));
  redis.pause();
  Client waiting(daemon.port());
  waiting.send(get(origin.url()));
  ASSERT_TRUE(daemon.await_pending("api", 1));
  const auto start = Clock::now();
  daemon.signal(SIGTERM);
  const Reply reply = waiting.reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.error(), "connection_limit_reached");
  EXPECT_EQ(daemon.exit_code(), 0);
  EXPECT_GE(Clock::now() - start, 990ms);
  expect_on_time(start, 1s);
  redis.resume();
}

TEST(Drain, is_on_time_with_passwords_under_trial_and_tells_those_who_wait) {
  const std::string folder = new_folder(), file = folder + "/users";
  std::ofstream(file) << "slow:$2y$11$abcdefghijklmnopqrstuunCeKINGCIR2HCghh6O3jDKZvMFq0Aja\n";
  // One takes about 120 ms: all sixteen take far longer than the grace, and the last one does not hold the end up.
  Stage stage({.yaml = "access: { users: " + file + " }\n"});
  std::deque<Client> clients;
  for (const char last : "ABCDEFGHIJKLMNOP"s) {  // slow:@, slow:A and so on
    clients.emplace_back(stage.daemon.port())
        .send(get(stage.url(), "Proxy-Authorization: Basic c2xvdzp"s + last + "\r\n"));
  }
  EXPECT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 16; }));
  EXPECT_EQ(stage.daemon.admin("/healthz").status, 200) << "by then what they say has been read, too";
  const auto start = Clock::now();
  stage.daemon.signal(SIGTERM);
  int busy = 0;
  for (auto& client : clients) {
    const Reply reply = client.reply();
    EXPECT_TRUE(reply.status == 407 || reply.status == 503) << reply.status;
    busy += reply.status == 503;
  }
  EXPECT_GT(busy, 5);
  EXPECT_EQ(stage.daemon.exit_code(), 0);
  expect_on_time(start, 1s);
  EXPECT_EQ(stage.origin.count(), 0u);
  std::filesystem::remove_all(folder);
}

TEST(Drain, stalls_no_turn_of_the_loop) {
  constexpr std::size_t kPending = 150;
  Stage stage(patient());
  stage.origin.on("/held", scripts::held());
  Client held(stage.daemon.port());
  held.send(get(stage.url("/held")));
  EXPECT_TRUE(stage.origin.await(1));
  const LoopWatch loop(stage.daemon);
  std::deque<Client> clients, idle;
  for (std::size_t i = 0; i < kPending; ++i) {
    clients.emplace_back(stage.daemon.port()).send(get(stage.url("/")));
    idle.emplace_back(stage.daemon.port());
  }
  EXPECT_TRUE(stage.daemon.await_pending(stage.origin.host(), kPending));
  stage.daemon.signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return stage.daemon.admin("/readyz").status == 503; }));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(stage.daemon.admin("/healthz").status, 200);
  loop.expect_quick_iterations();
  stage.origin.release();
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(stage.daemon.exit_code(), 0);
}

// Restarted at the same ports, while the connections of those who are gone still end.
TEST(Killed, with_connections_open_leaves_its_ports_to_the_next_at_once) {
  Origin origin;
  origin.on("/held", scripts::held());
  const FarEnd far;
  Given given{.yaml = "access: { connectPorts: [" + std::to_string(far.port()) + "] }\n"};
  given.is_clean = false;
  std::deque<Client> clients;
  for (int round = 0; round < 3; ++round) {
    Daemon daemon(given);
    given.listen = daemon.host();
    given.admin = "127.0.0.1:" + std::to_string(daemon.admin_port());
    for (const auto& request : {get(origin.url("/idle")), "CONNECT " + far.host() + " HTTP/1.1\r\nHost: a\r\n\r\n"}) {
      clients.emplace_back(daemon.port()).send(request);
      ASSERT_EQ(clients.back().head().status, 200) << "in round " << round;
    }
    clients.emplace_back(daemon.port()).send(get(origin.url("/held")));
    ASSERT_TRUE(daemon.await_in_flight(origin.host(), 1));
    EXPECT_EQ(daemon.admin("/readyz").status, 200);
    daemon.signal(SIGKILL);
    EXPECT_EQ(daemon.exit_code(), 128 + SIGKILL);
  }
  origin.release_all();
}

/// What a client of the load below has come to.
struct Fate {
  int served = 0, refused = 0, cut = 0;
};

Fate ask_until_refused(const Stage& stage, std::atomic<int>& asked) {
  Fate fate;
  try {
    Client client(stage.daemon.port());
    while (fate.refused == 0 && client.send(get(stage.url("/" + std::to_string(++asked))))) {
      const Reply reply = client.reply();
      const bool last = same_name(reply.field("connection"), "close");
      if (reply.status == 200 && reply.whole) ++fate.served;
      if (reply.status == 503 && reply.whole) ++fate.refused;
      if (reply.status == 0) break;  // it said this when the connection was already closed
      if (!reply.whole || (reply.status != 200 && reply.status != 503)) ++fate.cut;
      if (last) break;
    }
  } catch (const std::exception&) {  // no more are accepted
  }
  return fate;
}

TEST(Drain, under_load_fails_no_request_in_flight) {
  Stage stage({.yaml = "defaults: { maxConcurrent: 4 }\n", .grace = "20s"});
  stage.origin.otherwise([](Visit& visit) {
    std::this_thread::sleep_for(10ms);
    visit.answer(200, "served");
  });
  std::atomic<int> asked = 0;
  std::vector<std::future<Fate>> clients;
  for (int i = 0; i < 24; ++i)
    clients.push_back(std::async(std::launch::async, [&] { return ask_until_refused(stage, asked); }));
  ASSERT_TRUE(stage.origin.await(100));
  stage.daemon.signal(SIGTERM);
  Fate all;
  for (auto& client : clients) {
    const Fate fate = client.get();
    all.served += fate.served, all.refused += fate.refused, all.cut += fate.cut;
  }
  EXPECT_EQ(stage.daemon.exit_code(), 0);
  EXPECT_EQ(all.cut, 0);
  const auto served = static_cast<std::size_t>(all.served), refused = static_cast<std::size_t>(all.refused);
  EXPECT_EQ(stage.origin.count(), served) << "what the upstream answered has reached its client";
  EXPECT_EQ(stage.daemon.await_events(served, "complete").size(), served);
  EXPECT_EQ(stage.daemon.await_events(refused, "refused").size(), refused);
  for (const auto& event : stage.daemon.events()) EXPECT_NE(event.at("event"), "error") << event;
}

TEST(Drain, tells_kept_connections_that_this_answer_is_the_last_and_takes_no_new_ones) {
  Stage stage(patient());
  stage.origin.on("/held", scripts::held());
  Client kept(stage.daemon.port()), held(stage.daemon.port());
  kept.send(get(stage.url("/first")));
  EXPECT_FALSE(same_name(kept.reply().field("connection"), "close"));
  held.send(get(stage.url("/held")));
  ASSERT_TRUE(stage.origin.await(2));
  stage.daemon.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return stage.daemon.admin("/readyz").status == 503; }));
  kept.send(get(stage.url("/second")));
  const Reply refused = kept.reply();
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(same_name(refused.field("connection"), "close"));
  EXPECT_TRUE(kept.closed());
  EXPECT_THROW(Client{stage.daemon.port()}, std::exception);
  stage.origin.release();
  const Reply last = held.reply();
  EXPECT_EQ(last.body, "released");
  EXPECT_TRUE(same_name(last.field("connection"), "close"));
  EXPECT_EQ(stage.daemon.exit_code(), 0);
}

}  // namespace
}  // namespace penstock::trial
