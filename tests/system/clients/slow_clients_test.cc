// SPDX-License-Identifier: Apache-2.0
// Clients that are slow on purpose, and what there is a lot of: none of it keeps the others waiting, stalls the loop or
// takes memory without end.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <future>

#include "support/name_server.h"
#include "system/loop_watch.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

using test::NameServer;

/// Clients that say one byte after the other, each a few times a second.
class Dribblers {
 public:
  Dribblers() : thread_([this] { dribble(); }) {}
  ~Dribblers() {
    stopping_ = true;
    thread_.join();
  }
  Dribblers(const Dribblers&) = delete;

  void add(std::uint16_t port, std::string_view beginning) {
    Socket socket = Socket::connect(port);
    socket.send(beginning);
    const std::lock_guard lock(mutex_);
    sockets_.push_back(std::move(socket));
  }
  std::size_t sent() const { return sent_; }

 private:
  void dribble() {
    while (!stopping_) {
      {
        const std::lock_guard lock(mutex_);
        for (auto& socket : sockets_) {
          if (::send(socket.fd(), "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1) ++sent_;
        }
      }
      std::this_thread::sleep_for(200ms);
    }
  }

  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> sent_ = 0;
  std::mutex mutex_;
  std::deque<Socket> sockets_;
  std::thread thread_;
};

TEST(SlowClients, a_thousand_of_them_keep_nobody_waiting) {
  constexpr int kHeads = 400, kBodies = 300, kReaders = 300;
  ASSERT_GE(allow_open_files(), 4000u);
  Stage stage(with_defaults("maxConcurrent: 2000, timeouts: { header: 10m, body: 10m, idle: 10m }"));
  Origin busy;  // whom the slow ones ask
  busy.on("/body", [](Visit& visit) { visit.read_body(); });
  busy.on("/much", scripts::sized(16 * 1024 * 1024));
  const LoopWatch loop(stage.daemon);
  Dribblers slow;
  std::deque<Client> readers;
  for (int i = 0; i < kHeads; ++i) slow.add(stage.daemon.port(), "GET " + busy.url() + " HTTP/1.1\r\nHost: a\r\nX: ");
  for (int i = 0; i < kBodies; ++i) {
    slow.add(stage.daemon.port(),
             "POST " + busy.url("/body") + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n");
  }
  for (int i = 0; i < kReaders; ++i) readers.emplace_back(stage.daemon.port(), 4096).send(get(busy.url("/much")));
  ASSERT_TRUE(stage.daemon.await_in_flight(busy.host(), kBodies + kReaders));
  const std::size_t before = slow.sent();
  Client healthy(stage.daemon.port());
  for (int i = 0; i < 300; ++i) {
    healthy.send(get(stage.url()));
    ASSERT_EQ(healthy.reply().body, "hello") << i;
    if (i % 10 == 0) {
      ASSERT_EQ(stage.fetch("/new").status, 200) << i;
    }
  }
  EXPECT_TRUE(eventually([&] { return slow.sent() > before + kHeads + kBodies; })) << "they were at it meanwhile";
  EXPECT_EQ(stage.daemon.metric("penstock_connections"), kHeads + kBodies + kReaders + 1);
  loop.expect_no_stall();
}

TEST(SlowClients, whose_heads_never_end_are_all_let_go_at_the_deadline) {
  constexpr int kHeads = 4000;  // as many as one client may have
  ASSERT_GE(allow_open_files(), kHeads + 200u);
  Stage stage(with_defaults("timeouts: { header: 3s }"));
  Dribblers slow;
  for (int i = 0; i < kHeads; ++i) slow.add(stage.daemon.port(), "GET " + stage.url() + " HTTP/1.1\r\nHost: a\r\nX: ");
  EXPECT_TRUE(eventually([&] { return stage.daemon.metric("penstock_refusals_total", "head_timeout") == kHeads; }));
  EXPECT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 0; }));
  EXPECT_EQ(stage.daemon.await_events(kHeads, "refused").size(), static_cast<std::size_t>(kHeads));
  EXPECT_EQ(stage.origin.count(), 0u);
}

