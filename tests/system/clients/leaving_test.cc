// SPDX-License-Identifier: Apache-2.0
// Clients that leave: while pending they cost the upstream nothing, in flight they free their slot.
#include <gmock/gmock.h>
#include <signal.h>

#include <deque>
#include <functional>
#include <optional>

#include "support/name_server.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

/// One slot, taken by a request that is held; whatever comes next is pending.
struct Busy : Stage {
  explicit Busy(const std::string& more = "")
      : Stage({.yaml = "defaults: { maxConcurrent: 1 }\n" + more}), holder(daemon.port()) {
    origin.on("/held", scripts::held());
    holder.send(get(url("/held")));
    EXPECT_TRUE(origin.await(1));
  }

  /// The leaver was logged as gone and is in no queue, though nothing has landed yet; the upstream never hears of it.
  void expect_forgotten() {
    const auto gone = daemon.await_events(1, "gone");
    ASSERT_EQ(gone.size(), 1u);
    EXPECT_EQ(gone[0].at("path"), "/leaver");
    EXPECT_TRUE(daemon.await_pending(origin.host(), 0));
    EXPECT_EQ(daemon.metric("penstock_requests_total", "outcome=\"client_gone_pending\""), 1);
    origin.release();
    EXPECT_EQ(holder.reply().status, 200);
    EXPECT_EQ(fetch("/next").status, 200);
    for (const auto& seen : origin.seen()) EXPECT_NE(seen.target, "/leaver");
  }

  Client holder;
};

TEST(ComingClient, that_resets_before_it_is_taken_is_not_refused_for_its_network) {
  Stage stage;
  ASSERT_TRUE(stage.daemon.stands_still());
  Client leaver(stage.daemon.port());
  leaver.send(get(stage.url("/leaver")));
  leaver.reset();
  stage.daemon.signal(SIGCONT);
  EXPECT_EQ(stage.fetch("/next").status, 200) << "which is taken after it";
  EXPECT_EQ(stage.daemon.await_events(1, "complete").size(), 1u);
  EXPECT_EQ(stage.daemon.events().size(), 2u) << "of the next one";
  EXPECT_EQ(stage.daemon.metric("penstock_refusals_total"), 0);
}

TEST(PendingClient, that_half_closes_counts_as_gone) {
  Busy stage;
  Client leaver(stage.daemon.port());
  leaver.send(get(stage.url("/leaver")));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 1));
  leaver.half_close();
  stage.expect_forgotten();
}

/// Fills the read cap and the sockets' buffers with an unread body, so that the end of it cannot be read.
void send_more_than_is_read(Busy& stage, Client& leaver) {
  leaver.send("POST " + stage.url("/leaver") + " HTTP/1.1\r\nHost: " + stage.origin.host() +
              "\r\nContent-Length: 1073741824\r\n\r\n");
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 1));
  const std::string body(64 * 1024 * 1024, 'b');
  ASSERT_LT(leaver.send_until_stuck(body, 200ms), body.size());
}

TEST(PendingClient, that_resets_behind_an_unread_body_is_forgotten) {
  Busy stage;
  Client leaver(stage.daemon.port());
  send_more_than_is_read(stage, leaver);
  leaver.reset();
  stage.expect_forgotten();
}

TEST(PendingClient, that_closes_behind_a_body_beyond_the_cap_is_forgotten) {
  Busy stage("caps: { pendingBodyBytes: 16KiB }\n");
  Client leaver(stage.daemon.port());
  leaver.send("POST " + stage.url("/leaver") + " HTTP/1.1\r\nHost: " + stage.origin.host() +
              "\r\nContent-Length: 1000000\r\n\r\n" + std::string(60'000, 'b'));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 1));
  leaver.close();
  stage.expect_forgotten();
}

TEST(PendingClients, may_leave_by_the_thousand) {
  Busy stage;
  {
    std::deque<Client> hangup_watcher;
    for (int i = 0; i < 900; ++i) hangup_watcher.emplace_back(stage.daemon.port()).send(get(stage.url("/leaver")));
    ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 900));
    for (auto& leaver : hangup_watcher) leaver.reset();
  }
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 0));
  EXPECT_EQ(stage.daemon.await_events(900, "gone").size(), 900u);
  stage.origin.release();
  EXPECT_EQ(stage.holder.reply().status, 200);
  EXPECT_EQ(stage.origin.count(), 1u);
}

TEST(FlyingClient, that_half_closes_frees_its_slot) {
  Busy stage;
  Client next(stage.daemon.port());
  next.send(get(stage.url("/next")));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 1));
  stage.holder.half_close();
  EXPECT_EQ(next.reply().body, "hello");
}

