// SPDX-License-Identifier: Apache-2.0
// What the machine has not enough of: file descriptors, which clients wait for in the kernel while nothing spins; and
// memory, without which the program ends with a word.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <deque>
#include <fstream>

#include "system/loop_watch.h"
#include "system/stage.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

Given with_files(std::size_t files, const std::string& yaml) { return {.yaml = yaml, .files = files}; }

const std::string kManyAtOnce = "defaults: { maxConcurrent: 1000 }\n";

bool await_pause(const Daemon& daemon) {
  return eventually([&] { return daemon.metric("penstock_accept_pauses_total") > 0; });
}

TEST(Descriptors, that_run_short_stall_no_turn_of_the_loop) {
  constexpr int kClients = 400;
  ASSERT_GE(allow_open_files(), kClients + 200u);
  Stage stage(with_files(256, "defaults: { maxConcurrent: 20 }\n"));
  stage.origin.otherwise(scripts::answers(200, "hello", "Connection: close\r\n"));
  const LoopWatch loop(stage.daemon);
  std::deque<Client> clients;
  for (int i = 0; i < kClients; ++i) clients.emplace_back(stage.daemon.port()).send(get(stage.url()));
  EXPECT_TRUE(await_pause(stage.daemon));
  std::this_thread::sleep_for(500ms);  // of having none
  for (; !clients.empty(); clients.pop_front()) EXPECT_EQ(clients.front().reply().body, "hello");
  loop.expect_quick_iterations();
}

TEST(Descriptors, that_run_out_for_upstreams_are_503_until_there_are_some) {
  Stage stage(with_files(64, kManyAtOnce + "access: { connectPorts: [443] }\n"));
  stage.origin.on("/held", scripts::held());
  // UBSan opens a pipe the first time that it looks at an object of a type: one request must have ended before.
  const Origin before;
  ASSERT_EQ(stage.ask(get(before.url(), "Connection: close\r\n")).status, 200);
  std::deque<Client> clients;
  for (int i = 0; i < 60; ++i) clients.emplace_back(stage.daemon.port());
  ASSERT_TRUE(await_pause(stage.daemon));
  const auto connected = static_cast<std::size_t>(stage.daemon.metric("penstock_connections"));
  ASSERT_GT(connected, 18u) << "more than there are descriptors left";
  while (clients.size() > connected) clients.pop_back();  // they came in this order
  for (auto& client : clients) client.send(get(stage.url("/held")));
  const auto refused = stage.daemon.await_events(1, "error");
  ASSERT_FALSE(refused.empty());
  EXPECT_EQ(refused[0].at("error"), "destination_unavailable");
  ASSERT_TRUE(
      eventually([&] { return stage.daemon.await_events(1, "error").size() + stage.origin.count() == connected; }));
  stage.origin.release_all();
  std::size_t served = 0;
  for (auto& client : clients) {
    const Reply reply = client.reply();
    if (reply.status == 200) {
      ++served;
    } else {
      expect_own_answer(reply, {503}, "destination_unavailable");
    }
  }
  EXPECT_EQ(served, stage.origin.count());
  EXPECT_GT(served, 0u);
  while (clients.size() > connected / 2) clients.pop_back();
  for (auto& client : clients) {
    client.send(get(stage.url("/after")));
    EXPECT_EQ(client.reply().status, 200);
  }
}

// Uploads that wait are not read on, and their clients' leaving must be noticed all the same.
TEST(Descriptors, kept_for_upstreams_and_the_admin_port_are_not_eaten_by_clients_whose_uploads_wait) {
  constexpr std::size_t kClients = 150;
  ASSERT_GE(allow_open_files(), 2 * kClients + 100);
  Stage stage(with_files(256, "defaults: { maxConcurrent: 1 }\n"));
  const Origin other;
  stage.origin.otherwise(scripts::held());
  const std::string upload = with_body("POST", stage.url("/upload"), std::string(200'000, 'u'));
  std::deque<Client> clients;
  for (std::size_t i = 0; i < kClients; ++i) {
    clients.emplace_back(stage.daemon.port());
    clients.back().send_until_stuck(upload, 1ms);
  }
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), kClients - 1));
  EXPECT_LT(stage.daemon.descriptors(), kClients + 42) << "one for each client";
  EXPECT_EQ(stage.daemon.admin("/readyz").status, 200);
  EXPECT_EQ(stage.ask(get(other.url())).status, 200) << "there is room for one more client, and for its upstream";
  EXPECT_EQ(stage.daemon.metric("penstock_accept_pauses_total"), 0);
  const double before = stage.daemon.metric("penstock_connections");
  for (; clients.size() > 1; clients.pop_back()) clients.back().reset();
  EXPECT_TRUE(stage.daemon.await_pending(stage.origin.host(), 0)) << "who leaves unread has left";
  EXPECT_LE(stage.daemon.metric("penstock_connections"), before - static_cast<double>(kClients) + 1);
  stage.origin.release_all();
}