TEST(SlowNames, of_a_thousand_requests_do_not_stall_the_loop) {
  const NameServer mute([](const std::string&, std::uint16_t) { return std::nullopt; });
  Stage stage({.yaml = "dns: { servers: [\"" + mute.address() + "\"], timeout: 2s }\n"});
  const LoopWatch loop(stage.daemon);
  std::deque<Client> clients;
  for (int i = 0; i < 1000; ++i)
    clients.emplace_back(stage.daemon.port()).send(get("http://mute" + std::to_string(i) + ".test/"));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(stage.fetch("/").status, 200) << i;
  for (auto& client : clients) {
    const Reply reply = client.reply();
    ASSERT_EQ(reply.status, 504);
    ASSERT_EQ(reply.error(), "dns_timeout");
  }
  loop.expect_no_stall();
}

TEST(PendingBodies, of_many_requests_stay_within_the_memory_set_aside_and_arrive_whole_or_are_refused) {
  constexpr std::size_t kClients = 400, kBody = 256 * 1024, kSetAside = 8 * 1024 * 1024;
  Stage stage({.yaml = "defaults: { maxConcurrent: 1 }\ncaps: { pendingBodyBytes: 256KiB, pendingMemory: 8MiB }\n"});
  stage.origin.on("/held", scripts::held());
  stage.origin.on("/body", scripts::echoes());
  Client holder(stage.daemon.port());
  holder.send(get(stage.url("/held")));
  ASSERT_TRUE(stage.origin.await(1));
  const std::size_t before = stage.daemon.resident_kib();
  const std::string body = pattern(0, kBody);
  std::vector<std::future<Reply>> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.push_back(std::async(std::launch::async, [&] {
      Client client(stage.daemon.port());
      client.send(with_body("POST", stage.url("/body"), body));
      return client.reply();
    }));
  }
  ASSERT_TRUE(eventually([&] {
    return stage.daemon.metric("penstock_pending_requests") + stage.daemon.metric("penstock_refusals_total") ==
           kClients;
  }));
  const Json status = Json::parse(stage.daemon.admin("/status").body);
  EXPECT_LE(status.at("pendingBytes").get<std::size_t>(), kSetAside + 64 * 1024) << "one read beyond it at most";
  EXPECT_GE(status.at("pendingBytes").get<std::size_t>(), kSetAside / 2) << "half of it is for bodies";
  const std::size_t most = (kSetAside + kClients * 16 * 1024) / 1024 * (is_sanitized() ? 4 : 1);
  EXPECT_LT(stage.daemon.resident_kib() - before, most) << "KiB, of " << kClients * kBody / 1024;
  stage.origin.release();
  std::size_t served = 0;
  for (auto& client : clients) {
    const Reply reply = client.get();
    if (reply.status == 200) {
      ++served;
      ASSERT_TRUE(reply.body == body);
    } else {
      expect_own_answer(reply, {503}, "connection_limit_reached");
    }
  }
  EXPECT_GT(served, kSetAside / kBody) << "more than there was room for whole bodies of";
  EXPECT_EQ(holder.reply().status, 200);
}

/// One request to each host of a part of 127.0.0.0/8, at a port where nobody listens: a CONNECT, or one of a method and
/// for a path of its own. How many were refused here.
int ask_hosts(const Daemon& daemon, int part, int count, std::uint16_t port) {
  Client client(daemon.port());
  int refused = 0;
  for (int i = 0; i < count; ++i) {
    const std::string host = "127." + std::to_string(1 + part) + "." + std::to_string(i / 256) + "." +
                             std::to_string(i % 256) + ":" + std::to_string(port);
    const std::string nth = std::to_string(part * count + i);
    const std::string what = i % 4 ? "CONNECT " + host : "M" + nth + " http://" + host + "/p" + nth;
    client.send(what + " HTTP/1.1\r\nHost: " + host + "\r\nProxy-Connection: keep-alive\r\n\r\n");
    const int status = client.reply().status;
    EXPECT_TRUE(status == 502 || status == 503) << status;
    if (status != 502) ++refused;
  }
  return refused;
}

