// SPDX-License-Identifier: Apache-2.0
// Clients that leave: while pending they cost the upstream nothing, in flight they free their slot.
#include <gmock/gmock.h>
#include <signal.h>

#include <deque>
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

TEST(FlyingClient, that_half_closes_frees_its_slot) {
  Busy stage;
  Client next(stage.daemon.port());
  next.send(get(stage.url("/next")));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 1));
  stage.holder.half_close();
  EXPECT_EQ(next.reply().body, "hello");
}

TEST(FlyingClient, that_leaves_while_a_name_is_looked_up_or_nobody_answers_leaves_nothing_behind) {
  constexpr int kTimes = 100;
  const Silent silent;
  const test::NameServer names([](const std::string&, std::uint16_t) { return std::nullopt; });
  const std::string port = std::to_string(silent.port);
  const Daemon daemon({.yaml = "dns: { servers: ['" + names.address() +
                               "'], timeout: 60s }\ndefaults: { maxConcurrent: 1000, timeouts: { connect: 60s } }\n"});
  const auto drop = [&](const std::string& host) {
    std::deque<Client> crowd;
    for (int i = 0; i < kTimes; ++i) crowd.emplace_back(daemon.port()).send(get("http://" + host + "/"));
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

}  // namespace
}  // namespace penstock::trial