// Each tunnel takes a descriptor of those that are kept for upstreams, too.
TEST(Descriptors, kept_for_the_admin_port_are_not_eaten_by_tunnels_or_upgrades_or_transfers) {
  constexpr std::size_t kClients = 150;
  FarEnd far;
  const std::string upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\n", there = "http://" + far.host() + "/";
  for (const std::string& ask :
       {"CONNECT " + far.host() + " HTTP/1.1\r\nHost: " + far.host() + "\r\n\r\n", get(there, upgrade), get(there)}) {
    Daemon daemon(with_files(200, kManyAtOnce + "access: { connectPorts: [" + std::to_string(far.port()) + "] }\n"));
    std::deque<Client> clients;
    while (clients.size() < kClients) clients.emplace_back(daemon.port());
    ASSERT_TRUE(await_pause(daemon)) << "before any of them asks";
    for (auto& client : clients) client.send(ask);
    const auto refused = daemon.await_events(1, "error");
    ASSERT_FALSE(refused.empty()) << ask;
    EXPECT_EQ(refused[0].at("error"), "destination_unavailable");
    std::deque<Client> visitors;  // each keeps its connection; of the 16 descriptors UBSan wants some for itself
    for (int i = 0; i < 5; ++i) {
      for (const auto* page : {"/healthz", "/metrics"}) {
        Client& visitor = visitors.emplace_back(daemon.admin_port());
        visitor.send("GET " + std::string(page) + " HTTP/1.1\r\nHost: a\r\n\r\n");
        EXPECT_EQ(visitor.reply().status, 200) << page << ", beside " << ask;
      }
    }
  }
}

// Each entry with TLS settings of its own has its own pool.
TEST(Descriptors, are_left_by_the_idle_connections_of_one_pool_to_another) {
  constexpr std::size_t kHosts = 80;
  const Origin other;
  Stage stage(with_files(
      64, "upstreams:\n  other: { match: " + other.host() + ", tls: { ca: /etc/ssl/certs/ca-certificates.crt } }\n"));
  std::deque<Origin> hosts(kHosts);
  for (std::size_t i = 0; i < kHosts; ++i) {
    ASSERT_EQ(stage.ask(get(hosts[i].url())).status, 200) << i << " hosts before it";
  }
  EXPECT_EQ(stage.ask(get(other.url())).status, 200);
  const Origin last;
  EXPECT_EQ(stage.ask(get(last.url())).status, 200);
}

TEST(Descriptors, that_cannot_be_enough_for_the_caps_are_warned_of_at_start) {
  const Daemon few(with_files(256, ""));
  EXPECT_TRUE(eventually([&] { return few.diagnostics().find("at most 256 files may be open") != std::string::npos; }))
      << few.diagnostics();
  const Daemon enough(with_files(256, "caps: { connections: 96 }\n"));
  EXPECT_EQ(enough.admin("/readyz").status, 200);
  EXPECT_EQ(enough.diagnostics().find("files may be open"), std::string::npos) << enough.diagnostics();
  const Daemon of_quota(
      with_files(256,
                 "caps: { connections: 120 }\nquotas: { account: { maxConcurrent: 4, maxTunnels: 4 } }\nupstreams:\n"
                 "  a: { match: a.example, quota: account }\n  b: { match: b.example, quota: account }\n"
                 "  \"*\": { maxConcurrent: 2, maxTunnels: 2 }\n"));
  EXPECT_EQ(of_quota.admin("/readyz").status, 200);
  EXPECT_EQ(of_quota.diagnostics().find("files may be open"), std::string::npos) << of_quota.diagnostics();
}

std::size_t addresses_taken(const Daemon& daemon) {
  std::ifstream status("/proc/" + std::to_string(daemon.pid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmSize:")) return std::stoul(line.substr(7)) * 1024;
  }
  return 0;
}

// Not for a program with AddressSanitizer, which takes terabytes of addresses, and ends in a way of its own.
TEST(Memory, that_runs_out_ends_the_program_with_a_word) {
  Given given{.yaml = "defaults: { maxConcurrent: 1 }\ncaps: { pendingBodyBytes: 1GiB, pendingMemory: 4GiB }\n"};
  given.is_clean = false;
  Stage stage(given);
  stage.origin.on("/held", scripts::held());
  Client holder(stage.daemon.port()), pending(stage.daemon.port());
  holder.send(get(stage.url("/held")));
  ASSERT_TRUE(stage.origin.await(1));
  const std::size_t most = addresses_taken(stage.daemon) + 64 * 1024 * 1024;
  const rlimit limit{most, most};
  ASSERT_EQ(::prlimit(stage.daemon.pid(), RLIMIT_AS, &limit, nullptr), 0);
  pending.send("POST " + stage.url("/body") + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n");
  pending.send_until_stuck(std::string(256 * 1024 * 1024, 'b'), 5s);
  EXPECT_EQ(stage.daemon.exit_code(), 70);
  EXPECT_THAT(stage.daemon.diagnostics(), testing::HasSubstr("penstock: out of memory\n"));
  stage.origin.release_all();
}

}  // namespace
}  // namespace penstock::trial