TEST(FlyingClient, that_leaves_while_it_sends_or_receives_frees_its_slot) {
  Stage stage(with_defaults("maxConcurrent: 1"));
  std::atomic<int> ended = 0;
  stage.origin.on("/endless", [&](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n");
    while (visit.write(std::string(64 * 1024, 'x'))) {
    }
    ++ended;
  });
  stage.origin.on("/upload", [&](Visit& visit) {
    visit.read_body([](std::string_view) {});
    ++ended;
  });
  {
    Client receiving(stage.daemon.port());
    receiving.send(get(stage.url("/endless")));
    EXPECT_EQ(receiving.head().status, 200);
    receiving.reset();
    EXPECT_EQ(stage.fetch("/a").body, "hello");
    Client sending(stage.daemon.port());
    sending.send("POST " + stage.url("/upload") +
                 " HTTP/1.1\r\nHost: x.test\r\nContent-Length: 1000000000\r\n\r\nsome");
    ASSERT_TRUE(stage.origin.await(3));
    sending.reset();
    EXPECT_EQ(stage.fetch("/b").body, "hello");
  }
  EXPECT_TRUE(eventually([&] { return ended == 2; })) << "the upstream hears of it too";
  EXPECT_TRUE(stage.daemon.await_in_flight(stage.origin.host(), 0));
}

/// Of a hundred clients each, by this request to a host, while its name is looked up or nobody answers.
void expect_gone_without_a_trace(const std::function<std::string(const std::string& host)>& request) {
  constexpr int kTimes = 100;
  const Silent silent;
  const test::NameServer names([](const std::string&, std::uint16_t) { return std::nullopt; });
  const std::string port = std::to_string(silent.port);
  const Daemon daemon({.yaml = "dns: { servers: ['" + names.address() +
                               "'], timeout: 60s }\naccess: { connectPorts: [" + port +
                               "] }\ndefaults: { maxConcurrent: 1000, timeouts: { connect: 60s } }\n"});
  const auto drop = [&](const std::string& host) {
    std::deque<Client> crowd;
    for (int i = 0; i < kTimes; ++i) crowd.emplace_back(daemon.port()).send(request(host));
    EXPECT_TRUE(daemon.await_in_flight(host, kTimes));
    for (auto& client : crowd) client.reset();
    EXPECT_TRUE(daemon.await_in_flight(host, 0));
  };
  drop("name.test:" + port);  // the resolver keeps its own sockets from now on
  drop("other.test:" + port);
  const std::size_t before = daemon.descriptors();
  drop("name.test:" + port);
  drop(silent.host());
  EXPECT_TRUE(eventually([&] { return daemon.descriptors() <= before; })) << daemon.descriptors() << " of " << before;
  EXPECT_EQ(daemon.await_events(4 * kTimes, "error").size(), 4u * kTimes);
  EXPECT_EQ(daemon.metric("penstock_requests_total", "outcome=\"client_gone\""), 4 * kTimes);
}

TEST(TunnelEnd, may_come_while_a_name_is_looked_up_or_nobody_answers) {
  expect_gone_without_a_trace([](const std::string& host) { return "CONNECT " + host + " HTTP/1.0\r\n\r\nearly"; });
}

TEST(FlyingClient, that_leaves_while_a_name_is_looked_up_or_nobody_answers_leaves_nothing_behind) {
  expect_gone_without_a_trace([](const std::string& host) { return get("http://" + host + "/"); });
}

TEST(Clients, that_come_and_go_in_every_way_leave_nothing_behind) {
  Stage stage(with_defaults("maxConcurrent: 4, queue: { maxPending: 100 }"));
  stage.origin.on("/cut", scripts::says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"));
  stage.origin.on("/reset", [](Visit& visit) { visit.reset(); });
  stage.origin.on("/slow", [](Visit& visit) { visit.sees_the_end(); });
  const std::size_t descriptors = stage.daemon.descriptors();
  for (int round = 0; round < 200; ++round) {
    Client a(stage.daemon.port()), b(stage.daemon.port()), c(stage.daemon.port()), d(stage.daemon.port());
    a.send(get(stage.url("/slow")));
    b.send(get(stage.url("/cut")));
    c.send(get(stage.url("/reset")));
    d.send(get(stage.url("/fine")).substr(0, 1 + round % 40));
    if (round % 2) a.reset();
    if (round % 3) d.reset();
    b.reply();
    c.reply();
  }
  EXPECT_TRUE(stage.daemon.await_in_flight(stage.origin.host(), 0));
  EXPECT_TRUE(stage.daemon.await_pending(stage.origin.host(), 0));
  EXPECT_TRUE(eventually([&] { return stage.daemon.descriptors() <= descriptors + 8; })) << stage.daemon.descriptors();
  EXPECT_EQ(stage.fetch("/fine").body, "hello");
}

}  // namespace
}  // namespace penstock::trial