std::size_t lines_of_metrics(const Daemon& daemon) {
  const std::string all = daemon.admin("/metrics").body;
  return static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n'));
}

// Twice as many as are kept at once: each gets an answer, and room is made as they come to rest.
TEST(Hosts, without_end_are_kept_within_bounds) {
  constexpr int kParts = 8, kEach = 2500;
  const Closed closed;
  Stage stage({.yaml = "access: { connectPorts: [" + std::to_string(closed.port) + "] }\n"});
  ask_hosts(stage.daemon, kParts, 8, closed.port);
  const std::size_t lines_before = lines_of_metrics(stage.daemon);
  const LoopWatch loop(stage.daemon);
  std::vector<std::future<int>> parts;
  for (int part = 0; part < kParts; ++part)
    parts.push_back(
        std::async(std::launch::async, [&, part] { return ask_hosts(stage.daemon, part, kEach, closed.port); }));
  int refused = 0;
  for (auto& part : parts) refused += part.get();
  const Json status = Json::parse(stage.daemon.admin("/status").body);
  EXPECT_LE(status.at("upstreams").size(), 10'000u + 1) << "and *:others, where all came within a second";
  EXPECT_LE(lines_of_metrics(stage.daemon), lines_before + 20) << "of refusals; none of a host, a method or a path";
  EXPECT_LT(refused, kParts * kEach - 10'000) << "room was made for more than are kept at once";
  EXPECT_LT(stage.daemon.resident_kib(), (is_sanitized() ? 1000u : 150u) * 1024);
  EXPECT_TRUE(eventually([&] { return stage.fetch("/").status == 200; })) << refused << " were refused";
  loop.expect_no_stall();
}

/// CPU seconds of so many GETs, each to another host.
double cost_of(const Daemon& daemon, int first, int count, const std::function<std::string(int)>& host) {
  const double before = daemon.cpu_seconds();
  Client client(daemon.port());
  for (int i = first; i < first + count; ++i) {
    client.send(get("http://" + host(i) + "/"));
    EXPECT_EQ(client.reply().status, 502);
  }
  return daemon.cpu_seconds() - before;
}

// What libcurl keeps of hosts is searched at the end of each transfer.
TEST(Hosts, by_name_or_by_address_cost_no_more_the_more_of_them_there_were) {
  constexpr int kMeasured = 1000, kBetween = 6000;
  const NameServer everywhere([](const std::string&, std::uint16_t type) {
    return NameServer::Reply{.addresses =
                                 type == NameServer::kA ? std::vector{"127.0.0.1"s} : std::vector<std::string>{}};
  });
  const Closed closed;
  const std::string port = ":" + std::to_string(closed.port);
  const auto by_name = [&](int i) { return "h" + std::to_string(i) + ".test" + port; };
  const auto by_address = [&](int i) {
    return "127.1." + std::to_string(i / 256) + "." + std::to_string(i % 256) + port;
  };
  for (const std::function<std::string(int)>& host : {std::function<std::string(int)>(by_name), {by_address}}) {
    const Daemon daemon({.yaml = "dns: { servers: [\"" + everywhere.address() + "\"] }\n"});
    const double early = cost_of(daemon, 0, kMeasured, host);
    cost_of(daemon, kMeasured, kBetween, host);
    const double late = cost_of(daemon, kMeasured + kBetween, kMeasured, host);
    EXPECT_LT(late, 2 * early + 0.3) << "seconds of CPU, after " << early;
  }
}

}  // namespace
}  // namespace penstock::trial
