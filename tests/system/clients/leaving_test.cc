// SPDX-License-Identifier: Apache-2.0
// Clients that leave: while pending they cost the upstream nothing, in flight they free their slot.
#include <gmock/gmock.h>
#include <signal.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

/// One slot, taken by a request that is held; whatever comes next is pending.
struct Busy : Stage {
  Busy() : Stage(with_defaults("maxConcurrent: 1")), holder(daemon.port()) {
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

TEST(FlyingClient, that_half_closes_frees_its_slot) {
  Busy stage;
  Client next(stage.daemon.port());
  next.send(get(stage.url("/next")));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 1));
  stage.holder.half_close();
  EXPECT_EQ(next.reply().body, "hello");
}

}  // namespace
}  // namespace penstock::trial
